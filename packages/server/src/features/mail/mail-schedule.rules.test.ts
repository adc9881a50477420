import { expect, test } from "vitest";
import { afterFailure } from "./mail-schedule.rules.ts";

const createdAt = new Date("2026-03-03T09:00:00Z");
const minuteMs = 60_000;

test("attempts follow after 1, 2, 4 … 60 minutes, and the last one when the mail is 24 hours old", () => {
  const waits: number[] = [];
  let now = createdAt;
  for (let failures = 0; ; failures += 1) {
    const result = afterFailure({ error: "451 later", refused: false }, { createdAt, failures }, now);
    expect(result.failures).toBe(failures + 1);
    if (result.nextAttemptAt === null) {
      expect(result).toMatchObject({ status: "failed", error: "Not sent within 24 hours. 451 later" });
      break;
    }
    waits.push((result.nextAttemptAt.getTime() - now.getTime()) / minuteMs);
    now = result.nextAttemptAt;
  }
  expect(waits.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  expect(now).toEqual(new Date("2026-03-04T09:00:00Z"));
});

test("a refused mail fails at once", () => {
  const result = afterFailure({ error: "550 no", refused: true }, { createdAt, failures: 0 }, createdAt);
  expect(result).toEqual({ status: "failed", failures: 1, error: "550 no", nextAttemptAt: null });
});
