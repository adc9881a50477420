import { describe, expect, test } from "vitest";
import { openHoursOf, rangesOf } from "./open-hours.ts";
import type { BuiltRule, Condition } from "./rule-conditions.ts";

const zone = "Europe/Berlin";
const weekdays: Condition = { kind: "days", zone, days: [1, 2, 3, 4, 5] };
const office: Condition = { kind: "hours", zone, from: 8, to: 18 };
const night: Condition = { kind: "hours", zone, from: 22, to: 6 };
const disk: Condition = { kind: "posture", name: "diskEncrypted", comparison: "==", value: true };

const ranges = (rule: BuiltRule) => openHoursOf(rule)?.days.map(rangesOf);

describe("the open hours of a rule", () => {
  test("all conditions: office hours on weekdays", () => {
    const days = ranges({ match: "all", conditions: [weekdays, office] });
    expect(days).toEqual([[[8, 18]], [[8, 18]], [[8, 18]], [[8, 18]], [[8, 18]], [], []]);
  });

  test("any condition: weekdays, or office hours", () => {
    const days = ranges({ match: "any", conditions: [weekdays, office] });
    expect(days?.[0]).toEqual([[0, 24]]);
    expect(days?.[6]).toEqual([[8, 18]]);
  });

  test("a window over midnight opens at both ends of the day", () => {
    expect(ranges({ match: "all", conditions: [night] })?.[2]).toEqual([
      [0, 6],
      [22, 24],
    ]);
  });

  test("other conditions make it partial", () => {
    expect(openHoursOf({ match: "all", conditions: [office, disk] })?.isPartial).toBe(true);
    expect(openHoursOf({ match: "all", conditions: [office] })?.isPartial).toBe(false);
  });

  test("nothing is shown without time conditions, or for several time zones", () => {
    expect(openHoursOf({ match: "all", conditions: [disk] })).toBeUndefined();
    expect(openHoursOf({ match: "all", conditions: [office, { ...weekdays, zone: "UTC" }] })).toBeUndefined();
  });
});
