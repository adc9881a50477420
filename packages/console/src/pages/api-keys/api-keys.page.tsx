import type { ItemAt } from "@gatehouse/client/calls";
import { Code } from "@mantine/core";
import { whole } from "../../app/api.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { Moment } from "../../records/moment.tsx";

const definition: ListDefinition<ItemAt<"/tenants/api-keys">> = {
  source: whole("/tenants/api-keys"),
  noun: "API keys",
  search: { label: "Name or prefix", by: ({ name, prefix }) => `${name} ${prefix}` },
  defaultSort: "name",
  columns: [
    { key: "name", title: "Name", sortBy: ({ name }) => name, cell: ({ name }) => name },
    { key: "prefix", title: "Begins with", from: "sm", cell: ({ prefix }) => <Code>{prefix}</Code> },
    {
      key: "permissions",
      title: "Permissions",
      sortBy: ({ permissions }) => permissions.length,
      cell: ({ permissions }) => permissions.length,
    },
    {
      key: "lastUsedAt",
      title: "Last used",
      sortBy: ({ lastUsedAt = "" }) => lastUsedAt,
      cell: ({ lastUsedAt }) => <Moment at={lastUsedAt} />,
    },
    {
      key: "expiresAt",
      title: "Expires",
      from: "sm",
      sortBy: ({ expiresAt = "9" }) => expiresAt,
      cell: ({ expiresAt }) => <Moment at={expiresAt} />,
    },
    {
      key: "sourceIps",
      title: "From",
      from: "md",
      cell: ({ sourceIps }) => (sourceIps.length === 0 ? "Anywhere" : sourceIps.join(", ")),
    },
  ],
  empty: { title: "No API keys", text: "Programs call the API with keys." },
};

export function ApiKeysListPage() {
  return <RecordList title="API keys" definition={definition} />;
}
