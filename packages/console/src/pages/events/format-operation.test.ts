import { expect, test } from "vitest";
import { sample } from "../../testing/sample.ts";
import { formatEvent, formatOperation, identifierOf } from "./format-operation.ts";

test.each([
  ["updateUserProfile", "Update user profile"],
  ["createApiKey", "Create API key"],
  ["sourceIps", "Source IPs"],
  ["url", "URL"],
  ["createDomain", "Add domain"],
  ["updateUserSettings", "Update device limit and attributes"],
])("%s reads %s", (operation, words) => {
  expect(formatOperation(operation)).toBe(words);
});

test.each([
  ["createTenant", "policy", "Created policy"],
  ["setUpInstallation", "api-key", "Created API key"],
  ["createTenant", "tenant", "Created organisation"],
  ["updatePolicy", "policy", "Updated policy"],
  ["enterGatewayMaintenance", "gateway", "Started maintenance"],
  ["signIn", "session", "Signed in"],
  // One passkey and one person, although the operations have more events or more people.
  ["enrolPasskey", "passkey", "Enrolled passkey"],
  ["enrolPasskey", "user", "Accepted invitation"],
  ["createUsers", "user", "Invited user"],
  ["somethingNew", "policy", "Something new"],
])("the event %s of a %s is shown as %s", (operation, type, words) => {
  expect(formatEvent({ operation, target: sample("EventTarget", { type }) })).toBe(words);
});

test.each([
  ["Updated policy", "updatepolicy"],
  ["update policy", "updatepolicy"],
  ["updatePolicy", "updatepolicy"],
  ["Created", "create"],
  ["group", "group"],
])("the filter of %s finds %s", (words, identifier) => {
  expect(identifierOf(words)).toBe(identifier);
});
