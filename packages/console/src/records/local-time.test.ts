import { expect, test } from "vitest";
import { fromLocalTime, readTypedTime, toLocalTime } from "./local-time.ts";

test("a time survives the round trip through an input field", () => {
  for (const at of ["2026-03-01T09:30:00.000Z", "2026-10-25T23:59:00.000Z"]) {
    expect(toLocalTime(at)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d$/);
    expect(fromLocalTime(toLocalTime(at))).toBe(at);
  }
});

test.each(["", "soon"])("%j is not a valid time", (text) => {
  expect([toLocalTime(text), fromLocalTime(text)]).toEqual(["", ""]);
});

test.each([
  ["3 Mar 2026, 09:30", "2026-03-03T09:30"],
  ["26 Sept 2026, 1:20", "2026-09-26T01:20"],
  ["26 december 2026 at 23:59", "2026-12-26T23:59"],
  ["3 Mar 2026", "2026-03-03T00:00"],
  ["2026-03-03 09:30", "2026-03-03T09:30"],
  ["2026-03-03T09:30", "2026-03-03T09:30"],
  [" 2026-3-3 ", "2026-03-03T00:00"],
])("a person may type %j", (text, local) => {
  expect(readTypedTime(text)).toBe(fromLocalTime(local));
});

test.each(["", "tomorrow", "31 Feb 2026", "3 Mar 2026, 24:00", "3 Mar 2026, 09:60", "03/04/2026", "3 Foo 2026"])(
  "%j is not a time that a person types",
  (text) => {
    expect(readTypedTime(text)).toBeUndefined();
  },
);
