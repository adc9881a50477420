import { expect, test } from "vitest";
import { formatOperation } from "./format-operation.ts";

test.each([
  ["updateUserProfile", "Update user profile"],
  ["createApiKey", "Create API key"],
  ["sourceIps", "Source IPs"],
  ["url", "URL"],
])("%s reads %s", (operation, words) => {
  expect(formatOperation(operation)).toBe(words);
});
