import { describe, expect, test } from "vitest";
import { checkRuleText } from "./check-rule.ts";
import { prepareRule } from "./evaluate-rule.ts";

/** Meanings of CEL that its conformance data does not cover. */

const now = new Date("2026-01-31T09:30:00.123Z");
const user = new Map<string, unknown>([
  ["level", 5],
  ["digit", "5"],
  ["map", { "5": true }],
  ["until", "2026-01-31T09:30:00.123456Z"],
]);

function evaluate(text: string): unknown {
  try {
    return prepareRule(text).evaluate({ source: {}, user, now });
  } catch {
    return "error";
  }
}

describe("true", () => {
  test.each([
    "'a😀b'.substring(2) == 'b' && 'a😀b'.indexOf('b') == 2 && 'a😀b'.lastIndexOf('b') == 2",
    "'😀b'.split('') == ['😀', 'b']",
    "'\\ufffd' < '😀'",
    "user.level == 5 && user.level in [5, 6] && dyn([5.0]) == [5]",
    "!(user.level in user.map) && user.digit in user.map",
    "now < timestamp(user.until) && timestamp(user.until) - now == duration('456us')",
    "timestamp('2026-01-31T10:30:00.123+01:00') == now",
    "{'a': {1: 'x'}}.a[1.0] == 'x'",
    "{'constructor': 1}.constructor == 1",
    "duration('1h30m') == duration('5400s') && duration('1.5s').getMilliseconds() == 500",
    "'é\\u0085'.trim() == 'é' && 'É'.lowerAscii() == 'É'",
  ])("%s", (text) => {
    expect(evaluate(text)).toBe(true);
  });
});

describe("error", () => {
  test.each([
    "int('') == 0",
    "int('0b1') == 1",
    "double('0x10') == 16.0",
    "user.map[user.level]",
    "timestamp('2026-02-30T00:00:00Z') < now",
    "timestamp('January 31, 2026 10:00') < now",
    "{'a': 1, 'a': 2}.size() == 2",
    "'abc'.substring(2, 1) == ''",
  ])("%s", (text) => {
    expect(evaluate(text)).toBe("error");
  });
});

test("refuses byte strings with characters beyond ASCII", () => {
  expect(checkRuleText("bytes('ÿ') == b'\\303\\277'")).toMatchObject({ ok: true });
  expect(checkRuleText("b'ÿ' == bytes('ÿ')")).toMatchObject({
    ok: false,
    problems: [{ message: "A byte string can have ASCII characters only.", line: 1, column: 1 }],
  });
});
