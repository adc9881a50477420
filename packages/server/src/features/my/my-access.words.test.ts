import { expect, test } from "vitest";
import { missingText } from "./my-access.words.ts";

test("a condition on the sign-in names its remedy, and not the administrator", () => {
  const text = missingText({ kind: "sign_in_again" }, undefined);
  expect(text).toContain("Sign in again: sudo gatehouse-device sign-in");
  expect(text).not.toContain("administrator");
});
