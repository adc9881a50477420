import fc from "fast-check";
import { expect, test } from "vitest";
import { type Condition, readRule, writeRule } from "./rule-conditions.ts";

const zone = fc.constantFrom("Europe/Berlin", "UTC", "America/New_York");
const name = fc.stringMatching(/^[a-z][A-Za-z0-9_]{0,8}$/);
const plain = fc.oneof(fc.string(), fc.boolean(), fc.integer({ min: -9_999, max: 9_999 }));

/** Often a whole hour, for which another text is written. */
const minuteOfDay = (min: number, max: number) =>
  fc.oneof(
    fc.integer({ min, max }),
    fc.integer({ min: Math.ceil(min / 60), max: Math.floor(max / 60) }).map((hour) => hour * 60),
  );

const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({
    kind: fc.constant("country" as const),
    not: fc.boolean(),
    countries: fc.array(fc.stringMatching(/^[A-Z]{2}$/), { maxLength: 5 }),
  }),
  fc.record({ kind: fc.constant("days" as const), zone, days: fc.array(fc.integer({ min: 0, max: 6 })) }),
  fc
    .tuple(zone, minuteOfDay(0, 1439), minuteOfDay(1, 1440))
    .filter(([, from, to]) => from !== to)
    .map(([inZone, from, to]) => ({ kind: "hours" as const, zone: inZone, from, to })),
  fc.record({
    kind: fc.constantFrom("posture" as const, "user" as const),
    name,
    comparison: fc.constantFrom("==" as const, "!=" as const, ">=" as const, "<=" as const),
    value: plain,
  }),
  fc.record({ kind: fc.constant("group" as const), not: fc.boolean(), group: fc.string() }),
  fc.record({ kind: fc.constant("tag" as const), not: fc.boolean(), tag: fc.string() }),
  fc.record({
    kind: fc.constant("session" as const),
    amount: fc.integer({ min: 0, max: 999_999 }),
    unit: fc.constantFrom("m" as const, "h" as const),
  }),
  fc.record({ kind: fc.constant("agent" as const), not: fc.boolean() }),
);

test("parses every rule that it writes", () => {
  fc.assert(
    fc.property(
      fc.constantFrom("all" as const, "any" as const),
      fc.array(condition, { minLength: 1, maxLength: 6 }),
      (match, conditions) => {
        const read = readRule(writeRule({ match, conditions }));
        // With one condition, all and any are the same.
        expect(read).toEqual({ match: conditions.length === 1 ? "all" : match, conditions });
      },
    ),
  );
});

test("parses rules that people write by hand", () => {
  expect(
    readRule(
      'now.getDayOfWeek("Europe/Berlin") >= 1 && now.getDayOfWeek("Europe/Berlin") <= 5 &&\nnow.getHours("Europe/Berlin") >= 7 && now.getHours("Europe/Berlin") < 20',
    ),
  ).toEqual({
    match: "all",
    conditions: [
      { kind: "days", zone: "Europe/Berlin", days: [1, 2, 3, 4, 5] },
      { kind: "hours", zone: "Europe/Berlin", from: 420, to: 1200 },
    ],
  });
  expect(
    readRule(
      'now.getHours("UTC") * 60 + now.getMinutes("UTC") >= 510 && now.getHours("UTC") * 60 + now.getMinutes("UTC") <= 1049',
    )?.conditions,
  ).toEqual([{ kind: "hours", zone: "UTC", from: 510, to: 1050 }]);
  expect(
    readRule('(now.getHours("UTC") >= 22 || now.getHours("UTC") * 60 + now.getMinutes("UTC") < 375)')?.conditions,
  ).toEqual([{ kind: "hours", zone: "UTC", from: 1320, to: 375 }]);
  expect(readRule("")).toEqual({ match: "all", conditions: [] });
});

test.each([
  'user.email.endsWith("@example.com")',
  "user.level == 1 ? true : false",
  'source.country in ["DE"] && (user.a == 1 || user.b == 2)',
  "user.a == 1 && ",
  "(user.a == 1",
  "user.name == 'single'",
  'user.a == "open',
  "!(user.a == 1)",
  'now.getHours("UTC") >= 20 && now.getHours("UTC") < 7',
  'now.getHours("UTC") >= 7 && now.getHours("Europe/Berlin") < 20',
  'now.getHours("UTC") * 60 + now.getMinutes("Europe/Berlin") >= 510',
  'now.getHours("UTC") * 60 + now.getMinutes("UTC") >= 510 && now.getHours("UTC") * 60 + now.getMinutes("UTC") < 1441',
  'now.getHours("UTC") * 60 + now.getMinutes("UTC") >= 510 && now.getDayOfWeek("UTC") < 6',
  'now.getDayOfWeek("UTC") in [7]',
  "user.a == 1 // with a remark",
])("leaves an unknown rule as text: %s", (text) => {
  expect(readRule(text)).toBeUndefined();
});
