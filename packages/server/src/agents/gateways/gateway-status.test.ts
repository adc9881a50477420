import type { ConfigurationName } from "@gatehouse/agent-protocol/link/envelope";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { linkRowOf } from "../../testing/link-rows.queries.ts";
import { unique } from "../../testing/operations/test-records.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";

/** With a clock that tests move, nothing happens by time but what they ask for. */
const settings = { gatewayLinks: { watch: false, tickMs: 3_600_000, lifeMs: 40_000 } };
let server: TestServer;
let clock: TestClock;
let url: string;
let tenant: TestTenant;
let id: string;
let gateway: SimulatedGateway;

beforeEach(async () => {
  clock = new TestClock();
  server = await startTestServer({ clock, settings });
  url = await server.app.listen({ host: "127.0.0.1", port: 0 });
  tenant = await server.newTenant();
  const made = await tenant.client.post("/tenants/gateways", { name: unique("Gateway"), wireguardPort: "51820" });
  id = made.body.id;
  gateway = new SimulatedGateway({ url, gatewayId: id, token: made.body.token, now: () => clock.now().getTime() });
});
afterEach(async () => {
  gateway.cut();
  await server.close();
});

const read = async () => (await tenant.client.get(`/tenants/gateways/${id}`)).body;
const statusIs = (status: string) => async () => (await read()).status === status;

async function online(): Promise<void> {
  await gateway.connect();
  await until("it is ONLINE", statusIs("ONLINE"));
}

async function tick(): Promise<void> {
  await server.tasks.get("gateway-links")?.runNow();
}

async function beat(): Promise<void> {
  const { length } = gateway.answers;
  gateway.heartbeat();
  await until("it is answered", () => gateway.answers.length > length);
  await server.links.flush();
}

describe("a gateway that is silent for 30 seconds", () => {
  test("is OFFLINE, and ONLINE again when it is heard", async () => {
    await online();
    clock.advance(30_000);
    await server.links.noticeSilence();
    expect((await read()).status).toBe("ONLINE");
    clock.advance(1);
    await server.links.noticeSilence();
    expect((await read()).status).toBe("OFFLINE");
    const events = (await tenant.client.get(`/tenants/events?filter[target.id]=${id}&limit=100`)).body.data;
    expect(events).toContainEqual(
      expect.objectContaining({ operation: "reportGatewayState", actor: expect.objectContaining({ type: "system" }) }),
    );
    await beat();
    await until("it is ONLINE", statusIs("ONLINE"));
  });

  test("is let go, so that it comes again over a connection that works", async () => {
    await online();
    clock.advance(30_001);
    await tick();
    await until("it is cut", () => gateway.closes.length === 1);
    await online();
  });

  test("is noticed by another replica where its own is gone", async () => {
    await online();
    const other = await startTestServer({ clock, settings });
    clock.advance(30_001);
    await other.links.noticeSilence();
    await other.close();
    expect((await read()).status).toBe("OFFLINE");
  });

  test("was in ERROR, and is so again when it is heard", async () => {
    gateway.verdict = () => "not_applied";
    await gateway.connect();
    await until("it is ERROR", statusIs("ERROR"));
    clock.advance(30_001);
    await server.links.noticeSilence();
    expect((await read()).status).toBe("OFFLINE");
    await beat();
    await until("it is ERROR", statusIs("ERROR"));
  });

  test("is OFFLINE also where it was last heard of by something else than a heartbeat", async () => {
    let first: ConfigurationName | undefined;
    gateway.verdict = (name) => {
      first = name;
      return undefined;
    };
    await gateway.connect();
    await until("it is sent what it should enforce", () => first !== undefined);
    clock.advance(9_000);
    if (first !== undefined) gateway.say({ type: "applied", configuration: first });
    await until("it is ONLINE", statusIs("ONLINE"));
    gateway.cut();
    clock.advance(21_001);
    await server.links.noticeSilence();
    expect((await read()).status).toBe("ONLINE");
    clock.advance(9_000);
    await server.links.noticeSilence();
    expect((await read()).status).toBe("OFFLINE");
  });
});

describe("maintenance", () => {
  test("hides what is reported, and tells the gateway since when it drains", async () => {
    await online();
    expect((await tenant.client.post(`/tenants/gateways/${id}/enter-maintenance`)).status).toBe(200);
    const drain = () => gateway.content?.settings.drain;
    await until("it is told", () => drain() !== undefined);
    expect(drain()).toEqual({ since: clock.now().getTime(), until: clock.now().getTime() + 300_000 });
    await beat();
    clock.advance(30_001);
    await server.links.noticeSilence();
    expect((await read()).status).toBe("MAINTENANCE");
    await tenant.client.post(`/tenants/gateways/${id}/exit-maintenance`);
    expect((await read()).status).toBe("OFFLINE");
    await until("it is told", () => drain() === undefined);
    await beat();
    await until("it is ONLINE", statusIs("ONLINE"));
  });
});

test("a token that was rotated away cuts the link when its grace ends", async () => {
  await online();
  await tenant.client.post(`/tenants/gateways/${id}/rotate-token`, { graceSeconds: 60 });
  clock.advance(20_000);
  await beat();
  clock.advance(20_000);
  await beat();
  clock.advance(20_001);
  // The tenant's links have heard of the rotation by now, since they sent what it changed, or nothing.
  await until("it is cut", async () => {
    await tick();
    return gateway.goodbyes.length === 1;
  });
  expect(gateway.goodbyes).toEqual([expect.objectContaining({ reason: "token_revoked" })]);
});

test("who says no hello is let go after ten seconds", async () => {
  await gateway.open();
  clock.advance(10_001);
  await tick();
  await until("it is closed", () => gateway.closes.length === 1);
});

test("a configuration is renewed when half of its life is over, with an envelope alone", async () => {
  await online();
  const before = gateway.envelope?.header;
  clock.advance(19_999);
  await tick();
  await beat();
  expect(gateway.envelope?.header).toEqual(before);
  clock.advance(1);
  await tick();
  await until("it is renewed", () => gateway.envelope?.header.expiresAt === clock.now().getTime() + 40_000);
  expect(gateway.envelope?.header.root).toBe(before?.root);
  expect(gateway.seen).toMatchObject({ wholes: 1, differences: 1 });
});

test("heartbeats raise no version and no generation", async () => {
  await online();
  await beat();
  const before = (await tenant.client.get(`/tenants/gateways/${id}/sync`)).body.generation;
  clock.advance(10_000);
  await beat();
  const { body, headers } = await tenant.client.get(`/tenants/gateways/${id}`);
  expect(headers.etag).toBe('"1"');
  expect(body.lastOnline).toBe(clock.now().toISOString());
  expect((await tenant.client.get(`/tenants/gateways/${id}/sync`)).body.generation).toBe(before);
  expect((await linkRowOf(server, tenant.id, id))?.last_heartbeat).toBe(clock.now().toISOString());
});

describe("a replica that stops", () => {
  test("tells gateways when to come again, and writes down that they are gone", async () => {
    await online();
    const other = await startTestServer({ clock, settings });
    await server.links.close();
    await until("it is told", () => gateway.goodbyes.length === 1);
    expect(gateway.goodbyes).toEqual([
      expect.objectContaining({ reason: "shutting_down", retryAfterMs: expect.any(Number) }),
    ]);
    expect((await linkRowOf(other, tenant.id, id))?.disconnected_at).not.toBeNull();
    await other.close();
  });
});
