/** `gatehouse device` against a fake server that can be made to fail. */
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { DeviceFolder } from "@gatehouse/device/configuration/device-folder";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { waitLimitMs } from "../../../../test/wait-limit.ts";
import { CommandHere, runHere } from "../testing/run-here.ts";

const device = "01980000-0000-7000-8000-000000000001";
const user = "01980000-0000-7000-8000-000000000002";
const gateway = {
  gateway: "01980000-0000-7000-8000-000000000003",
  publicKey: `${"A".repeat(43)}=`,
  addresses: ["100.64.255.1", "fd64::ff:1"],
  endpoint: "192.0.2.1:51820",
  relays: [],
  allowedIps: ["10.80.0.0/24"],
  names: [],
};
const configuration = { device, ipv4: "100.64.0.1", ipv6: "fd64::1", gateways: [gateway] };

interface SentRequest {
  readonly call: string;
  readonly key: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

describe("gatehouse device", () => {
  let folder: string;
  let state: string;
  let url: string;
  let server: Server;
  let requests: SentRequest[];
  /** Prefixes of calls that fail. */
  let failing: string[];
  /** Answers wait for this. */
  let answered: Promise<void>;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "gatehouse-device-"));
    state = path.join(folder, "state");
    requests = [];
    failing = [];
    answered = Promise.resolve();
    server = createServer(async (request, response) => {
      const [status, answer] = await answerTo(request);
      response.writeHead(status, { "content-type": status < 400 ? "application/json" : "application/problem+json" });
      response.end(JSON.stringify(answer));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server has one
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true, force: true });
  });

  async function answerTo(request: IncomingMessage): Promise<[status: number, answer: unknown]> {
    let text = "";
    for await (const chunk of request) text += chunk;
    const call = `${request.method} ${decodeURIComponent(request.url ?? "")}`;
    const { apikey, "idempotency-key": idempotencyKey } = request.headers;
    requests.push({
      call,
      key: typeof apikey === "string" ? apikey : undefined,
      idempotencyKey: typeof idempotencyKey === "string" ? idempotencyKey : undefined,
      body: text === "" ? undefined : JSON.parse(text),
    });
    await answered;
    if (failing.some((prefix) => call.startsWith(prefix))) {
      const problem = { type: "about:blank", title: "Conflict", status: 409, detail: "Not today.", code: "conflict" };
      return [409, { ...problem, instance: "/", requestId: "r-1" }];
    }
    if (call.startsWith("GET /tenants/users?filter[email]=ann@example.com")) {
      return [200, pageOf([{ id: user, email: "ann@example.com" }])];
    }
    if (call.startsWith("GET /tenants/users")) return [200, pageOf([])];
    if (call === "POST /tenants/devices") return [201, { id: device, name: requests.at(-1)?.body?.name }];
    if (call === `POST /tenants/devices/${device}/rotate-token`) return [200, { token: "gatehouse_device_secret" }];
    if (call === `GET /tenants/devices/${device}/configuration`) return [200, configuration];
    return [404, {}];
  }

  const pageOf = (items: readonly object[]) => ({ data: items, hasNext: false });
  const withKey = () => ["--url", url, "--api-key", "gatehouse_key_test", "--state-folder", state];
  const enrol = (...args: string[]) => runHere(["device", "enrol", ...args, ...withKey()]);
  const ann = ["--user", "ann@example.com", "--hardware-id", "SERIAL-1", "--name", "Laptop"];

  test("enrol creates a key, registers it, fetches the token, and stores both for root only", async () => {
    const { code, output, errors } = await enrol(...ann);
    expect(code, errors).toBe(0);
    expect(output).toContain(`Enrolled as Laptop (${device}) of ann@example.com at ${url}.`);
    expect(output).toContain(`sudo gatehouse device run --state-folder ${state}`);
    const [, registered] = requests;
    expect(registered?.body).toMatchObject({ name: "Laptop", userId: user, hardwareId: "SERIAL-1" });
    expect(registered?.body?.publicKey).toBe(await new DeviceFolder(state).publicKey());
    expect(registered?.body).toHaveProperty("osVersion");
    expect((await stat(state)).mode & 0o777).toBe(0o700);
    for (const name of await readdir(state)) expect((await stat(path.join(state, name))).mode & 0o777).toBe(0o600);
    const kept = await readFile(path.join(state, "enrolment.json"), "utf8");
    expect(JSON.parse(kept)).toEqual({
      url,
      device,
      name: "Laptop",
      user: "ann@example.com",
      token: "gatehouse_device_secret",
    });
    // Neither the API key nor the private key is stored, sent or shown.
    expect(kept + output).not.toContain("gatehouse_key_test");
    const privateKey = await new DeviceFolder(state).privateKey();
    expect(JSON.stringify(requests) + output + kept).not.toContain(privateKey);
    expect(output).not.toContain("gatehouse_device_secret");
  });

  test.each([
    ["an API key", () => [...ann, ...withKey()]],
    ["an enrolment key", () => ["--key-file", path.join(folder, "key"), "--url", url, "--state-folder", state]],
    ["a sign-in", () => ["--url", url, "--state-folder", state]],
  ])("enrol with %s shows which server it waits for", async (_, args) => {
    await writeFile(path.join(folder, "key"), `gatehouse_enrolkey_${"0".repeat(49)}`, { mode: 0o600 });
    let answer = (): void => undefined;
    answered = new Promise((resolve) => {
      answer = resolve;
    });
    const command = new CommandHere(["device", "enrol", ...args()]);
    await vi.waitUntil(() => command.log !== "" && requests.length > 0, { timeout: waitLimitMs });
    // The server has not answered yet.
    expect(command.log).toBe(`Connecting to ${url} …\n`);
    answer();
    await command.exited();
  });

  test("enrol reports an existing enrolment without calling the API", async () => {
    await enrol(...ann);
    const before = requests.length;
    const { code, output } = await enrol("--user", "bob@example.com");
    expect(code).toBe(0);
    expect(output).toContain(`This machine is already enrolled as Laptop (${device}) of ann@example.com`);
    expect(output).toContain("To enrol again:");
    expect(requests).toHaveLength(before);
    const { output: json } = await enrol("--json");
    expect(JSON.parse(json)).toEqual({ url, device, name: "Laptop", user: "ann@example.com" });
  });

  test("enrol completes an enrolment that was interrupted before the token arrived", async () => {
    failing = [`POST /tenants/devices/${device}`];
    const first = await enrol(...ann);
    expect(first.code).toBe(1);
    expect(first.errors).toContain("Not today.");
    const running = await runHere(["device", "run", "--state-folder", state]);
    expect(running.errors).toContain("is incomplete");
    failing = [];
    const second = await runHere(["device", "enrol", "--api-key", "gatehouse_key_test", "--state-folder", state]);
    expect(second.code, second.errors).toBe(0);
    expect(requests.filter(({ call }) => call === "POST /tenants/devices")).toHaveLength(1);
  });

  test("enrol repeats a registration with the same key if its response was lost, and uses another key for another registration", async () => {
    failing = ["POST /tenants/devices"];
    await enrol(...ann);
    await enrol(...ann);
    await enrol(...ann.with(5, "Other"));
    const keys = requests.filter(({ call }) => call === "POST /tenants/devices").map((one) => one.idempotencyKey);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(2);
    expect(keys[0]).toBe(keys[1]);
  });

  test.each([
    [["--hardware-id", "SERIAL-1"], 2, "The user is missing."],
    [
      ["--user", "nobody@example.com", "--hardware-id", "SERIAL-1"],
      1,
      "No user has the email address nobody@example.com.",
    ],
  ])("enrol %j is rejected", async (args, code, message) => {
    const ran = await enrol(...args);
    expect(ran.code).toBe(code);
    expect(ran.errors).toContain(message);
    expect(requests.filter(({ call }) => call.startsWith("POST"))).toEqual([]);
  });

  test("config prints the current configuration of this device with its private key", async () => {
    await enrol(...ann);
    const { code, output, errors } = await runHere(["device", "config", "--api-key", "k", "--state-folder", state]);
    expect(code, errors).toBe(0);
    expect(output).toContain(`PrivateKey = ${await new DeviceFolder(state).privateKey()}`);
    expect(output).toContain("Endpoint = 192.0.2.1:51820");
  });

  test("config prints another device's configuration without a private key, and requires an API key", async () => {
    const { output } = await runHere(["device", "config", "--device", device, ...withKey()]);
    expect(output).toContain("# PrivateKey");
    expect(output).toContain("AllowedIPs = 100.64.255.1/32, fd64::ff:1/128, 10.80.0.0/24");
    const without = await runHere(["device", "config", "--device", device, "--url", url, "--state-folder", state]);
    expect(without.code).toBe(2);
    expect(without.errors).toContain("The key is missing.");
    expect((await runHere(["device", "config", ...withKey()])).errors).toContain("Set --device");
  });

  test("config without an API key prints the last configuration", async () => {
    await enrol(...ann);
    const offline = ["device", "config", "--state-folder", state];
    expect((await runHere(offline)).errors).toContain("not received a configuration yet");
    await keep();
    const { code, output } = await runHere(offline);
    expect(code).toBe(0);
    expect(output).toContain("as of 2026-03-04T10:00:00Z.\n# Valid until 2026-03-05T10:00:00Z.\n");
  });

  async function keep(): Promise<void> {
    const issuedAt = Date.UTC(2026, 2, 4, 10);
    const header = { format: 1, tenant: user, device, generation: 1, issuedAt, expiresAt: issuedAt + 86_400_000 };
    const signature = `${"A".repeat(86)}==`;
    const kept = { header: { ...header, content: "0".repeat(64) }, signature, content: configuration };
    await writeFile(path.join(state, "configuration.json"), JSON.stringify(kept), { mode: 0o600 });
  }

  test("run --dry-run prints the commands", async () => {
    await enrol(...ann);
    const dry = ["device", "run", "--dry-run", "--interface", "gd0", "--state-folder", state];
    expect((await runHere(dry)).output).toContain(`would request one from ${url} for the device ${device}`);
    await keep();
    const { output } = await runHere(dry);
    expect(output).toContain("ip link add dev gd0 type wireguard\n");
    expect(output).toContain(
      "wg addconf gd0 /dev/stdin\n[Peer]\nEndpoint = 192.0.2.1:51820\nPersistentKeepalive = 25\n",
    );
    expect(output).toContain(`PublicKey = ${gateway.publicKey}\n`);
    expect(output).toContain("route replace 10.80.0.0/24 dev gd0 proto 71 table 26440\n");
    expect(output).toContain("rule add not fwmark 0x6748 lookup 26440 priority 5200\n");
  });

  test.each([
    [["--interface", "a; reboot"], 2, "Use a letter"],
    [["--dns", "everywhere"], 2, "is not a valid --dns"],
  ])("run %j is rejected", async (args, code, message) => {
    await enrol(...ann);
    const ran = await runHere(["device", "run", ...args, "--state-folder", state]);
    expect(ran.code).toBe(code);
    expect(ran.errors).toContain(message);
  });

  test.each(["{", "[]"])("an invalid state folder is reported with a remedy: %s", async (text) => {
    await enrol(...ann);
    await writeFile(path.join(state, "enrolment.json"), text);
    for (const command of [["run"], ["config", "--api-key", "k"], ["enrol", "--api-key", "k"]]) {
      const { code, errors } = await runHere(["device", ...command, "--state-folder", state]);
      expect(code).toBe(1);
      expect(errors).toContain(`Cannot read ${state}: ${path.join(state, "enrolment.json")} `);
      expect(errors).toContain(`delete the device in Gatehouse and empty ${state}`);
      expect(errors).not.toContain("..");
      expect(errors).not.toContain("sudo");
    }
  });

  test("run explains how to enrol a machine that is not enrolled", async () => {
    const { code, errors } = await runHere(["device", "run", "--state-folder", state]);
    expect(code).toBe(1);
    expect(errors).toContain("gatehouse device enrol --user");
  });
});
