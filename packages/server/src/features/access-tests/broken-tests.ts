/** Tests that a change breaks: they held before the change, and do not hold after it. */
import { setImmediate as turn } from "node:timers/promises";
import { type CheckedExpectation, checkExpectation } from "@gatehouse/policy/effects/check-expectation";
import type { FactChange } from "@gatehouse/policy/model/facts";
import type { Model } from "@gatehouse/policy/model/model";
import type { StoredQuestion, TestQuestion } from "./access-tests.queries.ts";
import { type AffectedTests, affectedTests } from "./affected-tests.rules.ts";
import { expectationOf } from "./evaluate-tests.ts";

export interface BrokenTest {
  readonly test: StoredQuestion;
  /** The result after the change. */
  readonly result: CheckedExpectation;
}

/**
 * The tests that changes break. Tests whose subject or resource was deleted are not broken, nor are tests that did not
 * hold before. Yields to the event loop between tests, because a test of all users can take a while.
 *
 * @param changes all changes from `before` to `after`
 */
export async function brokenTests(
  tests: readonly StoredQuestion[],
  before: Model,
  after: Model,
  changes: readonly FactChange[],
): Promise<readonly BrokenTest[]> {
  if (changes.length === 0) return [];
  const affected = affectedTests(before, after, changes);
  const broken: BrokenTest[] = [];
  for (const test of tests) {
    if (!mayBreak(test, after, affected)) continue;
    const result = checkExpectation(after, expectationOf(test));
    if (!result.holds && result.missing === undefined && checkExpectation(before, expectationOf(test)).holds) {
      broken.push({ test, result });
    }
    await turn();
  }
  return broken;
}

/**
 * Whether the test may be broken. If the changes affect only some users, these are evaluated first: most changes affect
 * one user.
 */
function mayBreak(test: TestQuestion, after: Model, affected: AffectedTests): boolean {
  if (affected.affectsAnyone(test)) return true;
  const { subject_type: kind, subject_id: subjectId } = test;
  if (kind === "user" || kind === "device") return affected.users.size > 0;
  return [...affected.users].some((id) => {
    const user = after.users.get(id);
    if (user === undefined || (kind === "group" && !user.facts.groups.includes(subjectId ?? ""))) return false;
    return !checkExpectation(after, { ...expectationOf(test), subject: { kind: "user", id } }).holds;
  });
}
