import type { ProblemField } from "@gatehouse/contract/problem";
import type { Work } from "@gatehouse/policy/work";
import { checkRuleContent } from "../../admission-rules/admission-rules.api.ts";
import { withPrefix } from "../document/desired-records.ts";
import type { RecordChanges } from "./plan-changes.ts";

/** The cost of checking a rule, which takes up to a few milliseconds, in rule-cost units. */
const checkCost = 25_000;

/**
 * The problems in new and changed admission rules. Texts that are stored already stay valid, even if they exceed limits
 * that were lowered since: a document with them must remain applicable.
 */
export function* changedRuleProblems({ "admission-rule": changes }: RecordChanges): Work<readonly ProblemField[]> {
  const problems: ProblemField[] = [];
  const stored = new Set(changes.flatMap((change) => (change.action === "create" ? [] : [change.before.rule])));
  for (const change of changes) {
    if (change.action === "delete") continue;
    yield checkCost;
    const check = checkRuleContent(change.after);
    const isStored = !check.ok && check.code === "invalid_rule" && stored.has(change.after.rule);
    if (!check.ok && !isStored) problems.push(...withPrefix(change.pointer ?? "", check.errors));
  }
  return problems;
}
