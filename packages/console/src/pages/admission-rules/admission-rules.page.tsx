import type { ItemAt } from "@gatehouse/client/calls";
import { Code } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { api, whole } from "../../app/api.ts";
import { nameColumn } from "../../lists/columns.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { capitalize, formatList } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { NewButton } from "../../records/new-button.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { formatBuiltIn, formatRule } from "./format-condition.ts";
import { bodyOf, newRule, ruleFields } from "./rule-fields.tsx";

const definition: ListDefinition<ItemAt<"/tenants/admission-rules">> = {
  source: whole("/tenants/admission-rules"),
  noun: t("admissionRules.noun"),
  search: { label: t("admissionRules.searchLabel"), by: ({ name, rule = "" }) => `${name} ${rule}` },
  defaultSort: "name",
  columns: [
    nameColumn("admission-rules", "whole"),
    {
      key: "rule",
      title: t("admissionRules.fields.rule"),
      isBelow: true,
      cell: ({ rule, type }) => (rule === undefined ? formatBuiltIn(type) : <Conditions rule={rule} />),
    },
    {
      key: "time",
      title: t("admissionRules.fields.timeBased"),
      visibleFrom: "sm",
      sortBy: ({ hasTimeConstraint }) => (hasTimeConstraint ? t("common.yes") : t("common.no")),
      cell: ({ hasTimeConstraint }) => (hasTimeConstraint ? t("common.yes") : t("common.no")),
    },
    {
      key: "updatedAt",
      title: t("common.changed"),
      visibleFrom: "sm",
      sortBy: ({ updatedAt }) => updatedAt,
      cell: ({ updatedAt }) => <RelativeTime at={updatedAt} />,
    },
  ],
  empty: {
    title: t("admissionRules.empty.title"),
    text: t("admissionRules.empty.text"),
    action: { label: t("admissionRules.create"), to: "/admission-rules?new=1", permission: "admission-rules:write" },
    guide: "access#what-rules-read",
  },
};

/** The conditions in one sentence, or the text of a rule that cannot be expressed in words. */
function Conditions({ rule }: { readonly rule: string }) {
  const reading = formatRule(rule);
  if (reading === undefined) return <Code>{rule}</Code>;
  const { conditions, match } = reading;
  const either = (names: string, last: string) => t("admissionRules.conditions.or", { names, last });
  const sentence = match === "all" ? formatList(conditions) : conditions.reduce(either);
  return <span title={rule}>{capitalize(sentence)}</span>;
}

export function AdmissionRulesListPage() {
  const navigate = useNavigate();
  return (
    <RecordList
      title={t("admissionRules.title")}
      definition={definition}
      actions={
        <NewButton
          label={t("admissionRules.create")}
          permission="admission-rules:write"
          dialog={(close) => (
            <RecordForm
              title={t("admissionRules.create")}
              fields={ruleFields}
              initial={newRule}
              submitLabel={t("common.create")}
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
