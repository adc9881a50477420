import { setImmediate as turn } from "node:timers/promises";
import type { ProblemField } from "@gatehouse/contract/problem";
import { checkRuleContent } from "../../admission-rules/admission-rules.api.ts";
import { withPrefix } from "../document/desired-records.ts";
import type { RecordChanges } from "./plan-changes.ts";

/** The number of rules that are checked before yielding to other requests. A check takes up to a few milliseconds. */
const checkedAtOnce = 10;

/** The problems in the texts of new and changed admission rules. */
export async function changedRuleProblems({
  "admission-rule": changes,
}: RecordChanges): Promise<readonly ProblemField[]> {
  const problems: ProblemField[] = [];
  for (const [index, change] of changes.entries()) {
    if (change.action === "delete") continue;
    if (index % checkedAtOnce === 0) await turn();
    const check = checkRuleContent(change.after);
    if (!check.ok) problems.push(...withPrefix(change.pointer ?? "", check.errors));
  }
  return problems;
}
