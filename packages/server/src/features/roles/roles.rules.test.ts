import { type Permission, permissions, rolePermissions, roleTypes } from "@gatehouse/contract/permissions";
import fc from "fast-check";
import { expect, test } from "vitest";
import { holdsEverything, permissionsBeyond } from "./roles.rules.ts";

const someRoles = fc.subarray([...roleTypes]);
const somePermissions = fc.subarray([...permissions]).map((held) => new Set<Permission>(held));

test("exceeding permissions are those that are granted and not held", () => {
  fc.assert(
    fc.property(someRoles, somePermissions, (types, held) => {
      const beyond = permissionsBeyond(types, held);
      for (const permission of permissions) {
        const granted = types.some((type) => rolePermissions[type].includes(permission));
        expect(beyond.includes(permission)).toBe(granted && !held.has(permission));
      }
    }),
  );
});

test("no role exceeds a caller with all permissions, and only such a caller", () => {
  expect(holdsEverything(new Set(permissions))).toBe(true);
  expect(permissionsBeyond(roleTypes, new Set(permissions))).toEqual([]);
  for (const missing of permissions) {
    const held = new Set(permissions.filter((permission) => permission !== missing));
    expect(holdsEverything(held)).toBe(false);
    expect(permissionsBeyond(["ADMIN"], held)).toEqual([missing]);
  }
});
