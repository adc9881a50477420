import type { ItemAt } from "@gatehouse/client/calls";
import { whole } from "../../app/api.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";

type Protocol = ItemAt<"/tenants/protocols">;

const kinds = { ALL: "Everything", PREDEFINED: "Predefined", CUSTOM: "Custom" } as const;

function portsOf({ networkProtocols }: Protocol): string {
  return networkProtocols
    .map(({ protocol, port }) => (port === undefined ? protocol : `${protocol} ${port}`))
    .join(", ");
}

const definition: ListDefinition<Protocol> = {
  source: whole("/tenants/protocols"),
  noun: "protocols",
  search: { label: "Name or port", by: (protocol) => `${protocol.name} ${portsOf(protocol)}` },
  defaultSort: "name",
  columns: [
    { key: "name", title: "Name", sortBy: ({ name }) => name, cell: ({ name }) => name },
    { key: "ports", title: "Protocols and ports", cell: portsOf },
    { key: "type", title: "Kind", from: "xs", sortBy: ({ type }) => type, cell: ({ type }) => kinds[type] },
  ],
  filters: [
    {
      field: "type",
      title: "Kind",
      options: Object.entries(kinds).map(([value, label]) => ({ value, label })),
      matches: ({ type }, value) => type === value,
    },
  ],
  empty: { title: "No protocols yet", text: "Protocols say which ports of an address may be reached." },
};

export function ProtocolsListPage() {
  return <RecordList title="Protocols" definition={definition} />;
}
