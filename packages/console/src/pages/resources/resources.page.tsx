import type { ItemAt } from "@gatehouse/client/calls";
import { Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { paged } from "../../app/api.ts";
import { nameColumn } from "../../lists/columns.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { idIn, RecordForm } from "../../records/record-form.tsx";
import { RecordLinks } from "../../records/record-link.tsx";
import { StatusOf } from "../../records/status.tsx";
import { formatResourceType } from "./format-resource-type.ts";
import { bodyOf, newFields, newResource } from "./resource-fields.tsx";

const shownAddresses = 2;

const definition: ListDefinition<ItemAt<"/tenants/resources">> = {
  source: paged("/tenants/resources"),
  noun: "resources",
  search: { label: "Name", by: "name" },
  defaultSort: "name",
  refreshMs: 30_000,
  columns: [
    nameColumn("resources", "paged"),
    { key: "type", title: "Type", cell: ({ type }) => formatResourceType(type) },
    {
      key: "status",
      title: "Status",
      visibleFrom: "xs",
      cell: ({ status = "OFFLINE" }) => <StatusOf value={status} />,
    },
    {
      key: "addresses",
      title: "Addresses",
      visibleFrom: "md",
      cell: ({ addresses }) => (
        <Text size="sm">
          {addresses
            .slice(0, shownAddresses)
            .map(({ address }) => address)
            .join(", ")}
          {addresses.length > shownAddresses && ` and ${addresses.length - shownAddresses} more`}
        </Text>
      ),
    },
    {
      key: "gateways",
      title: "Gateways",
      visibleFrom: "sm",
      cell: ({ gateways }) => <RecordLinks path="gateways" records={gateways} none="None: not reachable" />,
    },
  ],
  filters: [
    {
      field: "type",
      title: "Type",
      options: (["PRIVATE", "SAAS", "INTERNET"] as const).map((value) => ({ value, label: formatResourceType(value) })),
    },
  ],
  empty: { title: "No resources yet", text: "A resource is something on your network that policies give access to." },
};

export function ResourcesListPage() {
  const navigate = useNavigate();
  return (
    <RecordList
      title="Resources"
      definition={definition}
      actions={
        <NewButton
          label="Create a resource"
          permission="resources:write"
          dialog={(close) => (
            <RecordForm
              title="Create a resource"
              fields={newFields}
              initial={newResource}
              submitLabel="Create"
              plan={(values) => [{ method: "POST", path: "/tenants/resources", body: bodyOf(values) }]}
              saved={(answer) => void navigate({ to: `/resources/${idIn(answer)}` })}
              close={close}
            />
          )}
        />
      }
    />
  );
}
