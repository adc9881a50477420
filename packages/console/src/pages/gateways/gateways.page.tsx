import type { ItemAt } from "@gatehouse/client/calls";
import { useNavigate } from "@tanstack/react-router";
import { api, whole } from "../../app/api.ts";
import { nameColumn } from "../../lists/columns.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { StatusOf } from "../../records/status.tsx";
import { bodyOf, gatewayFields, newGateway } from "./gateway-fields.ts";

const definition: ListDefinition<ItemAt<"/tenants/gateways">> = {
  source: whole("/tenants/gateways"),
  noun: "gateways",
  search: { label: "Name or endpoint", by: ({ name, endpoint = "" }) => `${name} ${endpoint}` },
  defaultSort: "name",
  // A gateway turns green by itself when it connects.
  refreshMs: 5_000,
  columns: [
    nameColumn("gateways", "whole"),
    {
      key: "status",
      title: "Status",
      sortBy: ({ status }) => status,
      cell: ({ status }) => <StatusOf value={status} />,
    },
    { key: "endpoint", title: "Endpoint", visibleFrom: "md", cell: ({ endpoint }) => endpoint ?? "Found by itself" },
    {
      key: "port",
      title: "Port",
      visibleFrom: "md",
      sortBy: ({ wireguardPort }) => Number(wireguardPort),
      cell: ({ wireguardPort }) => wireguardPort,
    },
    {
      key: "resources",
      title: "Resources",
      visibleFrom: "sm",
      sortBy: ({ resources = [] }) => resources.length,
      cell: ({ resources = [] }) => resources.length,
    },
    {
      key: "lastOnline",
      title: "Last online",
      visibleFrom: "sm",
      sortBy: ({ lastOnline = "" }) => lastOnline,
      cell: ({ lastOnline }) => <RelativeTime at={lastOnline} />,
    },
  ],
  filters: [
    {
      field: "status",
      title: "Status",
      options: ["ONLINE", "PENDING", "OFFLINE", "MAINTENANCE", "ERROR"].map((value) => ({
        value,
        label: value.charAt(0) + value.slice(1).toLowerCase(),
      })),
      matches: ({ status }, value) => status === value,
    },
  ],
  empty: {
    title: "No gateways yet",
    text: "A gateway stands before your resources and lets in whom the policies allow. Create one, and run the command that its page shows.",
  },
};

export function GatewaysListPage() {
  const navigate = useNavigate();
  return (
    <RecordList
      title="Gateways"
      definition={definition}
      actions={
        <NewButton
          label="Create a gateway"
          permission="gateways:write"
          dialog={(close) => (
            <RecordForm
              title="Create a gateway"
              fields={gatewayFields}
              initial={newGateway}
              submitLabel="Create"
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
