import { expect, test } from "vitest";
import { nextOpening } from "./next-opening.ts";

const hours = (sign: string, hour: number) => ({ text: `now.getHours("Europe/Berlin") ${sign} ${hour}` });
const weekdays = { text: 'now.getDayOfWeek("Europe/Berlin") in [1, 2, 3, 4, 5]' };
const sunday = new Date("2026-11-22T07:41:00Z");

test.each([
  ["an hour of the same day", [hours(">=", 9)], "2026-11-22T08:00:00.000Z"],
  ["Monday morning, on a Sunday", [weekdays, hours(">=", 7), hours("<", 19)], "2026-11-23T06:00:00.000Z"],
  [
    "conditions of which others are not about the time",
    [{ text: "device.posture.x == true" }, hours(">=", 9)],
    "2026-11-22T08:00:00.000Z",
  ],
])("finds %s", (_what, conditions, at) => {
  expect(nextOpening(conditions, sunday)).toEqual({ at: new Date(at), zone: "Europe/Berlin" });
});

test.each([
  ["conditions of which any suffices", [{ text: "…", operator: "any" as const }, hours(">=", 9)]],
  ["another form of the time", [{ text: "now > user.until" }]],
  ["an hour that never comes", [hours(">=", 24)]],
  ["two time zones", [hours(">=", 9), { text: 'now.getHours("UTC") < 20' }]],
  ["no condition on the time", [{ text: "device.posture.x == true" }]],
])("says nothing about %s", (_what, conditions) => {
  expect(nextOpening(conditions, sunday)).toBeUndefined();
});
