/** apply --wait against a server with simulated gateways. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SimulatedGateway } from "@gatehouse/server/testing/simulated-gateway";
import { sharedTestServer, type TestServer, type TestTenant } from "@gatehouse/server/testing/test-server";
import { until } from "@gatehouse/server/testing/until";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runHere } from "../testing/run-here.ts";

let root: string;
let server: TestServer;
let tenant: TestTenant;
let url: string;
let file: string;
let gateway: SimulatedGateway;
let gatewayId: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "gatehouse-test-"));
  file = join(root, "gateways.yaml");
  server = await sharedTestServer();
  url = await server.listen();
  tenant = await server.newTenant();
  const { body } = await tenant.client.post("/tenants/gateways", { name: "North", wireguardPort: "51820" });
  gatewayId = body.id;
  // A request that changes nothing concerns the gateways that serve a resource.
  const resource = await tenant.client.must.post("/tenants/resources", { name: "Git", type: "PRIVATE", addresses: [] });
  await tenant.client.must.post(`/tenants/resources/${resource.body.id}/loadBalancing`, {
    loadBalancingMode: "MANUAL",
    gateways: [gatewayId],
  });
  gateway = new SimulatedGateway({ url, gatewayId, token: body.token });
});

afterAll(async () => {
  gateway.cut();
  await rm(root, { recursive: true, force: true });
});

const gatehouse = (...args: string[]) => runHere([...args, "--url", url, "--api-key", tenant.key]);

async function document(gateways: string): Promise<string> {
  await writeFile(file, `version: 1\ngateways:\n${gateways}\n`);
  return file;
}

const isNow = async (path: string, field: string, value: string) =>
  (await tenant.client.get(`/tenants/gateways/${gatewayId}${path}`)).body[field] === value;

test("waits until the gateways enforce the change, and reports it", async () => {
  await gateway.connect();
  await until("the gateway has applied its configuration", () => isNow("", "status", "ONLINE"));
  const changed = await document('- {name: North, wireguardPort: 51820, resolvers: ["10.80.0.53"]}');
  const { code, output, errors } = await gatehouse("apply", changed, "--yes", "--wait=30");
  expect({ code, errors }, output).toEqual({ code: 0, errors: "" });
  expect(output).toMatch(/Applied: none created, 1 changed, none deleted\.\nEnforced by the gateway\.\n$/);
  const again = await gatehouse("apply", changed, "--yes", "--wait");
  expect(again).toMatchObject({
    code: 0,
    output: expect.stringMatching(/^No changes\. .*\nEnforced by the gateway\.\n$/),
  });
  const json = JSON.parse((await gatehouse("apply", changed, "--yes", "--wait", "--json")).output);
  expect(json).toMatchObject({ enforcement: { state: "applied", gateways: 1, missing: 0, notEnforced: [] } });
});

test("lists the gateways that do not enforce the change, and exits with 4, also the second time", async () => {
  gateway.cut();
  const changed = await document('- {name: North, wireguardPort: 51820, resolvers: ["10.80.0.54"]}');
  await until("the server notices that the gateway is gone", () => isNow("/sync", "state", "offline"));
  const { code, output } = await gatehouse("apply", changed, "--yes", "--wait=1");
  expect(code).toBe(4);
  expect(output).toMatch(
    new RegExp(
      `Applied: none created, 1 changed, none deleted\\.\nNot enforced yet by 1 of 1 gateways:\n  North \\(${gatewayId}\\): is not connected and enforces its previous configuration\n$`,
    ),
  );
  const json = await gatehouse("apply", changed, "--yes", "--wait=1", "--json");
  expect(json.code).toBe(4);
  expect(JSON.parse(json.output)).toMatchObject({
    summary: { updated: 0 },
    enforcement: { state: "incomplete", notEnforced: [{ id: gatewayId, name: "North", state: "offline" }] },
  });
});

test.each(["0", "61", "soon", "gateways.yaml"])("rejects the time %s", async (text) => {
  const { code, errors } = await gatehouse("apply", file, "--yes", `--wait=${text}`);
  expect({ code, errors }).toEqual({ code: 2, errors: expect.stringContaining("from 1 to 60") });
});
