import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  judge,
  lastsTooLong,
  longestRetryAfterMs,
  postponementMs,
  retryAfterMs,
  retryDelayMs,
} from "./retry-schedule.rules.ts";

const now = new Date("2026-07-23T10:00:00.000Z");
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

describe("the time until the next attempt", () => {
  test.each([
    [1, 5_000],
    [2, 30_000],
    [3, 2 * minuteMs],
    [4, 10 * minuteMs],
    [5, 30 * minuteMs],
    [6, hourMs],
    [7, 2 * hourMs],
    [8, 4 * hourMs],
    [9, 8 * hourMs],
    [10, 8 * hourMs],
    [11, undefined],
    [1000, undefined],
  ])("after %i failures is at most %s ms", (failures, longest) => {
    expect(retryDelayMs(failures, undefined, 0)).toBe(longest);
  });

  test("without space on the server doubles, up to ten minutes", () => {
    const delaysMs = [0];
    for (let times = 1; times <= 7; times++) delaysMs.push(postponementMs(delaysMs.at(-1) ?? 0, 0));
    expect(delaysMs.slice(1)).toEqual([30, 60, 120, 240, 480, 600, 600].map((seconds) => seconds * 1_000));
    expect(postponementMs(0, 0.5)).toBe(27_000);
  });

  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

  test("is up to a fifth shorter by chance", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 }), chance, (failures, random) => {
        const longest = retryDelayMs(failures, undefined, 0) ?? 0;
        const delay = retryDelayMs(failures, undefined, random) ?? 0;
        expect(delay).toBeLessThanOrEqual(longest);
        expect(delay).toBeGreaterThanOrEqual(longest * 0.8);
      }),
    );
  });

  test("lasts most of a day but at most one, with any jitter", () => {
    fc.assert(
      fc.property(fc.array(chance, { minLength: 10, maxLength: 10 }), (randoms) => {
        const delays = randoms.map((random, index) => retryDelayMs(index + 1, undefined, random) ?? 0);
        const sum = delays.reduce((total, delay) => total + delay, 0);
        expect(sum).toBeLessThanOrEqual(24 * hourMs);
        expect(sum).toBeGreaterThan(18 * hourMs);
      }),
    );
  });

  test.each([
    ["longer than the schedule", 1, 60_000, 60_000],
    ["shorter than the schedule", 3, 1_000, 2 * minuteMs],
    ["none", 1, 0, 5_000],
    ["beyond the bound", 1, 48 * hourMs, longestRetryAfterMs],
    ["beyond the bound, late in the schedule", 9, 48 * hourMs, 8 * hourMs],
  ])("if the receiver requests a pause that is %s", (_what, failures, asked, expected) => {
    expect(retryDelayMs(failures, asked, 0)).toBe(expected);
  });
});

describe("Retry-After", () => {
  test.each([
    [429, "120", 120_000],
    [503, " 7 ", 7_000],
    [503, "0", 0],
    [503, "Thu, 23 Jul 2026 10:02:00 GMT", 120_000],
    [429, "Thu, 23 Jul 2026 09:00:00 GMT", 0],
    [500, "120", undefined],
    [200, "120", undefined],
    [503, undefined, undefined],
    [503, "soon", undefined],
    [503, "-1", undefined],
    [503, "1e9", undefined],
    [503, "9".repeat(40), undefined],
    [503, "2026-07-23", undefined],
    [503, "", undefined],
  ])("with %i as %j means %s ms", (statusCode, header, expected) => {
    expect(retryAfterMs(statusCode, header, now)).toBe(expected);
  });

  test("never throws, and is never negative", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (header) => {
        const asked = retryAfterMs(503, header, now);
        if (asked !== undefined) expect(asked).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

describe("an attempt", () => {
  const answered = (statusCode: number | undefined, failuresBefore = 0, retryAfter?: string) =>
    judge({ statusCode, retryAfter }, failuresBefore, now, 0);

  test.each([200, 201, 202, 204, 299])("is a delivery when answered with %i", (status) => {
    expect(answered(status)).toEqual({ kind: "delivered" });
  });

  test.each([100, 199, 300, 301, 302, 304, 307, 308, 400, 401, 404, 409, 411, 429, 500, 503, 599, 999, undefined])(
    "is made again when answered with %s",
    (status) => expect(answered(status)).toEqual({ kind: "again", delayMs: 5_000 }),
  );

  test("is the last when the receiver answers 410 Gone", () => {
    expect(answered(410)).toEqual({ kind: "gone" });
  });

  test("is the last when ten before it failed", () => {
    expect(answered(500, 9)).toEqual({ kind: "again", delayMs: 8 * hourMs });
    expect(answered(500, 10)).toEqual({ kind: "given-up" });
  });

  test("is made again as late as the receiver asks", () => {
    expect(answered(503, 0, "90")).toEqual({ kind: "again", delayMs: 90_000 });
  });
});

test.each([
  ["2026-07-20T10:00:00.001Z", false],
  ["2026-07-20T10:00:00.000Z", true],
  ["2026-07-01T10:00:00.000Z", true],
])("a webhook that has failed since %s has failed for three days: %s", (since, expected) => {
  expect(lastsTooLong(since, now, 72 * hourMs)).toBe(expected);
});
