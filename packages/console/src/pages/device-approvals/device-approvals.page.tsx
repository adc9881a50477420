/** Devices that wait for an administrator after their users enrolled them. */
import type { ItemAt } from "@gatehouse/client/calls";
import { Code, Text } from "@mantine/core";
import { type PagedSource, paged } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { deviceSystemColumn, deviceUserColumn } from "../../lists/columns.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { Kind } from "../../records/kind-icon.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { ReviewedButton } from "../../records/reviewed-change.tsx";

type Device = ItemAt<"/tenants/devices">;

const devices = paged("/tenants/devices");
/** The path differs from the path of all devices, whose answers must not be shown here. */
const source: PagedSource<Device> = {
  ...devices,
  path: "/tenants/devices/approvals",
  read: (query, signal) => devices.read({ ...query, "filter[approval]": "pending" }, signal),
};

const definition: ListDefinition<Device> = {
  source,
  noun: t("deviceSessions.approvals.noun"),
  search: { label: t("common.name"), by: "name" },
  defaultSort: "createdAt",
  refreshMs: 30_000,
  columns: [
    // A decision needs every fact, so no width hides one.
    {
      key: "name",
      title: t("common.name"),
      sortBy: "name",
      cell: (device) => (
        <Kind of="devices">
          <div>
            <RecordLink to={`/devices/${device.id}`}>{device.name}</RecordLink>
            <Text size="xs" c="dimmed">
              <span className="whole-word">{deviceSystemColumn.cell(device)}</span>
            </Text>
          </div>
        </Kind>
      ),
    },
    // The administrator compares the key with that of the machine before the answer.
    {
      key: "publicKey",
      title: t("devices.fields.publicKey"),
      isBelow: true,
      cell: ({ publicKey }) => <Code className="long-key">{publicKey}</Code>,
    },
    {
      key: "createdAt",
      title: t("devices.fields.enrolled"),
      sortBy: "createdAt",
      isBelow: true,
      cell: (device) => (
        <>
          <Text>
            <RelativeTime at={device.createdAt} />
          </Text>{" "}
          <span className="record-name whole-word">
            <RichText message="deviceSessions.approvals.by" elements={{ user: <>{deviceUserColumn.cell(device)}</> }} />
          </span>
        </>
      ),
    },
    {
      key: "answer",
      title: t("devices.approval.title"),
      isBelow: true,
      isAction: true,
      cell: (device) => <Answer device={device} />,
    },
  ],
  bulk: [
    {
      label: t("deviceSessions.approvals.approve"),
      permission: "devices:write",
      note: t("deviceSessions.approvals.bulkApproveNote"),
      plan: ({ id, user }) =>
        user === undefined ? undefined : { method: "POST", path: `/tenants/devices/${id}/reactivate` },
    },
    {
      label: t("deviceSessions.approvals.refuse"),
      permission: "devices:write",
      danger: true,
      note: t("deviceSessions.approvals.bulkRefuseNote"),
      plan: ({ id }) => ({ method: "DELETE", path: `/tenants/devices/${id}` }),
    },
  ],
  empty: {
    title: t("deviceSessions.approvals.empty.title"),
    text: t("deviceSessions.approvals.empty.text"),
    action: { label: t("deviceSessions.approvals.openSettings"), to: "/settings", permission: "settings:read" },
    guide: "device#approve-devices",
  },
};

function Answer({ device: { id, name, user } }: { readonly device: Device }) {
  const canWrite = usePermission("devices:write");
  if (!canWrite) return t("devices.approval.pending");
  return (
    <div className="answers">
      {user !== undefined && (
        <ReviewedButton
          label={t("deviceSessions.approvals.approve")}
          title={t("devices.approval.approveTitle", { name })}
          note={t("deviceSessions.approvals.approveNote", { email: user.email ?? user.id })}
          changes={[{ method: "POST", path: `/tenants/devices/${id}/reactivate` }]}
          doneMessage={t("deviceSessions.approvals.approved")}
          size="xs"
        />
      )}
      <DeleteRecord
        label={t("deviceSessions.approvals.refuse")}
        title={t("deviceSessions.approvals.refuseTitle", { name })}
        effect={t("devices.approval.refuseEffect")}
        path={`/tenants/devices/${id}`}
        size="xs"
      />
    </div>
  );
}

export function DeviceApprovalsPage() {
  return <RecordList title={t("deviceSessions.approvals.title")} definition={definition} />;
}
