import { expect, test } from "vitest";
import { userChanges } from "./user-changes.ts";

const before = {
  firstName: "Ann",
  lastName: "",
  maxDevices: null,
  attributes: "floor = 4",
  groups: ["a", "b"],
  roles: ["r"],
};
const at = "/tenants/users/1";

test("unchanged fields cause no request", () => {
  expect(userChanges(at, before, { ...before })).toEqual([]);
});

test("each kind of change becomes one request", () => {
  const after = {
    ...before,
    lastName: "Other",
    attributes: "floor = 5\nremote = true",
    groups: ["b", "c"],
    roles: ["s"],
  };
  expect(userChanges(at, before, after)).toEqual([
    { method: "PUT", path: at, body: { firstName: "Ann", lastName: "Other" } },
    { method: "PATCH", path: at, body: { maxDevices: null, attributes: { floor: 5, remote: true } } },
    { method: "PATCH", path: `${at}/groups`, body: { addedGroups: ["c"], removedGroups: ["a"] } },
    { method: "PATCH", path: `${at}/roles`, body: { addedRoles: ["s"], removedRoles: ["r"] } },
  ]);
});

test("more groups than a change set has changes still fit into one set", () => {
  const ids = (prefix: string) => Array.from({ length: 256 }, (_, index) => `${prefix}${index}`);
  const changes = userChanges(at, { ...before, groups: ids("a") }, { ...before, lastName: "Other", groups: ids("b") });
  expect(changes.map(({ method, path }) => `${method} ${path}`)).toEqual([`PUT ${at}`, `PATCH ${at}/groups`]);
  expect(changes[1]?.body).toEqual({ addedGroups: ids("b"), removedGroups: ids("a") });
});
