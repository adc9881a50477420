import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalTimestamp, isTimestamp } from "./timestamps.ts";

test.each([
  ["2026-01-31", "2026-01-31T00:00:00.000Z"],
  ["2024-02-29", "2024-02-29T00:00:00.000Z"],
  ["2026-01-31T12:30Z", "2026-01-31T12:30:00.000Z"],
  ["2026-01-31T12:30:15Z", "2026-01-31T12:30:15.000Z"],
  ["2026-01-31T12:30:15.123456Z", "2026-01-31T12:30:15.123Z"],
  ["2026-01-31T12:30:15+02:00", "2026-01-31T10:30:15.000Z"],
  ["2026-01-31T00:30:00+23:59", "2026-01-30T00:31:00.000Z"],
  ["2026-01-31T24:00:00Z", "2026-02-01T00:00:00.000Z"],
  ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
  ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
])("%s is the time %s", (text, canonical) => {
  expect(canonicalTimestamp(text)).toBe(canonical);
});

test.each([
  "",
  "now",
  "2026",
  "2026-1-1",
  "2023-02-29",
  "2026-02-30T00:00:00Z",
  "2026-04-31",
  "2026-13-01",
  "2026-00-10",
  "2026-01-00",
  "2026-01-31T25:00:00Z",
  "2026-06-30T23:59:60Z",
  "2026-01-31T12:30:15",
  "2026-01-31 12:30:15Z",
  "2026-01-31T12:30:15+25:00",
  "2026-01-31T12:30:15Z\u0000",
  "0000-01-01",
  "0001-01-01T00:00:00+01:00",
  "9999-12-31T23:59:59-01:00",
  "+010000-01-01T00:00:00Z",
  "infinity",
])("%j is not a time that can be stored", (text) => {
  expect(canonicalTimestamp(text)).toBeUndefined();
  expect(isTimestamp(text)).toBe(false);
});

test("a timestamp in a body needs a date and a time with seconds", () => {
  expect(isTimestamp("2026-01-31T12:30:15.5+02:00")).toBe(true);
  expect(isTimestamp("2026-01-31")).toBe(false);
  expect(isTimestamp("2026-01-31T12:30Z")).toBe(false);
});

test("every time of the years 1 to 9999 parses as itself", () => {
  const moments = fc.date({
    min: new Date("0001-01-01T00:00:00Z"),
    max: new Date("9999-12-31T23:59:59.999Z"),
    noInvalidDate: true,
  });
  fc.assert(
    fc.property(moments, (moment) => {
      expect(canonicalTimestamp(moment.toISOString())).toBe(moment.toISOString());
    }),
  );
});
