/** Enrolment keys from creation to use, against a real server. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { runHere } from "../testing/run-here.ts";
import { type ServedInstallation, serveHere } from "../testing/served-here.ts";

let root: string;
let server: ServedInstallation;
let url: string;
let apiKey: string;

beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), "gatehouse-test-"));
  server = await serveHere();
  ({ url, apiKey } = server);
});
afterAll(async () => {
  await server?.close();
  await rm(root, { recursive: true, force: true });
});
afterEach(() => vi.restoreAllMocks());

const withKey = () => ["--url", url, "--api-key", apiKey];

async function created(...more: string[]): Promise<{ readonly id: string; readonly key: string }> {
  const listed = await fetch(`${url}/tenants/users`, { headers: { apikey: apiKey } });
  const [{ email }] = ((await listed.json()) as { data: [{ email: string }] }).data;
  const args = ["enrolment-key", "create", "Servers", "--user", email, "--tag", "build", "--json", ...more];
  const { code, output, errors } = await runHere([...args, ...withKey()]);
  expect(code, errors).toBe(0);
  return JSON.parse(output);
}

async function enrol(file: string, ...more: string[]) {
  const state = await mkdtemp(path.join(root, "device-"));
  const args = [
    "device",
    "enrol",
    "--key-file",
    file,
    "--url",
    url,
    "--state-folder",
    state,
    "--hardware-id",
    "SERIAL",
  ];
  return runHere([...args, ...more]);
}

test("a server is enrolled with a key in a file, and with one on standard input", async () => {
  const { id, key } = await created("--max-uses", "2");
  const file = path.join(root, "key");
  await writeFile(file, `${key}\n`);
  const first = await enrol(file, "--name", "proxy-1");
  expect(first.code, first.errors).toBe(0);
  expect(first.output).toContain("Enrolled as proxy-1 (");
  // The command only reads the stream.
  vi.spyOn(process, "stdin", "get").mockImplementation(() => Readable.from([Buffer.from(key)]) as never);
  const second = await enrol("-", "--name", "proxy-2");
  expect(second.code, second.errors).toBe(0);
  expect(first.output + first.errors + second.output + second.errors).not.toContain(key);

  const { output } = await runHere(["enrolment-key", "list", ...withKey()]);
  expect(output).toContain(id);
  expect(output).toMatch(/used-up\s+2\/2/);
  const third = await enrol(file);
  expect(third.code).toBe(1);
  expect(third.errors).toContain("The enrolment failed: The enrolment key is unknown, expired, revoked or used up");
  expect(third.errors).not.toContain(key);
});

test("a revoked key enrols nothing", async () => {
  const { id, key } = await created();
  const { output } = await runHere(["enrolment-key", "revoke", id, ...withKey()]);
  expect(output).toContain("Revoked the enrolment key Servers.");
  const file = path.join(root, "revoked");
  await writeFile(file, key);
  expect((await enrol(file)).code).toBe(1);
});

test("another secret is never sent", async () => {
  const file = path.join(root, "api-key");
  await writeFile(file, apiKey);
  const { code, errors } = await enrol(file);
  expect(code).toBe(1);
  expect(errors).toContain("does not contain an enrolment key");
  expect(errors).not.toContain(apiKey);
  expect((await enrol(path.join(root, "missing"))).errors).toContain("Cannot read the enrolment key");
});
