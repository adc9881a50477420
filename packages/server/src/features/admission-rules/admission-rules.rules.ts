import type { ProblemField } from "@gatehouse/contract/problem";
import type { RuleReport } from "@gatehouse/contract/records/admission-rule";
import { checkRuleText } from "@gatehouse/policy/admission-rules/check-rule";

/** The text of a rule, and the author's statement whether it depends on the time. */
export interface RuleContent {
  readonly rule: string;
  readonly hasTimeConstraint: boolean;
}

export type RuleContentCheck =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly code: "invalid_rule" | "invalid_combination";
      readonly errors: readonly ProblemField[];
    };

/**
 * Checks a rule before it is stored (contract, admission rule text). A rule that reads `now` must be declared as time-
 * dependent. Takes up to a few milliseconds.
 */
export function checkRuleContent({ rule, hasTimeConstraint }: RuleContent): RuleContentCheck {
  const check = checkRuleText(rule);
  if (!check.ok) {
    const errors = check.problems.map(({ message, line, column }) => ({
      pointer: "/rule",
      message: `line ${line}, column ${column}: ${message}`,
    }));
    return { ok: false, code: "invalid_rule", errors };
  }
  if (!check.readsNow || hasTimeConstraint) return { ok: true };
  const message = "must be true, because the rule reads `now`";
  return { ok: false, code: "invalid_combination", errors: [{ pointer: "/hasTimeConstraint", message }] };
}

/** The result of a check without storing the rule. Takes as long as `checkRuleContent`. */
export function ruleReport(rule: string): RuleReport {
  const check = checkRuleText(rule);
  if (check.ok) return { valid: true, readsNow: check.readsNow, errors: [] };
  return { valid: false, errors: check.problems.map(({ message, line, column }) => ({ message, line, column })) };
}
