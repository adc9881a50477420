import { expect, test } from "vitest";
import { sample } from "../../testing/sample.ts";
import { formatEvent, formatOperation } from "./format-operation.ts";

test.each([
  ["updateUserProfile", "Update user profile"],
  ["createApiKey", "Create API key"],
  ["sourceIps", "Source IPs"],
  ["url", "URL"],
  ["createDomain", "Add domain"],
])("%s reads %s", (operation, words) => {
  expect(formatOperation(operation)).toBe(words);
});

test.each([
  ["createTenant", "policy", "Create policy"],
  ["setUpInstallation", "api-key", "Create API key"],
  ["createTenant", "tenant", "Create organisation"],
  ["updatePolicy", "policy", "Update policy"],
])("the event %s of a %s is shown as %s", (operation, type, words) => {
  expect(formatEvent({ operation, target: sample("EventTarget", { type }) })).toBe(words);
});
