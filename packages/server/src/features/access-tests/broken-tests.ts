/** Tests that a change breaks: they held before the change, and do not hold after it. */
import type { CheckedExpectation } from "@gatehouse/policy/effects/check-expectation";
import { SharedExpectations } from "@gatehouse/policy/effects/shared-expectations";
import type { FactChange } from "@gatehouse/policy/model/facts";
import type { Model } from "@gatehouse/policy/model/model";
import type { Work } from "@gatehouse/policy/work";
import type { StoredQuestion, TestQuestion } from "./access-tests.queries.ts";
import { affectedTests } from "./affected-tests.rules.ts";
import { expectationOf } from "./evaluate-tests.ts";

/** The cost of determining whether a test is affected, in rule-cost units. */
const affectedTestCost = 10;

export interface BrokenTest {
  readonly test: StoredQuestion;
  /** The result after the change. It counts only affected users as evaluated. */
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
  const [formerly, now] = [new SharedExpectations(before), new SharedExpectations(after)];
  const broken: BrokenTest[] = [];
  for (const test of tests) {
    yield affectedTestCost;
    const users = affected.usersOf(test);
    if (users !== "anyone" && !mayConcern(test, users)) continue;
    const expectation = expectationOf(test);
    const result = yield* now.checking(expectation, users === "anyone" ? undefined : users);
    if (result.holds || result.missing !== undefined) continue;
    // If the test held before, it still holds for all users who are not affected, so the result is complete.
    if ((yield* formerly.checking(expectation)).holds) broken.push({ test, result });
  }
  return broken;
}

function mayConcern({ subject_type: kind, subject_id: id }: TestQuestion, users: ReadonlySet<string>): boolean {
  return users.size > 0 && (kind !== "user" || users.has(id ?? ""));
}
