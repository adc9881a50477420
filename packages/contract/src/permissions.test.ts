import { describe, expect, test } from "vitest";
import { isWrite } from "./operation.ts";
import { operations } from "./operations/all.ts";
import { permissions, rolePermissions, rolesByPrivilege, roleTypes } from "./permissions.ts";

/** The picture of the tables that people review: what each role may do, and what each permission is for. */
function picture(): string {
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
  const uses = [...permissions, "operator" as const].flatMap((access) => {
    const users = operations.filter((operation) => operation.access === access);
    return ["", access, ...users.map(({ id, method, path }) => `  ${id.padEnd(24)} ${method.padEnd(6)} ${path}`)];
  });
  return `${[
    "What each role grants. Made from permissions.ts and compared with it by permissions.test.ts: to change a grant, change",
    "the table there, run `npx vitest run packages/contract/src/permissions.test.ts -u`, and have the difference reviewed.",
    "",
    row("", roleTypes),
    ...matrix,
    "",
    `The most privileged first: ${rolesByPrivilege.join(", ")}.`,
    "",
    "What each permission is for. gateways:token is asked for by no operation: it shows the tokens of gateways in records.",
    "`operator` stands for the operator's key, which is of no tenant and holds none of the permissions.",
    ...uses,
  ].join("\n")}\n`;
}

describe("roles and permissions", () => {
  test("are as the reviewed role-permissions.txt pictures them", async () => {
    await expect(picture()).toMatchFileSnapshot("../role-permissions.txt");
  });

  test("every operation asks for a permission that exists, reading ones for reading and others for writing", () => {
    for (const operation of operations) {
      const { id, access, method } = operation;
      if (access === "operator") continue;
      expect(permissions, id).toContain(access);
      // A report changes nothing, but may be for those alone who could change what it is about.
      if (isWrite(operation) || method === "GET") expect(access, id).toMatch(method === "GET" ? /:read$/ : /:write$/);
    }
  });

  test("every permission is asked for by an operation, but for the one that shows tokens", () => {
    const unused = permissions.filter((permission) => !operations.some(({ access }) => access === permission));
    expect(unused).toEqual(["gateways:token"]);
  });

  test("the order of privilege names every role once, and none behind one that grants less", () => {
    expect([...rolesByPrivilege].sort()).toEqual([...roleTypes].sort());
    for (const [place, role] of rolesByPrivilege.entries()) {
      for (const before of rolesByPrivilege.slice(0, place)) {
        const more = rolePermissions[role].filter((permission) => !rolePermissions[before].includes(permission));
        const less = rolePermissions[before].filter((permission) => !rolePermissions[role].includes(permission));
        expect(more.length > 0 && less.length === 0, `${role} grants more than ${before}`).toBe(false);
      }
    }
  });

  test("no role but the owner's and the administrator's changes the network, keys or roles", () => {
    for (const role of roleTypes.filter((type) => type !== "OWNER" && type !== "ADMIN")) {
      const writes = rolePermissions[role].filter((permission) => !permission.endsWith(":read"));
      expect(writes, role).toEqual(role === "SUPPORT" ? ["users:write", "devices:write"] : []);
    }
  });
});
