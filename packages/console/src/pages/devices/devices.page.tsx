import type { ItemAt } from "@gatehouse/client/calls";
import { paged } from "../../app/api.ts";
import { deviceSystemColumn, deviceUserColumn, nameColumn } from "../../lists/columns.tsx";
import { notSeenFilter } from "../../lists/filters.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { StatusOfDevice } from "../../records/device-status.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { AddDevice } from "./add-device.tsx";

const definition: ListDefinition<ItemAt<"/tenants/devices">> = {
  source: paged("/tenants/devices"),
  noun: t("devices.noun"),
  search: { label: t("common.name"), by: "name" },
  defaultSort: "name",
  refreshMs: 30_000,
  columns: [
    nameColumn("devices", "paged"),
    { key: "status", title: t("common.status"), cell: (device) => <StatusOfDevice device={device} /> },
    deviceUserColumn,
    deviceSystemColumn,
    {
      key: "lastConnection",
      title: t("devices.fields.lastConnection"),
      sortBy: "lastConnection",
      isBelow: true,
      cell: ({ lastConnection }) => <RelativeTime at={lastConnection} />,
    },
  ],
  filters: [
    {
      field: "active",
      title: t("common.status"),
      options: [
        { value: "true", label: t("records.status.active") },
        { value: "false", label: t("records.status.deactivated") },
      ],
    },
    {
      field: "approval",
      title: t("devices.approval.title"),
      options: [{ value: "pending", label: t("devices.approval.pending") }],
    },
    { ...notSeenFilter, help: t("devices.notSeenHelp") },
    { field: "enrolmentKey", title: t("devices.fields.enrolmentKey"), kind: "text", isAdvanced: true },
  ],
  bulk: [
    {
      label: t("devices.deactivate.label"),
      permission: "devices:write",
      danger: true,
      note: t("devices.bulk.deactivateNote"),
      plan: ({ id, active }) => (active ? { method: "PATCH", path: `/tenants/devices/${id}/deactivate` } : undefined),
    },
    {
      label: t("devices.reactivate.label"),
      permission: "devices:write",
      note: t("devices.bulk.reactivateNote"),
      // A device without a user cannot be reactivated.
      plan: ({ id, active, user }) =>
        active || user === undefined ? undefined : { method: "POST", path: `/tenants/devices/${id}/reactivate` },
    },
    {
      label: t("common.delete"),
      permission: "devices:write",
      danger: true,
      note: t("devices.bulk.deleteNote"),
      plan: ({ id }) => ({ method: "DELETE", path: `/tenants/devices/${id}` }),
    },
  ],
  empty: {
    title: t("devices.empty.title"),
    text: t("devices.empty.text"),
    action: { label: t("devices.add.label"), to: "/devices?new=1", permission: "users:write" },
    guide: "device#enrol",
  },
};

export function DevicesListPage() {
  return (
    <RecordList
      title={t("devices.title")}
      definition={definition}
      actions={
        <NewButton
          label={t("devices.add.label")}
          permission="users:write"
          dialog={(close) => <AddDevice close={close} />}
        />
      }
    />
  );
}
