import type { ItemAt } from "@gatehouse/client/calls";
import { Code } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { api, whole } from "../../app/api.ts";
import { nameColumn } from "../../lists/columns.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { bodyOf, newRule, ruleFields } from "./rule-fields.tsx";

const definition: ListDefinition<ItemAt<"/tenants/admission-rules">> = {
  source: whole("/tenants/admission-rules"),
  noun: "admission rules",
  search: { label: "Name or text", by: ({ name, rule = "" }) => `${name} ${rule}` },
  defaultSort: "name",
  columns: [
    nameColumn("admission-rules", "whole"),
    {
      key: "rule",
      title: "Rule",
      cell: ({ rule, type }) => (rule === undefined ? `Built in: ${type.toLowerCase()}` : <Code>{rule}</Code>),
    },
    {
      key: "time",
      title: "Asks the time",
      visibleFrom: "md",
      cell: ({ hasTimeConstraint }) => (hasTimeConstraint ? "Yes" : "No"),
    },
    {
      key: "updatedAt",
      title: "Changed",
      visibleFrom: "sm",
      sortBy: ({ updatedAt }) => updatedAt,
      cell: ({ updatedAt }) => <RelativeTime at={updatedAt} />,
    },
  ],
  empty: { title: "No admission rules yet", text: "A rule says under which conditions a policy lets somebody in." },
};

export function AdmissionRulesListPage() {
  const navigate = useNavigate();
  return (
    <RecordList
      title="Admission rules"
      definition={definition}
      actions={
        <NewButton
          label="Create a rule"
          permission="admission-rules:write"
          dialog={(close) => (
            <RecordForm
              title="Create an admission rule"
              fields={ruleFields}
              initial={newRule}
              submitLabel="Create"
              submit={async (values) => {
                const { id } = await api.post("/tenants/admission-rules", { body: await bodyOf(values) });
                void navigate({ to: `/admission-rules/${id}` });
              }}
              close={close}
            />
          )}
        />
      }
    />
  );
}
