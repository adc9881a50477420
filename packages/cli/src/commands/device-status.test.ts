/** `gatehouse device status` and `check` against the socket of an agent that the test plays. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runHere } from "../testing/run-here.ts";

let state: string;
let server: Server | undefined;
let asked: string[];

beforeEach(async () => {
  state = await mkdtemp(path.join(tmpdir(), "gatehouse-device-"));
  asked = [];
});
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  server = undefined;
  await rm(state, { recursive: true, force: true });
});

async function agent(status: number, body: object): Promise<void> {
  server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.writeHead(status).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server?.listen(path.join(state, "agent.sock"), resolve));
}

async function enrolled(): Promise<void> {
  const enrolment = { url: "https://gatehouse.example.com", device: "d-1", name: "Laptop", user: "ann@example.com" };
  await writeFile(path.join(state, "enrolment.json"), JSON.stringify({ ...enrolment, token: "t" }), { mode: 0o600 });
}

const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const status = {
  device: { id: "d-1", name: "Laptop" },
  user: "ann@example.com",
  controlPlane: { url: "https://gatehouse.example.com", connected: true },
  session: { state: "ends-soon", endsAt: ago(-7 * 60_000) },
  configuration: { issuedAt: "2026-03-04T10:00:00.000Z", expiresAt: "2026-03-05T10:00:00.000Z" },
  gateways: [
    { id: "g-1", path: "direct", address: "192.0.2.1:51820", lastHandshake: ago(12_000), roundTripTimeMs: 3.4 },
    { id: "g-2", path: "relay", address: "192.0.2.9:40001" },
  ],
  reachable: { addresses: ["10.80.0.0/24"], names: ["git.internal.example.com"], internet: false },
  lastError: { at: ago(180_000), text: "Failed to connect to the control plane: ECONNREFUSED." },
};

test("status shows the session, gateways, what is reachable, and the last error", async () => {
  await agent(200, status);
  const { code, output, errors } = await runHere(["device", "status", "--state-folder", state]);
  expect(code, errors).toBe(0);
  expect(output).toContain("User           ann@example.com\n");
  expect(output).toContain("Control plane  https://gatehouse.example.com (connected)\n");
  expect(output).toMatch(/Session {8}ends at \S+, in 7 minutes: sign in again\n/);
  expect(output).toMatch(/g-1 {6}direct 192\.0\.2\.1:51820 {2}1[2-9] s ago {8}3\.4 ms\n/);
  expect(output).toMatch(/g-2 {6}relay 192\.0\.2\.9:40001 {3}never {11}no answer\n/);
  expect(output).toContain("Reachable      git.internal.example.com, 10.80.0.0/24\n");
  expect(output).toContain("Last error     3 min ago: Failed to connect to the control plane: ECONNREFUSED.\n");
  const json = await runHere(["device", "status", "--json", "--state-folder", state]);
  expect(JSON.parse(json.output)).toEqual({ running: true, ...status });
});

test("status shows what is unserved because no gateway is in service", async () => {
  const unserved = { addresses: ["10.81.0.0/24"], names: ["wiki.internal.example.com"] };
  await agent(200, { ...status, unserved });
  const { output } = await runHere(["device", "status", "--state-folder", state]);
  expect(output).toContain("Unserved       wiki.internal.example.com, 10.81.0.0/24\n");
  expect(output).toContain("No gateway in service carries these addresses.");
});

test.each([
  [{ state: "ended", endsAt: "2026-03-04T10:00:00.000Z" }, "ended at 2026-03-04T10:00:00.000Z: sign in again"],
  [{ state: "unlimited" }, "does not end by itself"],
  [{ state: "unknown" }, "not known yet"],
])("status says of the session %o", async (session, text) => {
  await agent(200, { ...status, session, gateways: [], reachable: { addresses: [], names: [], internet: false } });
  const { output } = await runHere(["device", "status", "--state-folder", state]);
  expect(output).toContain(`Session        ${text}\n`);
  expect(output).toContain("No gateways.\n");
  expect(output).toContain("Reachable      nothing through gateways\n");
});

test("status says that no agent runs, even after one was killed", async () => {
  await enrolled();
  for (const isStale of [false, true]) {
    if (isStale) await writeFile(path.join(state, "agent.sock"), "");
    const { code, output, errors } = await runHere(["device", "status", "--state-folder", state]);
    expect(code).toBe(1);
    expect(output).toBe("");
    expect(errors).toContain("The agent of Laptop is not running, so this device reaches nothing.");
    expect(errors).toContain("Start the agent: sudo systemctl start gatehouse-device");
    const json = await runHere(["device", "status", "--json", "--state-folder", state]);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.errors)).toMatchObject({ running: false, user: "ann@example.com" });
  }
});

test("status and check say that the machine is not enrolled", async () => {
  for (const command of [["status"], ["check", "Git"]]) {
    const { code, errors } = await runHere(["device", ...command, "--state-folder", state]);
    expect(code).toBe(1);
    expect(errors).toContain("This machine is not enrolled");
  }
});

const steps = [
  { step: "sign-in", state: "ok", text: "This device belongs to ann@example.com." },
  { step: "decision", state: "broken", text: "Access to Git is not allowed.", remedy: "Ask your administrator." },
  { step: "route", state: "skipped", text: "Not checked." },
];

test("check names the broken step and what to do, and exits with 1", async () => {
  await agent(200, { to: "git & co", resource: "Git", broken: "decision", steps });
  const check = ["device", "check", "git & co", "--port", "22", "--state-folder", state];
  const { code, output } = await runHere(check);
  expect(code).toBe(1);
  expect(asked).toEqual(["/check?to=git+%26+co&port=22"]);
  expect(output).toContain(
    "BROKEN   decision   Access to Git is not allowed.\n                    Ask your administrator.\n",
  );
  expect(output).toContain("-        route      Not checked.\n");
  expect(output).toContain("git & co (Git): decision is broken.\n");
  const json = await runHere([...check, "--json"]);
  expect(json.code).toBe(1);
  expect(JSON.parse(json.output)).toMatchObject({ broken: "decision" });
});

test("check succeeds if no step is broken, and reports what the agent refuses", async () => {
  await agent(200, { to: "Git", resource: "Git", steps: steps.slice(0, 1) });
  const good = await runHere(["device", "check", "Git", "--state-folder", state]);
  expect(good.code, good.errors).toBe(0);
  expect(good.output).toContain("Git: no step is broken.\n");
  server?.close();
  await rm(path.join(state, "agent.sock"), { force: true });
  await agent(429, { title: "The agent is busy with other checks. Try again in a moment." });
  const busy = await runHere(["device", "check", "Git", "--state-folder", state]);
  expect(busy.code).toBe(1);
  expect(busy.errors).toContain("The agent is busy with other checks.");
  const invalid = await runHere(["device", "check", "Git", "--port", "0", "--state-folder", state]);
  expect(invalid.code).toBe(2);
  expect(invalid.errors).toContain("Use a number from 1 to 65535.");
});
