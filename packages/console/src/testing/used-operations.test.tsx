import type { Operation } from "@gatehouse/contract/operation";
import { operations } from "@gatehouse/contract/operations/all";
import { expect, test } from "vitest";
import { isUsedIn } from "./used-operations.ts";

const sources = Object.entries(
  import.meta.glob<string>("../**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true }),
).filter(([path]) => !path.includes("/testing/") && !path.startsWith("./") && !path.includes(".test."));

/** Operations that no page uses, with the reason. */
const exceptions: Readonly<Record<string, string>> = {
  connectGateway: "The page of a resource replaces the list of its gateways as a whole, in order.",
  endDeviceSession: "Pages ask users to sign in again, which also works if sessions have no lifetime.",
  replaceDevicePosture: "The agent of a device reports its posture.",
  searchActions: "There is one action.",
  searchResources: "Pages use listPastAccess, which also names the policy and the gateways.",
  updateUserProfile: "user-changes.ts sends it, and receives the path of the user from the page.",
  updateWebhook: "The form sends patchWebhook, which has the same fields.",
};

const inReach = (operations as readonly Operation[]).filter(({ access }) => access !== "operator");

test("the sources are found", () => {
  expect(sources.length).toBeGreaterThan(100);
});

test("pages use every operation of a tenant, except those that are listed with a reason", () => {
  const unused = inReach.filter((operation) => !sources.some(([, source]) => isUsedIn(source, operation)));
  expect(unused.map(({ id }) => id).toSorted()).toEqual(Object.keys(exceptions).toSorted());
});

// A template with an id, as the sources write it.
const deactivates = "const at = `/tenants/users/$" + '{id}`; plan({ method: "PATCH", path: `$' + "{at}/deactivate` })";

test.each([
  [`api.post("/tenants/users/{id}/invite", {})`, "POST", "/tenants/users/{id}/invite", true],
  [deactivates, "PATCH", "/tenants/users/{id}/deactivate", true],
  [deactivates, "POST", "/tenants/users/{id}/deactivate", false],
  [deactivates, "PATCH", "/tenants/users/{id}/roles", false],
  [`paged("/tenants/users")`, "GET", "/tenants/users", true],
  [`paged("/tenants/users")`, "GET", "/tenants/users/{id}", false],
] as const)("%s uses %s %s: %s", (source, method, path, expected) => {
  expect(isUsedIn(source, { method, path })).toBe(expected);
});
