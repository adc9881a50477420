/** Who is not let in to the link of gateways, and who is let go. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { unique } from "../../testing/operations/test-records.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";

let server: TestServer;
let url: string;
let tenant: TestTenant;
const opened: SimulatedGateway[] = [];

beforeAll(async () => {
  server = await startTestServer();
  url = await server.app.listen({ host: "127.0.0.1", port: 0 });
});
afterAll(() => server.close());
beforeEach(async () => {
  tenant = await server.newTenant();
});
afterEach(() => {
  for (const gateway of opened.splice(0)) gateway.cut();
});

async function newGateway(): Promise<SimulatedGateway> {
  const made = await tenant.client.post("/tenants/gateways", { name: unique("Gateway"), wireguardPort: "51820" });
  expect(made.status, made.text).toBe(201);
  const gateway = new SimulatedGateway({ url, gatewayId: made.body.id, token: made.body.token });
  opened.push(gateway);
  return gateway;
}

describe("nobody is let in", () => {
  test.each([
    ["with another token", `gatehouse_gw_${"0".repeat(49)}`],
    ["with an API key", "key"],
    ["with no text of a token", "%%%"],
  ])("%s", async (_how, token) => {
    const gateway = await newGateway();
    gateway.token = token === "key" ? tenant.key : token;
    expect(await gateway.connect()).toBe(401);
  });

  test("without a WebSocket", async () => {
    const gateway = await newGateway();
    const authorization = `Bearer ${gateway.token}`;
    const reply = await fetch(`${url}/gateway/v1/link`, { headers: { authorization } });
    expect(reply.status).toBe(426);
    const stranger = await fetch(`${url}/gateway/v1/link`);
    expect(stranger.status).toBe(401);
    expect(stranger.headers.get("www-authenticate")).toMatch(/^Bearer/);
  });
});

describe("who breaks the protocol is let go", () => {
  test.each<[string, (gateway: SimulatedGateway) => void]>([
    ["something that is no JSON", (gateway) => gateway.sayText("{")],
    ["a frame of no type", (gateway) => gateway.sayText("{}")],
    ["bytes", (gateway) => gateway.sayText(Buffer.from([1, 2, 3]))],
    ["a second hello", (gateway) => gateway.sayHello()],
    ["a heartbeat of too many peers", (gateway) => gateway.heartbeat({ peers: manyPeers(1_001) })],
    [
      "a moment beyond all years",
      (gateway) => gateway.heartbeat({ peers: [{ ...aPeer, lastHandshake: 2 ** 53 - 1 }] }),
    ],
    ["a moment before all", (gateway) => gateway.heartbeat({ peers: [{ ...aPeer, lastHandshake: -1 }] })],
    ["bytes that are no number", (gateway) => gateway.heartbeat({ peers: [{ ...aPeer, sentBytes: Number.NaN }] })],
    ["a frame of a megabyte", (gateway) => gateway.sayText(" ".repeat(1024 * 1024))],
    [
      "parts out of order",
      (gateway) => gateway.sayText(JSON.stringify({ type: "part", index: 1, isLast: true, text: "" })),
    ],
    [
      "a part of a part",
      (gateway) =>
        gateway.sayText(
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

  test("before it says hello", async () => {
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
