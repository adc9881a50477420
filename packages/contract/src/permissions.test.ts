import { describe, expect, test } from "vitest";
import { isWrite } from "./operation.ts";
import { operations } from "./operations/all.ts";
import { permissions, rolePermissions, rolesByPrivilege, roleTypes } from "./permissions.ts";

/** The permission tables as text, for review. */
function permissionTables(): string {
  const width = Math.max(...permissions.map((permission) => permission.length));
  const row = (first: string, cells: readonly string[]) =>
    [first.padEnd(width), ...cells.map((cell, index) => cell.padEnd(roleTypes[index]?.length ?? 0))]
      .join("  ")
      .trimEnd();
  const matrix = permissions.map((permission) =>
    row(
      permission,
      roleTypes.map((role) => (rolePermissions[role].includes(permission) ? "x" : "-")),
    ),
  );
  const uses = [...permissions, "any-key" as const, "person" as const, "operator" as const].flatMap((access) => {
    const users = operations.filter((operation) => operation.access === access);
    return ["", access, ...users.map(({ id, method, path }) => `  ${id.padEnd(24)} ${method.padEnd(6)} ${path}`)];
  });
  return `${[
    "The permissions of each role. Generated from permissions.ts; permissions.test.ts compares the two. To change a grant, edit",
    "the table there, run `npx vitest run packages/contract/src/permissions.test.ts -u`, and have the diff reviewed.",
    "",
    row("", roleTypes),
    ...matrix,
    "",
    `The most privileged first: ${rolesByPrivilege.join(", ")}.`,
    "",
    "The operations of each permission. No operation requires gateways:token: it reveals the tokens of gateways in records.",
    "`any-key` is every key of the tenant: each part of the request requires the permission of its own operation.",
    "`person` is every person in a session, even without any role: the operation concerns the person's own records.",
    "`operator` is the operator's key, which belongs to no tenant and has none of the permissions.",
    ...uses,
  ].join("\n")}\n`;
}

describe("roles and permissions", () => {
  test("match the reviewed role-permissions.txt", async () => {
    await expect(permissionTables()).toMatchFileSnapshot("../role-permissions.txt");
  });

  test("every operation requires an existing permission: a read permission for reads, a write permission for writes", () => {
    for (const operation of operations) {
      const { id, access, method } = operation;
      if (access === "operator" || access === "any-key" || access === "person") continue;
      expect(permissions, id).toContain(access);
      // Its parts require write permissions of their own.
      if (operation.composite === true) continue;
      // A report changes nothing, but can require the write permission of the records that it concerns.
      if (isWrite(operation) || method === "GET") expect(access, id).toMatch(method === "GET" ? /:read$/ : /:write$/);
    }
  });

  test("every permission except gateways:token is required by an operation", () => {
    const unused = permissions.filter((permission) => !operations.some(({ access }) => access === permission));
    expect(unused).toEqual(["gateways:token"]);
  });

  test("the privilege order lists every role once, and none after a role that grants less", () => {
    expect([...rolesByPrivilege].sort()).toEqual([...roleTypes].sort());
    for (const [position, role] of rolesByPrivilege.entries()) {
      for (const before of rolesByPrivilege.slice(0, position)) {
        const more = rolePermissions[role].filter((permission) => !rolePermissions[before].includes(permission));
        const less = rolePermissions[before].filter((permission) => !rolePermissions[role].includes(permission));
        expect(more.length > 0 && less.length === 0, `${role} grants more than ${before}`).toBe(false);
      }
    }
  });

  test("only the owner and administrator roles can change the network, keys or roles", () => {
    for (const role of roleTypes.filter((type) => type !== "OWNER" && type !== "ADMIN")) {
      const writes = rolePermissions[role].filter((permission) => !permission.endsWith(":read"));
      expect(writes, role).toEqual(role === "SUPPORT" ? ["users:write", "devices:write"] : []);
    }
  });
});
