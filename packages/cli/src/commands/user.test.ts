import { sharedTestServer, type TestTenant } from "@gatehouse/server/testing/test-server";
import { beforeAll, expect, test } from "vitest";
import { runHere } from "../testing/run-here.ts";

let tenant: TestTenant;
let url: string;
beforeAll(async () => {
  const server = await sharedTestServer();
  tenant = await server.newTenant();
  url = await server.listen();
});

const gatehouse = (...args: string[]) => runHere([...args, "--url", url, "--api-key", tenant.key]);

test("user invite-link shows a link and a code, which list-links does not, and revoke-link revokes it", async () => {
  const { body: user } = await tenant.client.must.post("/tenants/users", { email: "ann@example.com" });
  const made = await gatehouse("user", "invite-link", user.id);
  expect(made, made.errors).toMatchObject({ code: 0 });
  expect(made.output).toMatch(/^ {2}Link {5}http:\S+\/console\/enrol#gatehouse_enrol_\w{49}$/m);
  expect(made.output).toMatch(/^ {2}Code {5}[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}$/m);
  const [, id = ""] = /^ {2}Id {7}(\S+)$/m.exec(made.output) ?? [];
  const listed = await gatehouse("user", "list-links", user.id);
  expect(listed.output).toContain(id);
  expect(listed.output).not.toContain("gatehouse_enrol");
  expect((await gatehouse("user", "revoke-link", user.id, id)).output).toBe(`Revoked the enrolment link ${id}.\n`);
  expect(JSON.parse((await gatehouse("user", "list-links", user.id, "--json")).output)).toEqual([]);
  const refused = await gatehouse("user", "invite-link", user.id, "--notify");
  expect([refused.code, refused.errors]).toEqual([1, expect.stringContaining("Email is not configured")]);
});

test("settings set changes the settings of sign-in", async () => {
  const set = await gatehouse("settings", "set", "--session-lifetime", "8h", "--session-idle-time", "30m");
  expect(set.output).toBe(
    [
      "Configuration lifetime  1d",
      "Session lifetime        8h",
      "Session idle time       30m",
      "Single sign-on only     no",
      "Device approval         automatic",
      "Device session lifetime unlimited",
      "",
    ].join("\n"),
  );
  expect((await gatehouse("settings", "set", "--session-lifetime", "4m")).code).toBe(2);
  const refused = await gatehouse("settings", "set", "--single-sign-on-only", "yes");
  expect([refused.code, refused.errors]).toEqual([1, expect.stringContaining("No identity provider is enabled.")]);
});

test("user commands find the user by email address", async () => {
  await tenant.client.must.post("/tenants/users", { email: "bob@example.com" });
  const made = await gatehouse("user", "invite-link", "bob@example.com", "--json");
  expect(made, made.errors).toMatchObject({ code: 0 });
  const { id } = JSON.parse(made.output);
  expect(JSON.parse((await gatehouse("user", "list-links", "Bob@example.com", "--json")).output)).toMatchObject([
    { id },
  ]);
  expect(await gatehouse("user", "revoke-link", "bob@example.com", id)).toMatchObject({ code: 0 });
  const unknown = await gatehouse("user", "invite-link", "nobody@example.com");
  expect([unknown.code, unknown.errors]).toEqual([1, expect.stringContaining("nobody@example.com")]);
  const invalid = await gatehouse("user", "invite-link", "..");
  expect([invalid.code, invalid.errors]).toEqual([2, expect.stringContaining("Use an email address, or an id")]);
});
