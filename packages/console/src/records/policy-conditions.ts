/** The conditions of a policy in words, to follow its action. */
import type { ItemAt } from "@gatehouse/client/calls";
import { t } from "../messages/i18n.ts";

type Policy = Pick<ItemAt<"/tenants/policies">, "rule" | "sourceIps">;

export function formatConditions({ rule, sourceIps }: Policy): readonly string[] {
  return [
    ...(rule.type === "CUSTOM" ? [t("policies.conditions.rule", { rule: rule.name })] : []),
    ...(sourceIps.length > 0 ? [t("policies.conditions.sourceAddresses")] : []),
  ];
}
