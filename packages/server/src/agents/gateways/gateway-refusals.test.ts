import { describe, expect, test } from "vitest";
import { linkedReplicas } from "../../testing/linked-replicas.ts";
import type { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { until } from "../../testing/until.ts";

const replicas = linkedReplicas();
const newGateway = async () => (await replicas.newGateway()).gateway;

describe("a connection is refused", () => {
  test.each([
    ["with another token", `gatehouse_gw_${"0".repeat(49)}`],
    ["with an API key", "key"],
    ["with a malformed token", "%%%"],
  ])("%s", async (_how, token) => {
    const gateway = await newGateway();
    gateway.token = token === "key" ? replicas.tenant.key : token;
    expect(await gateway.connect()).toBe(401);
  });

  test("without a WebSocket", async () => {
    const gateway = await newGateway();
    const authorization = `Bearer ${gateway.token}`;
    const reply = await fetch(`${replicas.url}/gateway/v1/link`, { headers: { authorization } });
    expect(reply.status).toBe(426);
    const stranger = await fetch(`${replicas.url}/gateway/v1/link`);
    expect(stranger.status).toBe(401);
    expect(stranger.headers.get("www-authenticate")).toMatch(/^Bearer/);
  });
});

describe("a connection ends after a violation of the protocol", () => {
  test.each<[string, (gateway: SimulatedGateway) => void]>([
    ["a text that is not JSON", (gateway) => gateway.sendText("{")],
    ["a frame without a type", (gateway) => gateway.sendText("{}")],
    ["a binary frame", (gateway) => gateway.sendText(Buffer.from([1, 2, 3]))],
    ["a second hello", (gateway) => gateway.sendHello()],
    ["a heartbeat with too many peers", (gateway) => gateway.heartbeat({ peers: manyPeers(1_001) })],
    [
      "a time after the last year",
      (gateway) => gateway.heartbeat({ peers: [{ ...aPeer, lastHandshake: 2 ** 53 - 1 }] }),
    ],
    ["a negative time", (gateway) => gateway.heartbeat({ peers: [{ ...aPeer, lastHandshake: -1 }] })],
    [
      "a byte count that is not a number",
      (gateway) => gateway.heartbeat({ peers: [{ ...aPeer, sentBytes: Number.NaN }] }),
    ],
    ["a frame of a megabyte", (gateway) => gateway.sendText(" ".repeat(1024 * 1024))],
    [
      "parts out of order",
      (gateway) => gateway.sendText(JSON.stringify({ type: "part", index: 1, isLast: true, text: "" })),
    ],
    [
      "a part of a part",
      (gateway) =>
        gateway.sendText(
          JSON.stringify({
            type: "part",
            index: 0,
            isLast: true,
            text: '{"type":"part","index":0,"isLast":true,"text":""}',
          }),
        ),
    ],
    [
      "too many frames",
      (gateway) => {
        for (let count = 0; count < 400; count += 1) gateway.heartbeat();
      },
    ],
  ])("%s", async (_what, misbehave) => {
    const gateway = await newGateway();
    await gateway.connect();
    await until("the configuration arrives", () => gateway.content !== undefined);
    misbehave(gateway);
    await until("it is closed", () => gateway.closes.length === 1);
  });

  test("a heartbeat before the hello", async () => {
    const gateway = await newGateway();
    await gateway.open();
    gateway.heartbeat();
    await until("it is closed", () => gateway.closes.length === 1);
    expect(gateway.goodbyes).toEqual([expect.objectContaining({ reason: "protocol" })]);
  });
});

const aPeer = { peer: "100.64.0.1", receivedBytes: 0, sentBytes: 0 };

function manyPeers(count: number) {
  return Array.from({ length: count }, () => aPeer);
}
