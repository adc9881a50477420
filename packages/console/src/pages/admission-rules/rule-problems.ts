/** Conditions that are not finished, or that can never be met. */
import { t } from "../../messages/i18n.ts";
import { type Condition, readRule } from "../../records/rule-conditions.ts";

/** Returns what is wrong with a condition. */
export function conditionProblem(condition: Condition): string | undefined {
  switch (condition.kind) {
    case "country":
      return condition.countries.length === 0 ? t("admissionRules.problems.country") : undefined;
    case "days":
      return condition.days.length === 0 ? t("admissionRules.problems.days") : undefined;
    case "group":
      return condition.group === "" ? t("admissionRules.problems.group") : undefined;
    case "tag":
      return condition.tag === "" ? t("admissionRules.problems.tag") : undefined;
    case "session":
      return condition.amount === 0 ? t("admissionRules.problems.age") : undefined;
    case "agent":
    case "hours":
      return undefined;
    case "posture":
    case "user":
      if (!/^[A-Za-z_]/.test(condition.name)) return t("admissionRules.problems.name");
      return condition.value === "" ? t("admissionRules.problems.value") : undefined;
  }
}

/** Returns what is wrong with a rule. The server checks rules that the builder cannot show. */
export function ruleProblem(text: string): string | undefined {
  const conditions = readRule(text)?.conditions;
  if (conditions === undefined) return undefined;
  if (conditions.length === 0) return t("admissionRules.problems.empty");
  const count = conditions.filter((condition) => conditionProblem(condition) !== undefined).length;
  return count === 0 ? undefined : t("admissionRules.problems.count", { count });
}
