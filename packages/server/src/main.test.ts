import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
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
import { firstCertificate } from "./testing/certificates.ts";
import { createDatabase, createEmptyDatabase, type TestDatabase } from "./testing/test-database.ts";

const log = createLog("silent");
const masterKey = generateMasterKey();
let database: TestDatabase;
let running: Gatehouse | undefined;

beforeEach(async () => {
  database = await createDatabase();
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

test("an external database requires a configured master key", async () => {
  const config = readConfig({ flags: { databaseUrl: urlOf(database.connection) }, environment: {} });
  await expect(startGatehouse(config, log)).rejects.toThrow(ConfigError);
  await expect(startGatehouse(config, log)).rejects.toThrow(/^GATEHOUSE_MASTER_KEY is required/);
});

test("an empty database gets its schema, and keys are created at the first start and reported once", async () => {
  await database.drop();
  database = await createEmptyDatabase();
  const reported: unknown[] = [];
  running = await startGatehouse(configWith(), log, { onKeysCreated: (installation) => reported.push(installation) });
  const { operatorKey = "", firstApiKey = "" } = running.installation;
  expect(reported).toEqual([running.installation]);
  await get("/tenants/resources", firstApiKey);
  await running.close();

  running = await startGatehouse(configWith(), log, { onKeysCreated: (installation) => reported.push(installation) });
  expect(reported).toHaveLength(1);
  await get("/operator/tenants", operatorKey);
  await get("/tenants/resources", firstApiKey);
});

test("the public address is localhost with the port that is open, or the configured one", async () => {
  running = await startGatehouse(configWith(), log);
  expect(running.publicUrl).toBe(running.address.replace("127.0.0.1", "localhost"));
  await running.close();
  running = await startGatehouse(configWith({ publicUrl: "https://gatehouse.example.com/" }), log);
  expect(running.publicUrl).toBe("https://gatehouse.example.com");
});

test("with a certificate, the addresses are https, and a bad file is named", async () => {
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-test-"));
  const flags = { tlsCert: join(folder, "tls.crt"), tlsKey: join(folder, "tls.key") };
  await expect(startGatehouse(configWith(flags), log)).rejects.toThrow(/tls\.crt cannot be read/);
  await writeFile(flags.tlsCert, firstCertificate.cert);
  await writeFile(flags.tlsKey, firstCertificate.key);
  running = await startGatehouse(configWith(flags), log);
  expect(running.address).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  expect(running.publicUrl).toBe(running.address.replace("127.0.0.1", "localhost"));
  await rm(folder, { recursive: true });
});

test("configured keys are used, and no others are created", async () => {
  const operatorKey = "configured-operator-key-0123456789";
  const bootstrapApiKey = "configured-first-api-key-0123456789";
  running = await startGatehouse(configWith({ operatorKey, bootstrapApiKey }), log);
  expect(running.installation.operatorKey).toBeUndefined();
  await get("/operator/tenants", operatorKey);
  await get("/tenants/resources", bootstrapApiKey);
});

test("a master key other than the data's is rejected", async () => {
  const first = await startGatehouse(configWith(), log);
  await first.close();
  await expect(startGatehouse(configWith({ masterKey: generateMasterKey() }), log)).rejects.toThrow(
    expect.objectContaining({
      message: "The master key is not the one that the secrets in this database are encrypted with.",
      remedy: expect.stringContaining("GATEHOUSE_MASTER_KEY"),
    }),
  );
});

test("a port in use is named, and no keys are created", async () => {
  const other = createServer();
  const port = await new Promise<number>((resolve) => {
    other.listen(0, "127.0.0.1", () => {
      const address = other.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
  const reported: unknown[] = [];
  const start = startGatehouse(configWith({ port: String(port) }), log, {
    onKeysCreated: (created) => reported.push(created),
  });
  await expect(start).rejects.toThrow(
    expect.objectContaining({
      message: `Cannot listen on port ${port} on 127.0.0.1: the port is in use.`,
      remedy: "Stop the program that uses the port, or choose another port with --port 8080 or GATEHOUSE_PORT.",
    }),
  );
  expect(reported).toEqual([]);
  other.close();
  await once(other, "close");
  // Two settings with the same port.
  const both = { port: String(port), metricsPort: String(port) };
  const again = startGatehouse(configWith(both), log, { onKeysCreated: (created) => reported.push(created) });
  await expect(again).rejects.toThrow(`Cannot listen on port ${port} on 127.0.0.1: the port is in use.`);
  expect(reported).toEqual([]);
});

test("metrics are served only on their own port", async () => {
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

test("a metrics port in use is named, and nothing keeps running", async () => {
  running = await startGatehouse(configWith({ metricsPort: "0" }), log);
  const metricsPort = new URL(running.metricsAddress ?? "").port;
  await expect(startGatehouse(configWith({ metricsPort }), log)).rejects.toThrow(
    expect.objectContaining({
      message: `Cannot listen on port ${metricsPort} on 127.0.0.1: the port is in use.`,
      remedy:
        "Stop the program that uses the port, or choose another port with --metrics-port 9464 or GATEHOUSE_METRICS_PORT.",
    }),
  );
});

test("without a port, metrics are off", async () => {
  running = await startGatehouse(configWith(), log);
  expect(running.metricsAddress).toBeUndefined();
});

test("an aborted start leaves nothing running", async () => {
  const wanted = new AbortController();
  const start = startGatehouse(configWith(), log, {
    signal: wanted.signal,
    onKeysCreated: () => wanted.abort(new Error("aborted")),
  });
  await expect(start).rejects.toThrow("aborted");
});

test("an unreachable database is named without its password", async () => {
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
