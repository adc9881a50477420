import type { ItemAt } from "@gatehouse/client/calls";
import { whole } from "../../app/api.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { sayResourceType } from "../resources/say-resource-type.ts";

const definition: ListDefinition<ItemAt<"/tenants/addresses">> = {
  source: whole("/tenants/addresses"),
  noun: "addresses",
  search: { label: "Address", by: ({ address }) => address },
  defaultSort: "address",
  columns: [
    { key: "address", title: "Address", sortBy: ({ address }) => address, cell: ({ address }) => address },
    { key: "type", title: "Type", sortBy: ({ type }) => type, cell: ({ type }) => sayResourceType(type) },
    { key: "kind", title: "Kind", from: "xs", cell: ({ isIp }) => (isIp ? "IP" : "Name") },
    {
      key: "protocols",
      title: "Protocols",
      from: "sm",
      cell: ({ protocols }) => protocols.map(({ name }) => name).join(", "),
    },
  ],
  filters: [
    {
      field: "type",
      title: "Type",
      options: (["PRIVATE", "SAAS", "INTERNET"] as const).map((value) => ({ value, label: sayResourceType(value) })),
      matches: ({ type }, value) => type === value,
    },
  ],
  empty: { title: "No addresses yet", text: "Addresses come with the resources that they belong to." },
};

export function AddressesListPage() {
  return <RecordList title="Addresses" definition={definition} />;
}
