import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Config, ConfigError, readConfig } from "./config.ts";
import { type Gatehouse, startGatehouse } from "./main.ts";
import type { Connection } from "./platform/db/database.ts";
import { migrateWhenReachable } from "./platform/db/migrate-when-reachable.ts";
import { createLog } from "./platform/log.ts";
import { generateMasterKey } from "./platform/secrets/master-key.ts";
import { StartError } from "./platform/start-error.ts";
import { createEmptyDatabase, type TestDatabase } from "./testing/test-database.ts";

const log = createLog("silent");
const masterKey = generateMasterKey();
let database: TestDatabase;
let running: Gatehouse | undefined;

beforeEach(async () => {
  database = await createEmptyDatabase();
});

afterEach(async () => {
  await running?.close();
  running = undefined;
  await database.drop();
});

function urlOf({ connectionString, host, port, user, database: name }: Connection): string {
  if (connectionString !== undefined) return connectionString;
  return `postgres://${user}@/${name}?host=${encodeURIComponent(host ?? "")}&port=${port}`;
}

function configWith(flags: Readonly<Record<string, string>> = {}): Config {
  const databaseUrl = urlOf(database.connection);
  return readConfig({ flags: { port: "0", databaseUrl, masterKey, databasePoolSize: "4", ...flags }, environment: {} });
}

async function get(path: string, key: string): Promise<unknown> {
  const response = await fetch(`${running?.address}${path}`, { headers: { apikey: key } });
  expect(response.status).toBe(200);
  return response.json();
}

test("an external database without a master key is refused by name", async () => {
  const config = readConfig({ flags: { databaseUrl: urlOf(database.connection) }, environment: {} });
  await expect(startGatehouse(config, log)).rejects.toThrow(ConfigError);
  await expect(startGatehouse(config, log)).rejects.toThrow(/^GATEHOUSE_MASTER_KEY is needed/);
});

test("keys are made at the first start, and told once", async () => {
  const told: unknown[] = [];
  running = await startGatehouse(configWith(), log, { keysMade: (installation) => told.push(installation) });
  const { operatorKey = "", firstApiKey = "" } = running.installation;
  expect(told).toEqual([running.installation]);
  await get("/tenants/resources", firstApiKey);
  await running.close();

  running = await startGatehouse(configWith(), log, { keysMade: (installation) => told.push(installation) });
  expect(told).toHaveLength(1);
  await get("/operator/tenants", operatorKey);
  await get("/tenants/resources", firstApiKey);
});

test("configured keys are the keys, and no others are made", async () => {
  const operatorKey = "configured-operator-key-0123456789";
  const bootstrapApiKey = "configured-first-api-key-0123456789";
  running = await startGatehouse(configWith({ operatorKey, bootstrapApiKey }), log);
  expect(running.installation.operatorKey).toBeUndefined();
  await get("/operator/tenants", operatorKey);
  await get("/tenants/resources", bootstrapApiKey);
});

test("another master key than the data's is refused", async () => {
  const first = await startGatehouse(configWith(), log);
  await first.close();
  await expect(startGatehouse(configWith({ masterKey: generateMasterKey() }), log)).rejects.toThrow(
    expect.objectContaining({
      message: "The master key is not the one that the secrets in this database are encrypted with.",
      remedy: expect.stringContaining("GATEHOUSE_MASTER_KEY"),
    }),
  );
});

test("a port in use is named, and the keys that were made are told all the same", async () => {
  const other = createServer();
  const port = await new Promise<number>((resolve) => {
    other.listen(0, "127.0.0.1", () => {
      const address = other.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
  const told: unknown[] = [];
  const start = startGatehouse(configWith({ port: String(port) }), log, { keysMade: (made) => told.push(made) });
  await expect(start).rejects.toThrow(
    expect.objectContaining({
      message: `Cannot listen on port ${port} on 127.0.0.1: another program does.`,
      remedy: "Stop it, or choose another: --port 8080, or GATEHOUSE_PORT.",
    }),
  );
  expect(told).toHaveLength(1);
  other.close();
});

test("metrics are served on a port of their own, and nowhere else", async () => {
  running = await startGatehouse(configWith({ metricsPort: "0" }), log);
  const address = running.metricsAddress ?? "";
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
  await get("/tenants/resources", running.installation.firstApiKey ?? "");
  const response = await fetch(address);
  expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(await response.text()).toContain('route="/tenants/resources",status="200"');
  expect((await fetch(address.replace("metrics", "tenants/resources"))).status).toBe(404);
  expect((await fetch(address, { method: "POST" })).status).toBe(404);
  expect((await fetch(`${running.address}/metrics`)).status).toBe(404);
  await running.close();
  await expect(fetch(address)).rejects.toThrow();
});

test("a port for metrics that is in use is named, and nothing is left running", async () => {
  running = await startGatehouse(configWith({ metricsPort: "0" }), log);
  const metricsPort = new URL(running.metricsAddress ?? "").port;
  await expect(startGatehouse(configWith({ metricsPort }), log)).rejects.toThrow(
    expect.objectContaining({
      message: `Cannot listen on port ${metricsPort} on 127.0.0.1: another program does.`,
      remedy: "Stop it, or choose another: --metrics-port 9464, or GATEHOUSE_METRICS_PORT.",
    }),
  );
});

test("without a port there are no metrics", async () => {
  running = await startGatehouse(configWith(), log);
  expect(running.metricsAddress).toBeUndefined();
});

test("a start that is not wanted any more leaves nothing running", async () => {
  const wanted = new AbortController();
  const start = startGatehouse(configWith(), log, {
    signal: wanted.signal,
    keysMade: () => wanted.abort(new Error("not wanted")),
  });
  await expect(start).rejects.toThrow("not wanted");
});

test("a database that cannot be reached is named without its password", async () => {
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-test-"));
  const url = `postgres://user:hidden-word@/gatehouse?host=${encodeURIComponent(folder)}`;
  const error = await migrateWhenReachable(url, log, new AbortController().signal, 0).catch(
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StartError);
  expect(String(error)).toContain(`The database at ${folder}/gatehouse cannot be reached`);
  expect(String(error)).not.toContain("hidden-word");
  await rm(folder, { recursive: true });
});
