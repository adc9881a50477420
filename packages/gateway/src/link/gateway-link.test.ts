/** The link against a server that the test controls. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { formatLogLine } from "@gatehouse/agent-core/log";
import { StoppedClock } from "@gatehouse/agent-core/testing/stopped-clock";
import type { SignedConfiguration } from "@gatehouse/agent-protocol/gateway/configuration";
import { gatewayLinkSubprotocols, Heartbeat, type Hello } from "@gatehouse/agent-protocol/gateway/frames";
import { heartbeatTimeoutMs, longestRoundTripMs } from "@gatehouse/agent-protocol/link/frames";
import { Ajv } from "ajv";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { waitLimitMs } from "../../../../test/wait-limit.ts";
import { exampleConfiguration } from "../testing/example-configuration.ts";
import { GatewayLink, type GatewayLinkOptions } from "./gateway-link.ts";

const key = `${"A".repeat(43)}=`;

let clock: StoppedClock;
let hellos: object[];
let heartbeats: Heartbeat[];
let socket: WebSocket | undefined;
let log: string[];
/** How often the link passed on that the server admitted the agent, or refused its key. */
let accepted: number;
let refused: number;
let link: GatewayLink;
let newLink: (state: GatewayLinkOptions["state"]) => GatewayLink;
let close: () => void;
/** The configuration that the agent does not enforce completely. */
let held: SignedConfiguration | undefined;

beforeEach(async () => {
  clock = new StoppedClock();
  hellos = [];
  heartbeats = [];
  log = [];
  held = undefined;
  accepted = 0;
  refused = 0;
  const server = createServer();
  const sockets = new WebSocketServer({ server, handleProtocols: () => gatewayLinkSubprotocols[2] });
  sockets.on("connection", (opened) => {
    socket = opened;
    opened.on("message", (text) => {
      const frame = JSON.parse(String(text)) as Hello | Heartbeat; // the link under test alone connects
      if (frame.type === "hello") hellos.push(frame);
      else heartbeats.push(frame);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  newLink = (state) =>
    new GatewayLink({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // of a server that listens on TCP
      token: () => Promise.resolve("token"),
      agent: {
        get configuration() {
          return held;
        },
        enforces: undefined,
        applyConfiguration: () => Promise.reject(new Error("none was sent")),
        trustSigningKey: () => Promise.resolve(),
        report: () => Promise.resolve({ enforces: null, load: 0, peers: [], warnings: [] }),
      },
      state,
      keys: {
        publicKey: key,
        formerKeys: [],
        prove: () => {
          throw new Error("the server challenges nobody");
        },
        accepted: async () => {
          accepted += 1;
        },
        refused: () => {
          refused += 1;
        },
      },
      agentVersion: "1",
      clock,
      log: (message, fields) => void log.push(formatLogLine(message, fields)),
      random: () => 0,
    });
  link = newLink({});
  close = () => {
    for (const client of sockets.clients) client.terminate();
    server.close();
  };
});
afterEach(() => {
  link.stop();
  close();
});

async function receivedHellos(count: number): Promise<void> {
  await vi.waitUntil(
    () => {
      clock.pass(0);
      return hellos.length === count;
    },
    { timeout: waitLimitMs },
  );
}

const welcome = (now: number) =>
  socket?.send(JSON.stringify({ type: "welcome", signingKey: key, heartbeatIntervalMs: 10_000, now }));

test("reconnects to a server that accepts the link and stays silent", async () => {
  link.start();
  await receivedHellos(1);
  for (let passed = 0; passed <= heartbeatTimeoutMs; passed += 10_000) clock.pass(10_000);
  await receivedHellos(2);
  expect(log).toEqual([expect.stringContaining("control plane does not answer")]);
});

test("logs a clock that is far off", async () => {
  link.start();
  await receivedHellos(1);
  welcome(clock.now() + 3 * 3_600_000);
  await vi.waitUntil(() => log.length === 1, { timeout: waitLimitMs });
  expect(log[0]).toContain("minutesAhead=-180");
});

test("the keys learn that the server admitted the agent, or refused the key", async () => {
  link.start();
  await receivedHellos(1);
  socket?.send(JSON.stringify({ type: "goodbye", reason: "overloaded" }));
  await receivedHellos(2);
  expect(refused).toBe(0);
  socket?.send(JSON.stringify({ type: "goodbye", reason: "key_refused" }));
  await receivedHellos(3);
  expect(refused).toBe(1);
  expect(accepted).toBe(0);
  welcome(clock.now());
  await vi.waitUntil(() => accepted === 1, { timeout: waitLimitMs });
});

test("notices a silent server even after the clock was set back", async () => {
  link.start();
  await receivedHellos(1);
  clock.setMs = -3 * 3_600_000;
  for (let passed = 0; passed <= heartbeatTimeoutMs + 10_000; passed += 10_000) clock.pass(10_000);
  await receivedHellos(2);
});

describe("the round-trip time in heartbeats", () => {
  const isValid = new Ajv({ strict: false }).compile(Heartbeat.properties.roundTripTimeMs);
  const received = async (count: number) => {
    await vi.waitUntil(() => heartbeats.length === count, { timeout: waitLimitMs });
    return heartbeats.at(-1) ?? expect.fail("there is none");
  };
  const answer = ({ sequence }: Heartbeat) =>
    new Promise<void>((resolve) => {
      socket?.send(JSON.stringify({ type: "heartbeat-answer", sequence }));
      // The link answers a ping after it has handled the earlier frames.
      socket?.once("pong", () => resolve());
      socket?.ping();
    });
  const open = async (count: number) => {
    await receivedHellos(count);
    welcome(clock.now());
  };

  test.each([
    ["the clock was set back", -3 * 3_600_000, 40],
    ["the clock was set forward", 3 * 3_600_000, 40],
    ["the answer took very long", 0, 900_000],
  ])("matches the schema if %s", async (_, setMs, passedMs) => {
    link.start();
    await open(1);
    const first = await received(1);
    clock.setMs = setMs;
    clock.time += passedMs;
    await answer(first);
    clock.pass(10_000);
    const { roundTripTimeMs } = await received(2);
    expect(roundTripTimeMs).toBe(Math.min(passedMs, longestRoundTripMs));
    expect(isValid(roundTripTimeMs)).toBe(true);
  });

  test("is measured again on each connection", async () => {
    link.start();
    await open(1);
    await answer(await received(1));
    clock.pass(10_000);
    expect(await received(2)).toHaveProperty("roundTripTimeMs");
    link.reconnect();
    await open(2);
    expect(await received(3)).not.toHaveProperty("roundTripTimeMs");
  });
});

test("reconnects when the configuration expires during a link", async () => {
  link.start();
  await receivedHellos(1);
  welcome(clock.now());
  link.expired();
  await receivedHellos(2);
  expect(hellos).toMatchObject([{ enforces: null }, { enforces: null }]);
});

test("names the latest configuration after it has expired, so that the next one is later", async () => {
  const latest = { generation: 7, issuedAt: 1_000, hash: "a".repeat(64) };
  link = newLink({ trust: { signingKey: key, latest } });
  link.start();
  await receivedHellos(1);
  expect(hellos).toMatchObject([{ enforces: { ...latest, root: "0".repeat(64), expiresAt: 0 } }]);
});

test("a gateway that has lost its filters does not claim to drop everything", async () => {
  held = exampleConfiguration();
  link.start();
  await receivedHellos(1);
  welcome(clock.now());
  link.expired();
  await receivedHellos(2);
  const { generation, expiresAt } = held.envelope.header;
  expect(hellos[1]).toMatchObject({ enforces: { generation, expiresAt, root: "0".repeat(64) } });
});
