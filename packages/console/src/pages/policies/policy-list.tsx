/** The list of the policies of one type: its columns, what its export holds, and what it says while it is empty. */
import { paged } from "../../app/api.ts";
import type { Column, ListDefinition } from "../../lists/list-definition.ts";
import { t } from "../../messages/i18n.ts";
import { PolicyAction } from "../../records/status.tsx";
import { WholePhrases } from "../../records/whole-words.tsx";
import { formatScope, type Policy, type PolicyTypeOption } from "./format-policy.ts";

export const actionColumn: Column<Policy> = {
  key: "action",
  title: t("policies.action"),
  cell: ({ action }) => <PolicyAction allows={action} />,
};

export const scopeColumn: Column<Policy> = {
  key: "scope",
  title: t("policies.order.appliesTo"),
  cell: (policy) => <WholePhrases text={formatScope(policy)} />,
};

export function policyList({ value, empty }: PolicyTypeOption): ListDefinition<Policy> {
  return {
    source: paged("/tenants/policies"),
    noun: t("policies.noun"),
    search: { label: t("common.name"), by: "name" },
    columns: [{ key: "name", title: t("common.name"), cell: ({ name }) => name }, actionColumn, scopeColumn],
    empty: {
      title: t("policies.empty.title"),
      text: empty,
      action: { label: t("policies.create"), to: `/policies?type=${value}&new=1`, permission: "policies:write" },
      guide: "console#policies",
    },
  };
}
