import type { ItemAt } from "@gatehouse/client/calls";
import { Code } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { api, whole } from "../../app/api.ts";
import { nameColumn } from "../../lists/columns.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { NewButton } from "../../records/new-button.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { formatStatus, StatusOf } from "../../records/status.tsx";
import { bodyOf, gatewayFields, newGateway } from "./gateway-fields.ts";

const definition: ListDefinition<ItemAt<"/tenants/gateways">> = {
  source: whole("/tenants/gateways"),
  noun: t("gateways.noun"),
  search: { label: t("gateways.search"), by: ({ name, endpoint = "" }) => `${name} ${endpoint}` },
  defaultSort: "name",
  // The status of a gateway changes without an action in the console.
  refreshMs: 5_000,
  columns: [
    nameColumn("gateways", "whole"),
    {
      key: "status",
      title: t("common.status"),
      sortBy: ({ status }) => formatStatus(status),
      cell: ({ status }) => <StatusOf value={status} />,
    },
    {
      key: "endpoint",
      title: t("gateways.fields.endpoint"),
      sortBy: ({ endpoint = "" }) => endpoint,
      visibleFrom: "md",
      cell: ({ endpoint }) =>
        endpoint === undefined ? t("gateways.fields.endpointDetected") : <Code className="whole-word">{endpoint}</Code>,
    },
    {
      key: "port",
      title: t("gateways.fields.port"),
      visibleFrom: "lg",
      sortBy: ({ wireguardPort }) => Number(wireguardPort),
      cell: ({ wireguardPort }) => wireguardPort,
    },
    {
      key: "resources",
      title: t("gateways.fields.resources"),
      isBelow: true,
      sortBy: ({ resources = [] }) => resources.length,
      cell: ({ resources = [] }) => resources.length,
    },
    {
      key: "lastOnline",
      title: t("gateways.fields.lastOnline"),
      isBelow: true,
      sortBy: ({ lastOnline = "" }) => lastOnline,
      cell: ({ lastOnline }) => <RelativeTime at={lastOnline} />,
    },
  ],
  filters: [
    {
      field: "status",
      title: t("common.status"),
      options: [
        { value: "ONLINE", label: t("records.status.online") },
        { value: "PENDING", label: t("records.status.pending") },
        { value: "OFFLINE", label: t("records.status.offline") },
        { value: "MAINTENANCE", label: t("records.status.maintenance") },
        { value: "ERROR", label: t("records.status.error") },
      ],
      matches: ({ status }, value) => status === value,
    },
  ],
  empty: {
    title: t("gateways.empty.title"),
    text: t("gateways.empty.text"),
    action: { label: t("gateways.create"), to: "/gateways?new=1", permission: "gateways:write" },
    guide: "gateway#install",
  },
};

export function GatewaysListPage() {
  const navigate = useNavigate();
  return (
    <RecordList
      title={t("gateways.title")}
      definition={definition}
      actions={
        <NewButton
          label={t("gateways.create")}
          permission="gateways:write"
          dialog={(close) => (
            <RecordForm
              title={t("gateways.create")}
              fields={gatewayFields}
              initial={newGateway}
              submitLabel={t("common.create")}
              submit={async (values) => {
                const { endpoint, description, ...rest } = bodyOf(values);
                const body = {
                  ...rest,
                  ...(endpoint === "" ? {} : { endpoint }),
                  ...(description === "" ? {} : { description }),
                };
                const { id } = await api.post("/tenants/gateways", { body });
                void navigate({ to: `/gateways/${id}` });
              }}
              close={close}
            />
          )}
        />
      }
    />
  );
}
