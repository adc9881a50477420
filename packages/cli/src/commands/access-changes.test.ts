import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAccessNetwork } from "@gatehouse/server/testing/access-network";
import { sharedTestServer, type TestServer, type TestTenant } from "@gatehouse/server/testing/test-server";
import { beforeAll, expect, test } from "vitest";
import { runHere } from "../testing/run-here.ts";

let server: TestServer;
let tenant: TestTenant;
let url: string;
let network: Awaited<ReturnType<typeof createAccessNetwork>>;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
  url = await server.listen();
  network = await createAccessNetwork(server, tenant);
});

const gatehouse = (...args: string[]) => runHere([...args, "--url", url, "--api-key", tenant.key]);
const access = (...args: string[]) => gatehouse("access", ...args);
const deactivation = () => `PATCH /tenants/policies/${network.denying.id}/deactivate`;

async function store(fields: object) {
  const resource = { type: "resource", id: network.git.id };
  const reply = await tenant.client.post("/tenants/access-tests", { resource, ...fields });
  expect(reply.status, reply.text).toBe(201);
}

test("preview shows who gains, who loses, and which tests would fail", async () => {
  const subject = { type: "user", id: network.bob.id };
  await store({ name: "Bob stays out", enforced: true, subject, expected: "denied" });
  const { bob } = network;
  const { code, output } = await access("preview", "--change", deactivation(), "--at", "2026-01-31T12:00:00Z");
  expect(code).toBe(0);
  expect(output).toBe(`Gained: 1 user, 1 device, to 1 resource.
Lost: nothing.

+ Git: never before, always after
    device Laptop of ${bob.email} of ${bob.email}

These access tests would fail:
  Bob stays out (enforced)
    ${bob.email} with Laptop of ${bob.email}: sometimes, by Engineers use Git
`);
});

test("preview combines the changes of a file and of the command line", async () => {
  const file = join(await mkdtemp(join(tmpdir(), "gatehouse-")), "changes.yaml");
  const path = `/tenants/policies/${network.allowing.id}`;
  await writeFile(file, `changes:\n  - method: PATCH\n    path: ${path}\n    body:\n      groups: []\n`);
  const removed = await access("preview", file);
  expect(removed.output).toMatch(
    /^Gained: nothing\.\nLost: 1 user, 1 device, to 1 resource\.\n\n- Git: sometimes before, never after\n/,
  );
  const restored = `PATCH ${path} ${JSON.stringify({ groups: [network.engineers.id] })}`;
  const both = await access("preview", file, "--change", restored, "--json");
  expect(JSON.parse(both.output)).toMatchObject({ gained: { pairs: 0 }, lost: { pairs: 0 }, groups: [] });
});

test.each([
  [["preview"], 2, "The changes are missing"],
  [["preview", "--change", "GET /tenants/users"], 2, "must be a method"],
  [["preview", "--change", "PATCH /tenants/policies/x {"], 2, "has a body that is not JSON"],
  [["preview", "--change", "POST /tenants/nothing"], 1, "/changes/0  POST /tenants/nothing cannot be previewed"],
])("a command line without valid changes is rejected: %j", async (args, expected, message) => {
  const { code, errors } = await access(...args);
  expect(code).toBe(expected);
  expect(errors).toContain(message);
});

test("test shows results, and exits with 1 if a test fails", async () => {
  const subject = { type: "user", id: network.ann.id };
  expect((await access("test")).code).toBe(0);
  await store({ name: "Ann stays out", subject, expected: "denied" });
  const { code, output } = await access("test");
  expect(code).toBe(1);
  const { ann } = network;
  expect(output).toBe(`passed   Bob stays out (enforced)
failed   Ann stays out
    ${ann.email} with Laptop of ${ann.email}: sometimes, by Engineers use Git
1 passed, 1 failed.
`);
  const enforced = await access("test", "--enforced");
  expect([enforced.code, enforced.output]).toEqual([0, "passed   Bob stays out (enforced)\n1 passed, 0 failed.\n"]);
  const json = await access("test", "--json");
  expect(json.code).toBe(1);
  expect(JSON.parse(json.output)).toMatchObject({ summary: { holding: 1, broken: 1, missing: 0 } });
});

test("apply sends the override reason in any script", async () => {
  const file = join(await mkdtemp(join(tmpdir(), "gatehouse-")), "gatehouse.yaml");
  const { policies } = (await tenant.client.get("/tenants/configuration")).body;
  const PRIVATE = policies.PRIVATE.filter(({ name }: { name: string }) => name === network.allowing.name);
  await writeFile(file, JSON.stringify({ version: 1, policies: { ...policies, PRIVATE } }));
  const refused = await gatehouse("apply", file, "--yes");
  expect(refused.code).toBe(1);
  expect(refused.errors).toContain("Bob stays out: would have access");
  const done = await gatehouse("apply", file, "--yes", "--override-reason", "Störung 障害");
  expect(done.code, done.errors).toBe(0);
  const [event] = (await tenant.client.get("/tenants/events?sort=-createdAt&limit=1")).body.data;
  expect(event.reason).toBe("Störung 障害");
});
