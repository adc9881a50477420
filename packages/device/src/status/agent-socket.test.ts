import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { waitLimitMs } from "../../../../test/wait-limit.ts";
import type { AccessCheck } from "../check/check-result.ts";
import { type AgentQuestions, serveAgentSocket } from "./agent-socket.ts";
import { askCheck, askStatus } from "./ask-agent.ts";
import type { DeviceStatus } from "./device-status.ts";

const status: DeviceStatus = {
  device: { id: "d-1", name: "Laptop" },
  user: "ann@example.com",
  controlPlane: { url: "https://gatehouse.example.com", connected: false },
  session: { state: "unlimited" },
  gateways: [],
  reachable: { addresses: [], names: [], internet: false },
};
let folder: string;
let log: string[];
let stop: (() => void) | undefined;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gatehouse-socket-"));
  log = [];
});
afterEach(async () => {
  stop?.();
  await rm(folder, { recursive: true, force: true });
});

const checked = (to: string, port?: number): AccessCheck => ({ to: `${to} ${port ?? "any"}`, steps: [] });
async function serve(questions: Partial<AgentQuestions> = {}): Promise<void> {
  const all = {
    status: async () => status,
    check: async (to: string, port?: number) => checked(to, port),
    ...questions,
  };
  stop = await serveAgentSocket(folder, all, (message) => void log.push(message));
}

function raw(method: string, at: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath: path.join(folder, "agent.sock"), method, path: at }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on("error", reject).end();
  });
}

test("answers status and checks, at a socket that only its owner can open", async () => {
  await serve();
  expect((await stat(path.join(folder, "agent.sock"))).mode & 0o777).toBe(0o600);
  expect(await askStatus(folder)).toEqual({ kind: "answer", answer: status });
  expect(await askCheck(folder, "Git & co", 22)).toEqual({ kind: "answer", answer: checked("Git & co", 22) });
  expect(await askCheck(folder, "Git", undefined)).toEqual({ kind: "answer", answer: checked("Git") });
});

test("refuses a malformed path, and continues", async () => {
  await serve();
  expect(await raw("GET", "//")).toBe(400);
  expect(await raw("GET", "/status")).toBe(200);
});

test("replaces the socket of an agent that was killed", async () => {
  await writeFile(path.join(folder, "agent.sock"), "");
  expect(await askStatus(folder)).toEqual({ kind: "not-running" });
  await serve();
  expect(await askStatus(folder)).toMatchObject({ kind: "answer" });
});

test("says that no agent runs before it starts and after it stopped", async () => {
  expect(await askStatus(folder)).toEqual({ kind: "not-running" });
  await serve();
  stop?.();
  await vi.waitFor(async () => expect(await askStatus(folder)).toEqual({ kind: "not-running" }), {
    timeout: waitLimitMs,
  });
});

test("accepts reads of known questions with valid values only", async () => {
  await serve();
  expect(await raw("POST", "/status")).toBe(405);
  expect(await raw("GET", "/other")).toBe(404);
  expect(await raw("GET", "/check")).toBe(400);
  expect(await raw("GET", `/check?to=${"a".repeat(256)}`)).toBe(400);
  for (const port of ["0", "65536", "1.5", "x"]) expect(await raw("GET", `/check?to=a&port=${port}`)).toBe(400);
  expect(await raw("GET", `/${"a".repeat(8_000)}`)).toBe(431);
});

test("performs two checks at a time, and reports a question that fails", async () => {
  const open: (() => void)[] = [];
  await serve({
    status: () => Promise.reject(new Error("no")),
    check: (to) => new Promise((resolve) => open.push(() => resolve(checked(to)))),
  });
  const waiting = [askCheck(folder, "a", undefined), askCheck(folder, "b", undefined)];
  await vi.waitUntil(() => open.length === 2, { timeout: waitLimitMs });
  expect(await askCheck(folder, "c", undefined)).toMatchObject({ kind: "refused" });
  for (const each of open) each();
  expect(await Promise.all(waiting)).toMatchObject([{ kind: "answer" }, { kind: "answer" }]);
  expect(await askStatus(folder)).toEqual({ kind: "refused", title: "The agent could not answer." });
  expect(log).toEqual(["failed to answer a status question"]);
});

test("the agent goes on if the path of the socket is too long", async () => {
  folder = path.join(folder, "a".repeat(100));
  await serve();
  expect(log).toEqual(["failed to create the status socket; continuing without it"]);
  expect(await askStatus(folder)).toEqual({ kind: "not-running" });
});
