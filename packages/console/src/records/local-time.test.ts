import { expect, test } from "vitest";
import { fromLocalTime, toLocalTime } from "./local-time.ts";

test("a time survives the round trip through an input field", () => {
  for (const at of ["2026-03-01T09:30:00.000Z", "2026-10-25T23:59:00.000Z"]) {
    expect(toLocalTime(at)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d$/);
    expect(fromLocalTime(toLocalTime(at))).toBe(at);
  }
});

test.each(["", "soon"])("%j is not a valid time", (text) => {
  expect([toLocalTime(text), fromLocalTime(text)]).toEqual(["", ""]);
});
