import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateToken, hashToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import { linkRowOf, makeGateways } from "../../testing/link-rows.queries.ts";
import { make, unique } from "../../testing/operations/test-records.ts";
import { SimulatedKey } from "../../testing/simulated-agent.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { startTestServer, type TestServer } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";

let server: TestServer;
let url: string;
const opened: SimulatedGateway[] = [];

beforeAll(async () => {
  // All gateways of these tests connect from one address.
  server = await startTestServer({ settings: { gatewayLinks: { limits: { pendingPerAddress: 1_000 } } } });
  url = await server.app.listen({ host: "127.0.0.1", port: 0 });
});
afterAll(async () => {
  for (const gateway of opened) gateway.cut();
  await server.close();
});

/** Creates many gateways with statements, because requests would take too long. */
async function crowd(tenantId: string, count: number): Promise<SimulatedGateway[]> {
  const tokens = Array.from({ length: count }, () => generateToken(tokenPrefixes.gateway));
  const ids = await makeGateways(server, tenantId, tokens.map(hashToken));
  const gateways = ids.map((id, index) => new SimulatedGateway({ url, gatewayId: id, token: tokens[index] ?? "" }));
  opened.push(...gateways);
  return gateways;
}

test("three hundred gateways that connect and reconnect at once are all served", async () => {
  const tenant = await server.newTenant();
  const gateways = await crowd(tenant.id, 300);
  expect(new Set(await Promise.all(gateways.map((gateway) => gateway.connect())))).toEqual(new Set([101]));
  await until("each holds something", () => gateways.every(({ content }) => content !== undefined), 60_000);
  // Their tokens cannot be shown, because only hashes are stored.
  const reader = server.client(await tenant.keyWith("gateways:read"));
  const isOnline = async () => {
    const { body } = await reader.get("/tenants/gateways");
    return body.every(({ status }: { status: string }) => status === "ONLINE");
  };
  await until("all are ONLINE", isOnline, 60_000);
  for (const gateway of gateways) gateway.cut();
  const before = gateways.map(({ seen }) => seen.wholes + seen.differences);
  await Promise.all(gateways.map((gateway) => gateway.connect()));
  for (const gateway of gateways) gateway.heartbeat();
  await until("each is answered", () => gateways.every(({ answers }) => answers.length > 0), 60_000);
  // They have the desired configurations: nothing is sent, and no status changes.
  expect(gateways.map(({ seen }) => seen.wholes + seen.differences)).toEqual(before);
  expect(await isOnline()).toBe(true);
});

describe("an overloaded replica", () => {
  test("refuses gateways before it looks up their tokens, with a time to connect again", async () => {
    const small = await startTestServer({ settings: { gatewayLinks: { limits: { connections: 1 } } } });
    const smallUrl = await small.app.listen({ host: "127.0.0.1", port: 0 });
    const tenant = await server.newTenant();
    const [first, second] = await crowd(tenant.id, 2);
    if (first === undefined || second === undefined) throw new Error("two were made");
    first.url = smallUrl;
    second.url = smallUrl;
    expect(await first.connect()).toBe(101);
    expect(await second.connect()).toBe(503);
    const reply = await fetch(`${smallUrl}/gateway/v1/link`, { headers: { authorization: `Bearer ${second.token}` } });
    expect(reply.status).toBe(503);
    expect(Number(reply.headers.get("retry-after"))).toBeGreaterThan(0);
    await small.close();
  });
});

test("a gateway that does not read receives one configuration, and only the newest when it reads again", async () => {
  const { id: tenantId, client } = await server.newTenant();
  const { id, token } = await make("gateway", client);
  const gateway = new SimulatedGateway({ url, gatewayId: id, token });
  opened.push(gateway);
  await gateway.connect();
  await until("it holds something", () => gateway.content !== undefined);
  gateway.pause();
  const resource = await make("resource", client);
  await client.must.put(`/tenants/resources/${resource.id}/gateways/${id}`);
  const body = { type: "PRIVATE", action: true, allUsers: true, resources: [resource.id] };
  const policy = await client.post("/tenants/policies", { ...body, name: unique("Policy") });
  for (let count = 0; count < 4; count += 1) {
    await client.must.patch(`/tenants/policies/${policy.body.id}/deactivate`);
    await client.must.post(`/tenants/policies/${policy.body.id}/reactivate`);
  }
  const { seen } = gateway;
  await until("a configuration is in flight", async () => {
    const row = await linkRowOf(server, tenantId, id);
    return row !== undefined && row.sent_root !== null && row.sent_root !== row.applied_root;
  });
  gateway.resume();
  await until("it holds the newest", () => gateway.content?.resources.get(resource.id) !== undefined);
  await until(
    "it is recorded",
    async () => (await client.get(`/tenants/gateways/${id}/sync`)).body.state === "applied",
  );
  expect(gateway.seen.differences).toBeLessThanOrEqual(seen.differences + 3);
});

test("an offer of another protocol on any other path is ignored, and the request is served", async () => {
  const { key } = await server.newTenant();
  const { request } = await import("node:http");
  const body = JSON.stringify({ name: unique("Group") });
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const sent = request(`${url}/tenants/groups`, {
      method: "POST",
      headers: {
        apikey: key,
        "content-type": "application/json",
        connection: "Upgrade, HTTP2-Settings",
        upgrade: "h2c",
      },
    });
    sent.on("response", (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on("error", reject);
    sent.end(body);
  });
  expect(status).toBe(201);
});

describe("connections without a hello", () => {
  /** Opens a connection without a hello. @returns the gateway, once the connection is open */
  async function silent(gateway: SimulatedGateway): Promise<SimulatedGateway> {
    const other = new SimulatedGateway({ url: gateway.url, gatewayId: "", token: gateway.token });
    opened.push(other);
    expect(await other.open()).toBe(101);
    return other;
  }

  test("are limited to four per token, and do not keep the agent away", async () => {
    const tenant = await server.newTenant();
    const [gateway] = await crowd(tenant.id, 1);
    if (gateway === undefined) throw new Error("one was made");
    const silents: SimulatedGateway[] = [];
    for (let count = 0; count < 4; count += 1) silents.push(await silent(gateway));
    expect(await gateway.connect()).toBe(101);
    await until("the agent is served", () => gateway.content !== undefined);
    const [first, ...others] = silents;
    expect(first?.closes).toEqual([1013]);
    for (const connection of others) expect(connection.isOpen).toBe(true);
  });

  test("are limited to 64 per address, and do not keep another tenant's agent away", async () => {
    // The clock stands still: on a busy machine, opening 65 connections takes longer than the time to the first frame.
    const byDefault = await startTestServer({ clock: new TestClock() });
    const tenant = await server.newTenant();
    const gateways = await crowd(tenant.id, 65);
    const defaultUrl = await byDefault.listen();
    for (const gateway of gateways) gateway.url = defaultUrl;
    const silents: SimulatedGateway[] = [];
    for (const gateway of gateways) silents.push(await silent(gateway));
    const last = silents.at(-1);
    await until("the last is closed", () => last?.closes.length !== 0);
    expect(last?.closes).toEqual([1013]);
    expect(silents.slice(0, -1).every(({ isOpen }) => isOpen)).toBe(true);
    const [neighbour] = await crowd((await server.newTenant()).id, 1);
    if (neighbour === undefined) throw new Error("one was made");
    neighbour.url = defaultUrl;
    expect(await neighbour.connect()).toBe(101);
    await until("another tenant's agent is served", () => neighbour.content !== undefined);
    expect(silents.map(({ isOpen }) => isOpen)).toEqual([false, ...Array.from({ length: 63 }, () => true), false]);
    await byDefault.close();
  });

  /** Frames of exactly this many bytes on the wire. The last frame is the given text. */
  function framesOfBytes(total: number, last: string): string[] {
    const bytesOf = (text: string) => text.length + (text.length < 126 ? 6 : 8); // with the masked header of a client
    const part = JSON.stringify({ type: "part", index: 0, isLast: false, text: "" });
    const rest = total - bytesOf(last) - 8;
    return [part + " ".repeat(rest - part.length), last];
  }

  test("can send exactly 64 KiB", async () => {
    const tenant = await server.newTenant();
    const [within, beyond] = await crowd(tenant.id, 2);
    if (within === undefined || beyond === undefined) throw new Error("two were made");
    const key = new SimulatedKey();
    for (const [agent, bytes] of [
      [within, 64 * 1024],
      [beyond, 64 * 1024 + 1],
    ] as const) {
      agent.useKey(key);
      await agent.open();
      const hello = { type: "hello", agentVersion: "0.1.0", publicKey: key.publicKey, enforces: null, format: 1 };
      for (const frame of framesOfBytes(bytes, JSON.stringify(hello))) agent.sendText(frame);
    }
    await until("one is challenged, and the other is cut", () => within.challenges.length + beyond.closes.length > 1);
    expect(beyond.closes).toEqual([1006]);
  });

  test("are cut after 64 KiB, in one frame or in many", async () => {
    const tenant = await server.newTenant();
    const [first, second, third] = await crowd(tenant.id, 3);
    if (first === undefined || second === undefined || third === undefined) throw new Error("three were made");
    const oneFrame = await silent(first);
    oneFrame.sendText(" ".repeat(200 * 1024));
    await until("the connection is cut", () => oneFrame.closes.length > 0);
    const inParts = await silent(second);
    const part = (index: number) => ({ type: "part", index, isLast: false, text: " ".repeat(16 * 1024) });
    for (let index = 0; index < 4; index += 1) inParts.sendText(JSON.stringify(part(index)));
    await until("the connection is cut", () => inParts.closes.length > 0);
    expect([...oneFrame.closes, ...inParts.closes]).toEqual([1006, 1006]);
    // After its hello, an agent may send more.
    expect(await third.connect()).toBe(101);
    await until("it is served", () => third.content !== undefined);
    for (let index = 0; index < 6; index += 1) third.sendText(JSON.stringify(part(index)));
    third.heartbeat();
    await until("its heartbeat is answered", () => third.answers.length > 0);
  });
});
