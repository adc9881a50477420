/** `gatehouse doctor` as a command: its output, its exit code and the versions of agents. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SimulatedGateway } from "@gatehouse/server/testing/simulated-gateway";
import { sharedTestServer } from "@gatehouse/server/testing/test-server";
import { until } from "@gatehouse/server/testing/until";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { runHere } from "../testing/run-here.ts";

let dataDir: string;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "gatehouse-doctor-"));
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

const doctor = (...args: string[]) => runHere(["doctor", "--data-dir", dataDir, "--port", "0", ...args]);

test("an installation without a problem exits with 0, and each warning names its remedy", async () => {
  const { code, output } = await doctor();
  expect(code).toBe(0);
  expect(output).toMatch(/^ok +settings +All settings are valid\.$/m);
  expect(output).toMatch(/^warning +master key .*\n +If the server ran before, restore/m);
  expect(output).toMatch(/^skipped +agents +Set GATEHOUSE_API_KEY/m);
});

test("a problem exits with 1, also as JSON", async () => {
  const { code, output } = await doctor("--json", "--host", "0.0.0.0");
  expect(code).toBe(1);
  expect(JSON.parse(output).findings).toContainEqual({
    check: "public url",
    status: "problem",
    message: "The server listens on 0.0.0.0, and GATEHOUSE_PUBLIC_URL is not set.",
    remedy: "Set GATEHOUSE_PUBLIC_URL to the address that browsers use, such as https://gatehouse.example.com.",
  });
});

test("invalid settings are findings, without their secrets", async () => {
  const { code, output } = await doctor("--master-key", "not-a-key");
  expect(code).toBe(1);
  expect(output).toMatch(/^PROBLEM +settings +--master-key must be/m);
  expect(output).not.toContain("not-a-key");
});

test("gateways with an agent of another version are named", async () => {
  const server = await sharedTestServer();
  const url = await server.listen();
  const tenant = await server.newTenant();
  const api = ["--url", url, "--api-key", tenant.key];
  expect((await doctor(...api)).output).toMatch(/^ok +agents +The tenant has no gateways/m);

  const { body } = await tenant.client.must.post("/tenants/gateways", { name: "North", wireguardPort: "51820" });
  const gateway = new SimulatedGateway({ url, gatewayId: body.id, token: body.token });
  onTestFinished(() => gateway.cut());
  await gateway.connect({ agentVersion: "0.0.9" });
  const isOnline = async () => (await tenant.client.get(`/tenants/gateways/${body.id}`)).body.status === "ONLINE";
  await until("the gateway has applied its configuration", isOnline);
  expect((await doctor(...api)).output).toMatch(
    /^warning +agents .*North \(0\.0\.9\)\.\n +On each of these gateways, run: /m,
  );
});

test("control characters of an agent's version do not reach the terminal", async () => {
  const server = await sharedTestServer();
  const url = await server.listen();
  const tenant = await server.newTenant();
  const { body } = await tenant.client.must.post("/tenants/gateways", { name: "North", wireguardPort: "51820" });
  const gateway = new SimulatedGateway({ url, gatewayId: body.id, token: body.token });
  onTestFinished(() => gateway.cut());
  await gateway.connect({ agentVersion: "1\u001b]0;x\u0007\u009b2J\nok  fine" });
  const isOnline = async () => (await tenant.client.get(`/tenants/gateways/${body.id}`)).body.status === "ONLINE";
  await until("the gateway has applied its configuration", isOnline);
  const api = ["--url", url, "--api-key", tenant.key];
  expect((await doctor(...api)).output).toContain("North (1\\u001b]0;x\\u0007\\u009b2J\\u000aok  fine)");
  const { output } = await doctor(...api, "--json");
  expect(output).not.toMatch(/[^\P{Cc}\n]/u);
  expect(JSON.stringify(JSON.parse(output))).toContain("\u009b2J\\nok");
});

test("a wrong key is a problem", async () => {
  const server = await sharedTestServer();
  const { code, output } = await doctor("--url", await server.listen(), "--api-key", "gatehouse_key_wrong");
  expect(code).toBe(1);
  expect(output).toMatch(/^PROBLEM +agents +The gateways of http:\S+ cannot be listed/m);
});
