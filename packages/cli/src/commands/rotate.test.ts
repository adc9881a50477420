/** The drill for the master key of a data folder: rotate, restart, and wait until one key is left. */
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "@gatehouse/server/config";
import { startGatehouse } from "@gatehouse/server/main";
import { createLog } from "@gatehouse/server/platform/log";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runHere } from "../testing/run-here.ts";

const key = randomBytes(20).toString("hex");
let root: string;
let dataDir: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "gatehouse-test-"));
  await chmod(root, 0o711); // PostgreSQL's account passes through when the tests run as root
  dataDir = join(root, "data");
});
afterAll(() => rm(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));

const start = () =>
  startGatehouse(
    readConfig({ flags: { dataDir, port: "0", bootstrapApiKey: key }, environment: {} }),
    createLog("silent"),
  );
const rotate = (...args: string[]) => runHere(["rotate", ...args, "--data-dir", dataDir, "--log-level", "silent"]);
const masterKey = () => readFile(join(dataDir, "master-key"), "utf8");

test("a rotation of the master key completes after a restart, and one of the audit key at once", async () => {
  const first = await start();
  const headers = { apikey: key, "content-type": "application/json" };
  const body = JSON.stringify({ name: "Berlin", wireguardPort: "51820" });
  const made = await fetch(`${first.address}/tenants/gateways`, { method: "POST", headers, body });
  const gateway: unknown = await made.json();
  const invited = await fetch(`${first.address}/tenants/users`, {
    method: "POST",
    headers,
    body: JSON.stringify({ email: "ann@example.com" }),
  });
  const links = `${first.address}/tenants/users/${Object(await invited.json()).id}/enrolment-links`;
  const { code } = Object(await (await fetch(links, { method: "POST", headers, body: "{}" })).json());
  const signing = await runHere(["rotate", "signing-key", "--url", first.address, "--api-key", key, "--json"]);
  expect(signing, signing.errors).toMatchObject({ code: 0, output: expect.stringContaining("publicKey") });
  await first.close();

  const former = await masterKey();
  const prepared = await rotate("master-key");
  expect(prepared, prepared.errors).toMatchObject({ code: 0, output: expect.stringContaining("Restart Gatehouse") });
  expect(await masterKey()).not.toBe(former);
  expect(await readFile(join(dataDir, "master-key.second"), "utf8")).toBe(former);
  expect((await rotate("master-key")).errors).toContain("A rotation of the master key is in progress.");
  expect((await rotate("master-key", "--status")).output).toContain("in progress");

  const second = await start();
  await expect.poll(() => readdir(dataDir), { timeout: 60_000 }).not.toContain("master-key.second");
  const { id } = Object(gateway);
  const read = await fetch(`${second.address}/tenants/gateways/${id}`, { headers });
  expect(await read.json()).toMatchObject({ token: Object(gateway).token });
  // The code of an enrolment link was re-encrypted too.
  const entered = await fetch(`${second.address}/console/enrolment/options`, {
    method: "POST",
    headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
    body: JSON.stringify({ token: code }),
  });
  expect(await entered.json()).toMatchObject({ person: { email: "ann@example.com" } });
  const audit = await rotate("audit-key", "--json");
  expect(audit, audit.errors).toMatchObject({ code: 0, output: expect.stringContaining('"to"') });
  await second.close();
  expect((await rotate("master-key", "--status")).output).toContain("current master key");
  const verified = await runHere(["audit", "verify", "--live", "--data-dir", dataDir, "--log-level", "silent"]);
  expect(verified, verified.output).toMatchObject({ code: 0 });
});
