import { describe, expect, test } from "vitest";
import type { BuiltRule, Condition } from "../../records/rule-conditions.ts";
import { openHoursOf } from "./open-hours.ts";

const zone = "Europe/Berlin";
const weekdays: Condition = { kind: "days", zone, days: [1, 2, 3, 4, 5] };
const office: Condition = { kind: "hours", zone, from: 480, to: 1080 };
const night: Condition = { kind: "hours", zone, from: 1320, to: 375 };
const disk: Condition = { kind: "posture", name: "diskEncrypted", comparison: "==", value: true };

const ranges = (rule: BuiltRule) => openHoursOf(rule)?.days;

describe("the open hours of a rule", () => {
  test("all conditions: office hours on weekdays", () => {
    const days = ranges({ match: "all", conditions: [weekdays, office] });
    expect(days).toEqual([[[480, 1080]], [[480, 1080]], [[480, 1080]], [[480, 1080]], [[480, 1080]], [], []]);
  });

  test("any condition: weekdays, or office hours", () => {
    const days = ranges({ match: "any", conditions: [weekdays, office] });
    expect(days?.[0]).toEqual([[0, 1440]]);
    expect(days?.[6]).toEqual([[480, 1080]]);
  });

  test("a window over midnight opens at both ends of the day", () => {
    expect(ranges({ match: "all", conditions: [night] })?.[2]).toEqual([
      [0, 375],
      [1320, 1440],
    ]);
  });

  test("a window of minutes inside an hour, and one that ends at midnight", () => {
    const early: Condition = { kind: "hours", zone, from: 490, to: 505 };
    const late: Condition = { kind: "hours", zone, from: 1410, to: 1440 };
    expect(ranges({ match: "any", conditions: [early, late] })?.[3]).toEqual([
      [490, 505],
      [1410, 1440],
    ]);
    expect(ranges({ match: "all", conditions: [early, late] })?.[3]).toEqual([]);
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
