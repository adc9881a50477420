/** Tests that a change breaks: they held before the change, and do not hold after it. */
import { type CheckedExpectation, checkingExpectation } from "@gatehouse/policy/effects/check-expectation";
import type { FactChange } from "@gatehouse/policy/model/facts";
import type { Model } from "@gatehouse/policy/model/model";
import type { Work } from "@gatehouse/policy/work";
import type { StoredQuestion, TestQuestion } from "./access-tests.queries.ts";
import { type AffectedTests, affectedTests } from "./affected-tests.rules.ts";
import { expectationOf } from "./evaluate-tests.ts";

/** The cost of determining whether a test is affected, except for selecting users, in rule-cost units. */
const affectedTestCost = 10;
/** The cost of selecting a user, in rule-cost units. */
const affectedUserCost = 12;

export interface BrokenTest {
  readonly test: StoredQuestion;
  /** The result after the change. */
  readonly result: CheckedExpectation;
}

/**
 * The tests that changes break. Tests whose subject or resource was deleted are not broken, nor are tests that did not
 * hold before.
 *
 * @param changes all changes from `before` to `after`
 */
export function* brokenTests(
  tests: readonly StoredQuestion[],
  before: Model,
  after: Model,
  changes: readonly FactChange[],
): Work<readonly BrokenTest[]> {
  if (changes.length === 0) return [];
  const affected = yield* affectedTests(before, after, changes);
  const broken: BrokenTest[] = [];
  for (const test of tests) {
    yield affectedTestCost;
    if (!(yield* mayBreak(test, after, affected))) continue;
    const result = yield* checkingExpectation(after, expectationOf(test));
    if (result.holds || result.missing !== undefined) continue;
    if ((yield* checkingExpectation(before, expectationOf(test))).holds) broken.push({ test, result });
  }
  return broken;
}

/** Whether the test may be broken. If the changes affect only some users, only these are evaluated. */
function* mayBreak(test: TestQuestion, after: Model, affected: AffectedTests): Work<boolean> {
  const users = affected.usersOf(test);
  if (users === "anyone") return true;
  const { subject_type: kind, subject_id: subjectId } = test;
  if (users.size === 0 || (kind === "user" && !users.has(subjectId ?? ""))) return false;
  yield users.size * affectedUserCost;
  return !(yield* checkingExpectation(after, expectationOf(test), users)).holds;
}
