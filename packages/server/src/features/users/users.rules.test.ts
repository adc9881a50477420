import { expect, test } from "vitest";
import { deactivated, reactivated } from "./users.rules.ts";

test.each(["pending", "active"] as const)("reactivation restores a user who was %s", (status) => {
  const inactive = deactivated({ status, status_before: null });
  expect(inactive).toEqual({ status: "inactive", status_before: status });
  expect(inactive && reactivated(inactive)).toEqual({ status, status_before: null });
});

test("an inactive user cannot be deactivated again, which would lose what to restore", () => {
  expect(deactivated({ status: "inactive", status_before: "active" })).toBeUndefined();
});

test.each(["pending", "active"] as const)("a user who is %s cannot be reactivated", (status) => {
  expect(reactivated({ status, status_before: null })).toBeUndefined();
});
