/** `gatehouse device enrol` and `gatehouse device sign-in` against a server, with the test as the browser. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DeviceFolder } from "@gatehouse/device/configuration/device-folder";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { CommandHere, runHere } from "../testing/run-here.ts";
import { type ServedInstallation, serveHere } from "../testing/served-here.ts";
import { shown } from "../testing/shown.ts";
import { keyFingerprint } from "./authorization-client.ts";

let root: string;
let server: ServedInstallation;
let url: string;
/** Headers of a page in which the owner is signed in. */
let page: Record<string, string>;
let apiKey: string;
let state: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "gatehouse-test-"));
  server = await serveHere();
  ({ url, apiKey } = server);
  page = await server.signInOwner();
});
afterAll(async () => {
  await server?.close();
  await rm(root, { recursive: true, force: true });
});
beforeEach(async () => {
  state = await mkdtemp(join(root, "device-"));
});

const post = (path: string, body: object) =>
  fetch(`${url}${path}`, { method: "POST", headers: page, body: JSON.stringify(body) });
const api = async (method: string, path: string, body?: object) => {
  const headers = { apikey: apiKey, "content-type": "application/json" };
  const response = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await response.text();
  expect(response.ok, text).toBe(true);
  return text === "" ? undefined : JSON.parse(text);
};

const codeShown = (command: CommandHere) => shown(command, /The code is ([A-Z]{4}-[A-Z]{4})\./);

/** Enrols the device in a browser. The grant is polled every five seconds. */
async function enrolAsPerson(): Promise<void> {
  const command = new CommandHere([
    ...["device", "enrol", "--url", url, "--name", "Laptop", "--hardware-id", state, "--state-folder", state],
  ]);
  const answer = await post("/console/device-authorization", { code: await codeShown(command), approve: true });
  expect(answer.status, await answer.text()).toBe(200);
  expect(await command.exited(), command.log).toBe(0);
}

async function enrol(): Promise<void> {
  const owner = ["--user", "owner@example.com", "--api-key", apiKey];
  const { code, errors } = await runHere([
    ...["device", "enrol", "--url", url, "--name", "Laptop", "--hardware-id", state, "--state-folder", state],
    ...owner,
  ]);
  expect(code, errors).toBe(0);
}

const signIn = () => new CommandHere(["device", "sign-in", "--state-folder", state]);
const sessionOf = async () => (await api("GET", `/tenants/devices/${(await enrolment()).device}`)).session;
const enrolment = async () => {
  const found = await new DeviceFolder(state).enrolment();
  if (found === undefined) throw new Error("not enrolled");
  return found;
};

test("sign-in renews the session, and keeps the token and the key of the device", async () => {
  await api("PUT", "/tenants/settings", { deviceSessionLifetime: 3_600 });
  await enrolAsPerson();
  const [before, key, first] = [await enrolment(), await new DeviceFolder(state).publicKey(), await sessionOf()];
  const command = signIn();
  const code = await codeShown(command);
  expect(command.log).toContain(`Key fingerprint  ${keyFingerprint(key)}`);
  expect(command.log).toContain("Device           Laptop");
  const described = await post("/console/device-authorization/description", { code });
  expect(await described.text()).toContain("Laptop");
  expect((await post("/console/device-authorization", { code, approve: true })).status).toBe(200);
  expect(await command.exited(), command.log).toBe(0);
  const second = await sessionOf();
  expect(Date.parse(second.signedInAt)).toBeGreaterThan(Date.parse(first.signedInAt));
  expect(command.output).toContain("Signed in on Laptop. The session has begun. It ends at ");
  expect(Date.parse(/ends at (\S+)\.$/m.exec(command.output)?.[1] ?? "")).toBe(Date.parse(second.endsAt));
  expect(await enrolment()).toEqual(before);
  expect(await new DeviceFolder(state).publicKey()).toBe(key);
  expect(command.output + command.log).not.toContain("gatehouse_");
});

test("sign-in says that the session does not end if the tenant sets no lifetime", async () => {
  await api("PUT", "/tenants/settings", { deviceSessionLifetime: null });
  await enrol();
  const command = signIn();
  await post("/console/device-authorization", { code: await codeShown(command), approve: true });
  expect(await command.exited(), command.log).toBe(0);
  expect(command.output).toContain("It does not end by itself.");
});

test("a refused sign-in exits with 1 and changes nothing", async () => {
  await enrol();
  const before = await sessionOf();
  const command = signIn();
  await post("/console/device-authorization", { code: await codeShown(command), approve: false });
  expect(await command.exited()).toBe(1);
  expect(command.log).toContain("The sign-in was refused in the browser.");
  expect(await sessionOf()).toEqual(before);
});

test("sign-in on a device that was deleted fails, and does not speak of another command", async () => {
  await enrol();
  await api("PATCH", `/tenants/devices/${(await enrolment()).device}/deactivate`);
  await api("DELETE", `/tenants/devices/${(await enrolment()).device}`);
  const { code, errors } = await runHere(["device", "sign-in", "--state-folder", state]);
  expect(code).toBe(1);
  expect(errors).toContain("The sign-in failed: ");
  expect(errors).not.toContain("gatehouse login");
});

test("sign-in on a machine that is not enrolled says how to enrol it", async () => {
  const { code, errors } = await runHere(["device", "sign-in", "--state-folder", state]);
  expect(code).toBe(1);
  expect(errors).toContain("This machine is not enrolled");
  expect(errors).toContain("gatehouse device enrol");
});

test.each([
  ["enrol", ["--name", "Laptop", "--hardware-id", "SERIAL-1"]],
  ["enrol", ["--name", "Laptop", "--hardware-id", "SERIAL-1", "--user", "ann@example.com", "--api-key", "key"]],
])("%s %j says what it waits for while a server does not answer", async (command, args) => {
  const silent: Server = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`; // a TCP server has one
  const waiting = new CommandHere(["device", command, ...args, "--url", address, "--state-folder", state]);
  try {
    await shown(waiting, /(Connecting to http:\/\/127\.0\.0\.1:\d+ …)/);
  } finally {
    silent.close();
    silent.closeAllConnections();
    await waiting.exited();
  }
});
