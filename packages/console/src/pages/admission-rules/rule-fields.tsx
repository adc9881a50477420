import type { ResultOf } from "@gatehouse/client/calls";
import { api } from "../../app/api.ts";
import type { Field, Values } from "../../records/form-fields.tsx";
import { RuleField } from "./rule-field.tsx";

export type Rule = ResultOf<"/tenants/admission-rules/{id}", "get">;

export const ruleFields: readonly Field[] = [
  { kind: "text", name: "name", label: "Name", required: true },
  {
    kind: "custom",
    name: "rule",
    label: "Rule",
    render: (props) => <RuleField {...props} />,
    format: (value) => String(value),
  },
];

export const newRule: Values = { name: "", rule: "" };

export function ruleValues({ name, rule = "" }: Rule): Values {
  return { name, rule };
}

/** Whether it asks for the time is told by the server, not by people. */
export async function bodyOf(values: Values) {
  const { name, rule } = values as { readonly name: string; readonly rule: string }; // as the fields make them
  const report = rule === "" ? undefined : await api.post("/tenants/admission-rules/check", { body: { rule } });
  return { name, rule, hasTimeConstraint: report?.readsNow ?? false };
}
