/** The link of an agent whose route to devices another gateway agent takes, against a server that the test controls. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { formatLogLine } from "@gatehouse/agent-core/log";
import type { SignedConfiguration } from "@gatehouse/agent-protocol/gateway/configuration";
import {
  type Applied,
  type Failed,
  gatewayLinkSubprotocols,
  type Heartbeat,
  type Hello,
} from "@gatehouse/agent-protocol/gateway/frames";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { waitLimitMs } from "../../../../test/wait-limit.ts";
import type { Agent } from "../agent.ts";
import { type AgentWorld, content, device, isClosed, newAgentWorld, passing } from "../testing/agent-world.ts";
import type { RecordingKernel } from "../testing/recording-kernel.ts";
import { GatewayLink } from "./gateway-link.ts";
import { reconnectOnChange } from "./reconnect-on-change.ts";

const key = `${"A".repeat(43)}=`;

let world: AgentWorld;
let agent: Agent;
let kernel: RecordingKernel;
let link: GatewayLink;
/** The frames of the agent without heartbeats, in order. */
let frames: (Hello | Applied | Failed)[];
/** The configuration that the server sends, as a whole, to an agent that does not enforce it. */
let current: SignedConfiguration;
/** Whether the server is about to send a configuration, but has not yet. */
let isLate: boolean;
/** The latest connection. */
let latest: WebSocket | undefined;
let close: () => void;

beforeEach(async () => {
  world = await newAgentWorld();
  frames = [];
  isLate = false;
  const server = createServer();
  const sockets = new WebSocketServer({ server, handleProtocols: () => gatewayLinkSubprotocols[2] });
  sockets.on("connection", (socket) => {
    latest = socket;
    socket.on("message", (text) => {
      const frame = JSON.parse(String(text)) as Hello | Applied | Failed | Heartbeat; // the link alone connects
      if (frame.type === "heartbeat") return;
      frames.push(frame);
      if (frame.type !== "hello") return;
      const { signingKey } = world.signer;
      const now = world.clock.now();
      socket.send(JSON.stringify({ type: "welcome", signingKey, heartbeatIntervalMs: 10_000, now }));
      if (frame.enforces?.root !== current.envelope.header.root && !isLate) send(current);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  close = () => {
    for (const client of sockets.clients) client.terminate();
    server.close();
  };
  ({ agent, kernel } = await world.start());
  current = world.signed(content());
  const { port } = server.address() as AddressInfo; // of a server that listens on TCP
  link = new GatewayLink({
    url: `http://127.0.0.1:${port}`,
    token: () => Promise.resolve("token"),
    agent,
    state: { trust: agent.trust, configuration: agent.configuration },
    keys: {
      publicKey: key,
      formerKeys: [],
      prove: () => {
        throw new Error("the server challenges nobody");
      },
      accepted: async () => {},
      refused: () => {},
    },
    agentVersion: "1",
    clock: world.clock,
    log: (message, fields) => void world.log.push(formatLogLine(message, fields)),
    random: () => 0,
  });
  reconnectOnChange(link, agent);
  link.start();
});
afterEach(async () => {
  link.stop();
  close();
  await world.stop();
});

function send(configuration: SignedConfiguration): void {
  latest?.send(JSON.stringify({ type: "whole", ...configuration }));
}

/** Waits until the agent has sent these frames since the previous call. Returns the last one. */
async function received(...types: readonly string[]) {
  await vi.waitUntil(
    () => {
      // Lets a link that waits reconnect.
      world.clock.pass(0);
      return frames.length >= types.length;
    },
    { timeout: waitLimitMs },
  );
  const got = frames.splice(0);
  expect(got.map(({ type }) => type)).toEqual(types);
  return got.at(-1);
}

/** Passes checks of the route, during which the agent sends nothing but heartbeats. */
async function silentChecks(count: number): Promise<void> {
  for (let checks = 0; checks < count; checks += 1) {
    await world.pass(agent, 2_000);
    // The timers of the checks, the time windows and the heartbeats.
    await vi.waitUntil(() => world.clock.waiting > 2, { timeout: waitLimitMs });
  }
  expect(link.isOpen).toBe(true);
  expect(frames).toEqual([]);
}

const rivalAppears = async (name: string) => {
  kernel.rival = name;
  await world.pass(agent, 2_000);
};
const rivalLeaves = async () => {
  kernel.rival = undefined;
  await world.pass(agent, 2_000);
};

test("an agent that loses the route reconnects once, reports one failure, and recovers when the route is free", async () => {
  await received("hello", "applied");
  // The second time shows that nothing of the first one remains.
  for (const name of ["gh1", "gh2"]) {
    await rivalAppears(name);
    expect(await received("hello", "failed")).toMatchObject({
      reason: "not_applied",
      message: expect.stringContaining(`the interface ${name} of another gateway agent`),
    });
    await silentChecks(8);
    expect(isClosed(kernel)).toBe(true);
    await rivalLeaves();
    await received("hello", "applied");
    await silentChecks(8);
    expect(passing(kernel)).toEqual([device]);
    expect(agent.isLimited).toBe(false);
  }
});

test("an agent that notices the loss of the route while it applies a configuration reports the failure", async () => {
  await received("hello", "applied");
  kernel.rival = "gh1";
  current = world.signed({ ...content(), classes: {} });
  send(current);
  expect(await received("hello", "failed")).toMatchObject({ reason: "not_applied" });
  await silentChecks(8);
  expect(isClosed(kernel)).toBe(true);
  await rivalLeaves();
  await received("hello", "applied");
  expect(passing(kernel)).toEqual([]);
});

test("an agent that loses the route again before it gets a configuration recovers", async () => {
  await received("hello", "applied");
  await rivalAppears("gh1");
  await received("hello", "failed");
  isLate = true;
  await rivalLeaves();
  await received("hello");
  isLate = false;
  await rivalAppears("gh2");
  await received("hello", "failed");
  await rivalLeaves();
  await received("hello", "applied");
  await silentChecks(8);
  expect(passing(kernel)).toEqual([device]);
});

test("an agent that never had the route gets its first configuration when the route is free", async () => {
  kernel.rival = "gh1";
  await received("hello", "failed");
  expect(isClosed(kernel)).toBe(true);
  await rivalLeaves();
  await received("hello", "applied");
  expect(passing(kernel)).toEqual([device]);
});
