import { expect, test } from "vitest";
import { isOver, sessionExpiry, wantsTouch } from "./sessions.rules.ts";

const at = (text: string) => new Date(`2026-03-01T${text}.000Z`);

test.each([
  ["for twelve hours, of a key that never expires", null, "20:00:00"],
  ["for twelve hours, of a key that lives longer", "2026-03-02T00:00:00.000Z", "20:00:00"],
  ["until its key expires", "2026-03-01T08:30:00.000Z", "08:30:00"],
])("a session may live %s", (_what, keyExpiresAt, expected) => {
  expect(sessionExpiry(at("08:00:00"), keyExpiresAt)).toEqual(at(expected));
});

test.each([
  ["08:59:59", "20:00:00", false],
  ["09:00:00", "20:00:00", true],
  ["08:29:59", "08:30:00", false],
  ["08:30:00", "08:30:00", true],
])("used last at 08:00:00, at %s with its end at %s, whether it is over: %s", (now, expiresAt, over) => {
  const times = { lastUsedAt: at("08:00:00").toISOString(), expiresAt: at(expiresAt).toISOString() };
  expect(isOver(times, at(now))).toBe(over);
});

test("its last use is written down once a minute", () => {
  const times = { lastUsedAt: at("08:00:00").toISOString() };
  expect([at("08:00:59"), at("08:01:00")].map((now) => wantsTouch(times, now))).toEqual([false, true]);
});
