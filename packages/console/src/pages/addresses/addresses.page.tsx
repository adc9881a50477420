import type { ItemAt } from "@gatehouse/client/calls";
import { useNavigate } from "@tanstack/react-router";
import { whole } from "../../app/api.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { addressFields, newAddress } from "../../records/address-fields.tsx";
import type { Field } from "../../records/form-fields.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { idIn, RecordForm } from "../../records/record-form.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { RecordSelect } from "../../records/record-select.tsx";
import { formatResourceType } from "../resources/format-resource-type.ts";

const definition: ListDefinition<ItemAt<"/tenants/addresses">> = {
  source: whole("/tenants/addresses"),
  noun: "addresses",
  search: { label: "Address", by: ({ address }) => address },
  defaultSort: "address",
  columns: [
    {
      key: "address",
      title: "Address",
      sortBy: ({ address }) => address,
      cell: ({ id, address }) => <RecordLink to={`/addresses/${id}`}>{address}</RecordLink>,
    },
    { key: "type", title: "Type", sortBy: ({ type }) => type, cell: ({ type }) => formatResourceType(type) },
    { key: "kind", title: "Kind", visibleFrom: "xs", cell: ({ isIp }) => (isIp ? "IP" : "Name") },
    {
      key: "protocols",
      title: "Protocols",
      visibleFrom: "sm",
      cell: ({ protocols }) => protocols.map(({ name }) => name).join(", "),
    },
  ],
  filters: [
    {
      field: "type",
      title: "Type",
      options: (["PRIVATE", "SAAS", "INTERNET"] as const).map((value) => ({ value, label: formatResourceType(value) })),
      matches: ({ type }, value) => type === value,
    },
  ],
  empty: { title: "No addresses yet", text: "Addresses come with the resources that they belong to." },
};

/** An address is a resource's: which one is chosen first. */
const fields: readonly Field[] = [
  {
    kind: "custom",
    name: "resource",
    label: "Resource",
    required: true,
    render: ({ value, onChange, error }) => (
      <RecordSelect
        path="/tenants/resources"
        label="Resource"
        required
        value={String(value)}
        onChange={onChange}
        error={error}
      />
    ),
    format: (value) => String(value),
  },
  ...addressFields(),
];

export function AddressesListPage() {
  const navigate = useNavigate();
  return (
    <RecordList
      title="Addresses"
      definition={definition}
      actions={
        <NewButton
          label="Add an address"
          permission="resources:write"
          dialog={(close) => (
            <RecordForm
              title="Add an address to a resource"
              fields={fields}
              initial={{ ...newAddress, resource: "" }}
              submitLabel="Add"
              plan={({ resource, ...body }) => [
                { method: "POST", path: `/tenants/resources/${String(resource)}/addresses`, body },
              ]}
              saved={(answer) => void navigate({ to: `/addresses/${idIn(answer)}` })}
              close={close}
            />
          )}
        />
      }
    />
  );
}
