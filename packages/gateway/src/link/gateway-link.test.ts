/** The link against a server that a test speaks for. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { StoppedClock } from "@gatehouse/agent-core/testing/stopped-clock";
import { gatewayLinkSubprotocol } from "@gatehouse/agent-protocol/gateway/frames";
import { heartbeatTimeoutMs } from "@gatehouse/agent-protocol/link/frames";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { GatewayLink } from "./gateway-link.ts";

const key = `${"A".repeat(43)}=`;

let clock: StoppedClock;
let hellos: object[];
let socket: WebSocket | undefined;
let log: string[];
let link: GatewayLink;
let close: () => void;

beforeEach(async () => {
  clock = new StoppedClock();
  hellos = [];
  log = [];
  const server = createServer();
  const sockets = new WebSocketServer({ server, handleProtocols: () => gatewayLinkSubprotocol });
  sockets.on("connection", (opened) => {
    socket = opened;
    opened.on("message", (text) => {
      const frame = JSON.parse(String(text)) as { type: string }; // the link under test alone connects
      if (frame.type === "hello") hellos.push(frame);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  link = new GatewayLink({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // of a server that listens on TCP
    token: () => Promise.resolve("token"),
    agent: {
      applyConfiguration: () => Promise.reject(new Error("none was sent")),
      trustSigningKey: () => Promise.resolve(),
      report: () => Promise.resolve({ enforces: null, load: 0, peers: [], warnings: [] }),
    },
    kept: {},
    publicKey: key,
    agentVersion: "1",
    clock,
    log: (message) => void log.push(message),
    random: () => 0,
  });
  close = () => {
    for (const client of sockets.clients) client.terminate();
    server.close();
  };
});
afterEach(() => {
  link.stop();
  close();
});

async function greeted(times: number): Promise<void> {
  await vi.waitUntil(
    () => {
      clock.pass(0);
      return hellos.length === times;
    },
    { timeout: 10_000 },
  );
}

const welcome = (now: number) =>
  socket?.send(JSON.stringify({ type: "welcome", signingKey: key, heartbeatIntervalMs: 10_000, now }));

test("a server that takes the link and says nothing is left, and tried again", async () => {
  link.start();
  await greeted(1);
  for (let passed = 0; passed <= heartbeatTimeoutMs; passed += 10_000) clock.pass(10_000);
  await greeted(2);
  expect(log).toEqual([expect.stringContaining("nothing was heard")]);
});

test("a clock that is far off is said", async () => {
  link.start();
  await greeted(1);
  welcome(clock.now() + 3 * 3_600_000);
  await vi.waitUntil(() => log.length === 1, { timeout: 10_000 });
  expect(log[0]).toContain("180 minutes behind");
});

test("a server that is gone is noticed also after the clock was set back", async () => {
  link.start();
  await greeted(1);
  clock.setMs = -3 * 3_600_000;
  for (let passed = 0; passed <= heartbeatTimeoutMs + 10_000; passed += 10_000) clock.pass(10_000);
  await greeted(2);
});

test("what has expired while there is a link is told by a new one", async () => {
  link.start();
  await greeted(1);
  welcome(clock.now());
  link.expired();
  await greeted(2);
  expect(hellos[1]).toMatchObject({ enforces: null });
});
