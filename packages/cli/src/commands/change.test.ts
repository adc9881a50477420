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

const change = (...args: string[]) => runHere(["change", ...args, "--url", url, "--api-key", tenant.key]);

async function fileWith(text: string): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), "gatehouse-")), "changes.yaml");
  await writeFile(file, text);
  return file;
}

test("change applies all changes of a file, and shows their results and the gateways that do not enforce them", async () => {
  const file = await fileWith(`changes:
  - { method: POST, path: /tenants/groups, body: { name: Auditors, roles: [] }, as: auditors }
  - { method: POST, path: /tenants/users, body: { email: eve@example.com, groups: ["@auditors"] } }
  - { method: PUT, path: /tenants/groups/@auditors, body: { name: Auditors } }
  - { method: DELETE, path: /tenants/groups/@auditors/ }
`);
  const wrong = await change("--file", file);
  expect([wrong.code, wrong.output]).toEqual([1, ""]);
  expect(wrong.errors).toContain("changes.yaml:5:5  DELETE /tenants/groups/@auditors/ cannot be part of a change set");
  const right = await fileWith(`changes:
  - { method: POST, path: /tenants/groups, body: { name: Auditors, roles: [] }, as: auditors }
  - { method: POST, path: /tenants/users, body: { email: eve@example.com, groups: ["@auditors"] } }
  - { method: PUT, path: /tenants/groups/@auditors, body: { name: Auditors } }
  - { method: PATCH, path: /tenants/policies/${network.denying.id}/deactivate }
`);
  const { code, output, errors } = await change("--file", right, "--wait=1");
  expect([code, errors]).toEqual([4, ""]);
  const [head, ...lines] = output.split("\n");
  expect(head).toMatch(/^Change {2}Status {2}Request {2,}Result$/);
  expect(lines[0]).toMatch(
    /^0 {7}201 {5}POST \/tenants\/groups {2,}created \/tenants\/groups\/[0-9a-f-]{36} as @auditors$/,
  );
  expect(lines[1]).toMatch(/^1 {7}201 {5}POST \/tenants\/users {2,}created \/tenants\/users\/[0-9a-f-]{36}$/);
  expect(lines[2]).toMatch(/^2 {7}200 {5}PUT \/tenants\/groups\/@auditors {2,}nothing changed$/);
  expect(lines[3]).toMatch(/^3 {7}200 {5}PATCH .* {2,}changed$/);
  expect(lines[4]).toMatch(/^Applied 4 changes\. The tenant's generation is \d+\.$/);
  expect(lines[5]).toBe("Not enforced yet by 2 of 2 gateways:");
});

test("change --preview shows the access impact and changes nothing", async () => {
  const file = await fileWith(
    `changes: [{ method: PATCH, path: "/tenants/policies/${network.allowing.id}/deactivate" }]`,
  );
  const { code, output } = await change("--file", file, "--preview");
  expect([code, output.split("\n")[0]]).toEqual([0, "Gained: nothing."]);
  expect((await tenant.client.get(`/tenants/policies/${network.allowing.id}`)).body.active).toBe(true);
  const json = await change("--file", file, "--preview", "--json");
  expect(JSON.parse(json.output).lost.pairs).toBeGreaterThan(0);
});

test("change --json prints the response of the API, and the override reason is sent", async () => {
  const file = await fileWith(
    `changes: [{ method: PUT, path: /tenants/groups/${network.engineers.id}, body: { description: Build } }]`,
  );
  const { code, output, errors } = await change("--file", file, "--json", "--override-reason", "Störung");
  expect(code, errors).toBe(0);
  const { changes } = JSON.parse(output);
  expect(changes).toMatchObject([{ status: 200, etag: '"2"', body: { description: "Build" } }]);
  const [event] = (await tenant.client.get(`/tenants/events?filter[id]=${changes[0].events[0]}`)).body.data;
  expect(event.reason).toBe("Störung");
});

test.each([
  [[], "required option '--file <file>' not specified"],
  [["--file", "x.yaml", "--preview", "--wait"], "--preview changes nothing"],
])("a command line that makes no sense is rejected: %j", async (args, message) => {
  const { code, errors } = await change(...args);
  expect(code).toBe(2);
  expect(errors).toContain(message);
});
