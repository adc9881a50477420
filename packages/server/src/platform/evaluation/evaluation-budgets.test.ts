import { beforeEach, expect, test } from "vitest";
import { TestClock } from "../../testing/test-clock.ts";
import { AppError } from "../app-error.ts";
import { EvaluationBudgets } from "./evaluation-budgets.ts";

const limits = { unitsPerRequest: 1_000, unitsPerSecond: 100, burst: 1_500, unitsBeforeCommit: 100 };

let clock: TestClock;
let budgets: EvaluationBudgets;

beforeEach(() => {
  clock = new TestClock();
  budgets = new EvaluationBudgets(clock, limits);
});

function codeOf(action: () => unknown): string | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    return error instanceof AppError
      ? `${error.status} ${error.code} ${error.retryAfterSeconds ?? ""}`.trim()
      : "other";
  }
}

test("a request over its budget gets 422 with what was too much", () => {
  const { spend } = budgets.open("a", "The decisions of this batch");
  expect(codeOf(() => spend(1_000))).toBeUndefined();
  expect(codeOf(() => spend(1))).toBe("422 evaluation_too_expensive");
  expect(() => spend(1)).toThrow("The decisions of this batch cost more than 1,000 units");
});

test("a tenant over its rate gets 429, until it has earned units again", () => {
  budgets.open("a", "The decision").spend(1_000);
  budgets.open("a", "The decision").spend(800);
  // 300 units in debt, at 100 units a second.
  expect(codeOf(() => budgets.open("a", "The decision"))).toBe("429 evaluation_rate_exceeded 4");
  clock.advance(3_000);
  expect(codeOf(() => budgets.open("a", "The decision"))).toBe("429 evaluation_rate_exceeded 1");
  clock.advance(1_000);
  expect(codeOf(() => budgets.open("a", "The decision"))).toBeUndefined();
});

test("one tenant does not use another tenant's units", () => {
  budgets.open("a", "The decision").spend(1_000);
  budgets.open("a", "The decision").spend(1_000);
  expect(codeOf(() => budgets.open("b", "The decision").spend(1_000))).toBeUndefined();
});

test("a person has a tenth of a tenant's rate, and does not use the tenant's units", () => {
  budgets.openForPerson("a", "ann", "Your access").spend(160);
  expect(codeOf(() => budgets.openForPerson("a", "ann", "Your access"))).toBe("429 evaluation_rate_exceeded 2");
  expect(codeOf(() => budgets.openForPerson("a", "bob", "Your access").spend(100))).toBeUndefined();
  expect(codeOf(() => budgets.open("a", "The decision").spend(1_000))).toBeUndefined();
});

test("an idle tenant saves up a burst and no more", () => {
  clock.advance(1_000_000);
  budgets.open("a", "The decision").spend(1_000);
  budgets.open("a", "The decision").spend(501);
  expect(codeOf(() => budgets.open("a", "The decision"))).toContain("429");
});

test("requests that run at the same time overdraw the rate by one request at most", () => {
  const requests = Array.from({ length: 10 }, () => budgets.open("a", "The decision"));
  let spent = 0;
  const code = codeOf(() => {
    for (const { spend } of requests) {
      for (let step = 0; step < 100; step += 1) {
        spend(10);
        spent += 10;
      }
    }
  });
  expect(code).toMatch(/^429 evaluation_rate_exceeded/);
  expect(spent).toBeLessThanOrEqual(limits.burst + limits.unitsPerRequest + 10);
});
