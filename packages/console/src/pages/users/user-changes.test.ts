import { expect, test } from "vitest";
import { userChanges } from "./user-changes.ts";

const before = { firstName: "Ann", lastName: "", maxDevices: null, attributes: "floor = 4", groups: ["a", "b"] };
const at = "/tenants/users/1";

test("unchanged fields cause no request", () => {
  expect(userChanges(at, before, { ...before })).toEqual([]);
});

test("each change becomes its own request, and groups are joined before others are left", () => {
  const after = { ...before, lastName: "Other", attributes: "floor = 5\nremote = true", groups: ["b", "c"] };
  expect(userChanges(at, before, after)).toEqual([
    { method: "PUT", path: at, body: { firstName: "Ann", lastName: "Other" } },
    { method: "PATCH", path: at, body: { maxDevices: null, attributes: { floor: 5, remote: true } } },
    { method: "POST", path: `${at}/groups`, body: { groupId: "c" } },
    { method: "DELETE", path: `${at}/groups/a` },
  ]);
});
