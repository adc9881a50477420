import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sharedTestServer, type TestTenant } from "@gatehouse/server/testing/test-server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runHere } from "../testing/run-here.ts";

let tenant: TestTenant;
let url: string;
const folder = mkdtempSync(join(tmpdir(), "gatehouse-provider-"));
const secretFile = join(folder, "secret");

beforeAll(async () => {
  const server = await sharedTestServer();
  tenant = await server.newTenant();
  url = await server.listen();
  writeFileSync(secretFile, "a secret of the client\n", { mode: 0o600 });
});
afterAll(() => rmSync(folder, { recursive: true }));

const provider = (...args: string[]) => runHere(["identity-provider", ...args, "--url", url, "--api-key", tenant.key]);

const okta = ["--preset", "okta", "--issuer", "https://login.example.com", "--client-id", "gatehouse"];

test("identity-provider create uses the preset, and never prints the secret", async () => {
  const made = await provider("create", "Login", ...okta, "--client-secret-file", secretFile);
  expect(made).toMatchObject({ code: 0, errors: "" });
  expect(made.output).toContain("Redirect URI  ");
  expect(made.output).not.toContain("a secret");
  const { body } = await tenant.client.must.get("/tenants/identity-providers");
  expect(body).toMatchObject([
    { name: "Login", scopes: ["email", "profile", "groups"], hasClientSecret: true, enabled: false },
  ]);
  const [{ id }] = body;
  expect((await provider("update", id, "--link-verified-email", "on", "--scope", "email")).code).toBe(0);
  expect((await tenant.client.must.get(`/tenants/identity-providers/${id}`)).body).toMatchObject({
    linkVerifiedEmail: true,
    scopes: ["email"],
    hasClientSecret: true,
  });
  expect((await provider("test", id)).output).toMatch(/\/console\/oidc\/\S+\?ticket=\S+/);
  const early = await provider("enable", id);
  expect(early.code).toBe(1);
  expect(early.errors).toContain("test");
  expect((await provider("list")).output).toContain("https://login.example.com");
  expect(JSON.parse((await provider("show", id, "--json")).output)).toMatchObject({ id, name: "Login" });
  expect((await provider("delete", id)).output).toBe(`Deleted the identity provider ${id}.\n`);
  expect((await provider("list")).output).toBe("No identity providers.\n");
});

test.each<[string, readonly string[], string]>([
  ["without an issuer", ["create", "A", "--client-id", "a"], "--issuer"],
  ["with the placeholder of a preset", ["create", "A", "--client-id", "a", "--preset", "entra"], "TENANT-ID"],
  ["with an unreadable file", ["create", "A", ...okta, "--client-secret-file", join(folder, "none")], "could not be"],
])("identity-provider create %s is a wrong command line", async (_what, args, message) => {
  const refused = await provider(...args);
  expect(refused.code).toBe(2);
  expect(refused.errors).toContain(message);
});
