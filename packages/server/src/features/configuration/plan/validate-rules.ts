import { setImmediate as turn } from "node:timers/promises";
import type { ProblemField } from "@gatehouse/contract/problem";
import { checkRuleContent } from "../../admission-rules/admission-rules.api.ts";
import { below } from "../document/wanted-records.ts";
import type { RecordChanges } from "./plan-changes.ts";

/** Rules that are checked in one go; each takes up to a few milliseconds, and others are waiting. */
const checkedAtOnce = 10;

/** What is wrong with the texts of the admission rules that are new or changed. */
export async function changedRuleProblems({
  "admission-rule": changes,
}: RecordChanges): Promise<readonly ProblemField[]> {
  const problems: ProblemField[] = [];
  for (const [index, change] of changes.entries()) {
    if (change.action === "delete") continue;
    if (index % checkedAtOnce === 0) await turn();
    const check = checkRuleContent(change.after);
    if (!check.ok) problems.push(...below(change.pointer ?? "", check.errors));
  }
  return problems;
}
