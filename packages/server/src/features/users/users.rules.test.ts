import { expect, test } from "vitest";
import { deactivated, hasExpired, reactivated } from "./users.rules.ts";

test.each(["pending", "active"] as const)("reactivation restores a user who was %s", (status) => {
  const inactive = deactivated({ status, status_before: null });
  expect(inactive).toEqual({ status: "inactive", status_before: status });
  expect(inactive && reactivated(inactive)).toEqual({ status, status_before: null });
});

test("an inactive user cannot be deactivated again, which would lose the previous status", () => {
  expect(deactivated({ status: "inactive", status_before: "active" })).toBeUndefined();
});

test.each(["pending", "active"] as const)("a user who is %s cannot be reactivated", (status) => {
  expect(reactivated({ status, status_before: null })).toBeUndefined();
});

test.each([
  [null, false],
  ["2026-01-31T12:00:00.001Z", false],
  // An invitation has expired at its exact expiry.
  ["2026-01-31T12:00:00.000Z", true],
  ["2026-01-31T11:59:59.999Z", true],
])("an invitation until %s has expired at noon: %s", (expiresAt, expected) => {
  expect(hasExpired(expiresAt, new Date("2026-01-31T12:00:00.000Z"))).toBe(expected);
});
