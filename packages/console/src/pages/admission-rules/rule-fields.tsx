import type { ResultOf } from "@gatehouse/client/calls";
import { api } from "../../app/api.ts";
import { t } from "../../messages/i18n.ts";
import { type Field, nameField, type Values } from "../../records/form-fields.tsx";
import { RuleField } from "./rule-field.tsx";
import { ruleProblem } from "./rule-problems.ts";

export type Rule = ResultOf<"/tenants/admission-rules/{id}", "get">;

export const ruleFields: readonly Field[] = [
  nameField(t("admissionRules.fields.nameExample")),
  {
    kind: "custom",
    name: "rule",
    label: t("admissionRules.fields.rule"),
    render: (props) => <RuleField {...props} />,
    format: (value) => String(value),
    validate: (value) => ruleProblem(String(value)),
  },
];

export const newRule: Values = { name: "", rule: "" };

export function ruleValues({ name, rule = "" }: Rule): Values {
  return { name, rule };
}

/** The server determines whether the rule depends on the time. */
export async function bodyOf(values: Values) {
  const { name, rule } = values as { readonly name: string; readonly rule: string }; // as the fields define them
  const report = rule === "" ? undefined : await api.post("/tenants/admission-rules/check", { body: { rule } });
  return { name, rule, hasTimeConstraint: report?.readsNow ?? false };
}
