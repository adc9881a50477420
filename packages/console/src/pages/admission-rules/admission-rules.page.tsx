import type { ItemAt } from "@gatehouse/client/calls";
import { Code } from "@mantine/core";
import { whole } from "../../app/api.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { Moment } from "../../records/moment.tsx";

const definition: ListDefinition<ItemAt<"/tenants/admission-rules">> = {
  source: whole("/tenants/admission-rules"),
  noun: "admission rules",
  search: { label: "Name or text", by: ({ name, rule = "" }) => `${name} ${rule}` },
  defaultSort: "name",
  columns: [
    { key: "name", title: "Name", sortBy: ({ name }) => name, cell: ({ name }) => name },
    {
      key: "rule",
      title: "Rule",
      cell: ({ rule, type }) => (rule === undefined ? `Built in: ${type.toLowerCase()}` : <Code>{rule}</Code>),
    },
    {
      key: "time",
      title: "Asks the time",
      from: "md",
      cell: ({ hasTimeConstraint }) => (hasTimeConstraint ? "Yes" : "No"),
    },
    {
      key: "updatedAt",
      title: "Changed",
      from: "sm",
      sortBy: ({ updatedAt }) => updatedAt,
      cell: ({ updatedAt }) => <Moment at={updatedAt} />,
    },
  ],
  empty: { title: "No admission rules yet", text: "A rule says under which conditions a policy lets somebody in." },
};

export function AdmissionRulesListPage() {
  return <RecordList title="Admission rules" definition={definition} />;
}
