import type { ConfigurationName } from "@gatehouse/agent-protocol/link/envelope";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { HeldTransaction } from "../../testing/held-transaction.ts";
import { linkRowOf } from "../../testing/link-rows.queries.ts";
import { unique } from "../../testing/operations/test-records.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { createDatabase, type TestDatabase } from "../../testing/test-database.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";
import { touchHeardGateways } from "./link-state.queries.ts";
import { TokenExpiry } from "./token-expiry.ts";

/** The tests advance the clock, and run due tasks by hand. */
const settings = { gatewayLinks: { watch: false, reconnectMs: 0, tickMs: 3_600_000, lifeMs: 40_000 } };
const hourMs = 3_600_000;
/** A separate database: the advanced clock would make gateways of other tests silent. */
let own: TestDatabase;
let server: TestServer;
let clock: TestClock;
let url: string;
let tenant: TestTenant;
let id: string;
let gateway: SimulatedGateway;

beforeAll(async () => {
  own = await createDatabase();
});
afterAll(() => own.drop());
beforeEach(async () => {
  clock = new TestClock();
  server = await startTestServer({ clock, settings, connection: own.connection });
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

/** From now on, the gateway sends only heartbeats. All that it sent before has arrived. */
async function onlyBeats(): Promise<void> {
  gateway.verdict = () => undefined;
  await beat();
}

describe("a gateway that is silent for 30 seconds", () => {
  test("is OFFLINE, and ONLINE again when it is heard", async () => {
    await online();
    await onlyBeats();
    clock.advance(30_000);
    await server.links.detectSilence();
    expect((await read()).status).toBe("ONLINE");
    clock.advance(1);
    await server.links.detectSilence();
    expect((await read()).status).toBe("OFFLINE");
    const events = (await tenant.client.get(`/tenants/events?filter[target.id]=${id}&limit=100`)).body.data;
    expect(events).toContainEqual(
      expect.objectContaining({ operation: "reportGatewayState", actor: expect.objectContaining({ type: "system" }) }),
    );
    await beat();
    await until("it is ONLINE", statusIs("ONLINE"));
  });

  test("becomes OFFLINE even if the clock of the database was hours ahead at its last heartbeat", async () => {
    clock.correctDatabase(5 * hourMs);
    await server.links.detectSilence();
    await online();
    await onlyBeats();
    gateway.cut();
    clock.correctDatabase(-5 * hourMs);
    await server.links.detectSilence();
    expect(await read()).toMatchObject({ status: "ONLINE", lastOnline: clock.now().toISOString() });
    clock.advance(30_001);
    await server.links.detectSilence();
    expect((await read()).status).toBe("OFFLINE");
  });

  test("a heartbeat replaces a future-dated last heartbeat", async () => {
    const heardAt = async (at: Date) => {
      const tenantId = tenant.id;
      await server.database.transaction({ kind: "tenant", tenantId }, ({ query }) =>
        touchHeardGateways({ tenantId, query }, [{ id, at: at.toISOString() }], clock.now()),
      );
    };
    await heardAt(new Date(clock.now().getTime() + 5 * hourMs));
    await heardAt(clock.now());
    const lastOnline = clock.now().toISOString();
    expect((await read()).lastOnline).toBe(lastOnline);
    const former = new Date(clock.now().getTime() - 2 * 60_000);
    await heardAt(former);
    expect((await read()).lastOnline, "a replica stores an old heartbeat late").toBe(lastOnline);
  });

  test("is disconnected, so that it connects again", async () => {
    await online();
    await onlyBeats();
    clock.advance(30_001);
    await tick();
    await until("it is cut", () => gateway.closes.length === 1);
    gateway.verdict = () => "apply";
    await online();
  });

  test("is detected by another replica if its own is gone", async () => {
    await online();
    await onlyBeats();
    const other = await startTestServer({ clock, settings, connection: own.connection });
    clock.advance(30_001);
    await other.links.detectSilence();
    await other.close();
    expect((await read()).status).toBe("OFFLINE");
  });

  test("returns to ERROR when it is heard again", async () => {
    gateway.verdict = () => "not_applied";
    await gateway.connect();
    await until("it is ERROR", statusIs("ERROR"));
    await onlyBeats();
    clock.advance(30_001);
    await server.links.detectSilence();
    expect((await read()).status).toBe("OFFLINE");
    await beat();
    await until("it is ERROR", statusIs("ERROR"));
  });

  test("becomes OFFLINE even if its last message was not a heartbeat", async () => {
    let first: ConfigurationName | undefined;
    gateway.verdict = (name) => {
      first = name;
      return undefined;
    };
    await gateway.connect();
    await until("it receives a configuration", () => first !== undefined);
    clock.advance(9_000);
    if (first !== undefined) gateway.send({ type: "applied", configuration: first });
    await until("it is ONLINE", statusIs("ONLINE"));
    gateway.cut();
    clock.advance(21_001);
    await server.links.detectSilence();
    expect((await read()).status).toBe("ONLINE");
    clock.advance(9_000);
    await server.links.detectSilence();
    expect((await read()).status).toBe("OFFLINE");
  });
});

test("a tenant with a busy lock does not delay the detection of other tenants' silent gateways", async () => {
  await online();
  await onlyBeats();
  const busy = tenant;
  const busyGateway = gateway;
  const busyPath = `/tenants/gateways/${id}`;
  const busyStatusIs = async (status: string) => (await busy.client.get(busyPath)).body.status === status;
  clock.advance(1);
  tenant = await server.newTenant();
  const made = await tenant.client.post("/tenants/gateways", { name: unique("Gateway"), wireguardPort: "51820" });
  id = made.body.id;
  gateway = new SimulatedGateway({ url, gatewayId: id, token: made.body.token, now: () => clock.now().getTime() });
  await online();
  await onlyBeats();
  clock.advance(30_001);
  const held = await HeldTransaction.ofTenant(own.connection, busy.id);
  try {
    await server.links.detectSilence();
    expect((await read()).status).toBe("OFFLINE");
    expect(await busyStatusIs("ONLINE")).toBe(true);
  } finally {
    await held.end();
  }
  await until("the other gateway is OFFLINE", async () => {
    await server.links.detectSilence();
    return busyStatusIs("OFFLINE");
  });
  busyGateway.cut();
});

describe("after an outage of the control plane", () => {
  const returning = { gatewayLinks: { ...settings.gatewayLinks, reconnectMs: 45_000 } };
  const watch = async (returned: TestServer, ms: number) => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      clock.advance(5_000);
      await returned.links.detectSilence();
    }
  };

  test.each(Array.from({ length: 20 }, (_, run) => 31_000 + run * 45_000))(
    "of %i ms, a gateway is ONLINE until it had time to reconnect",
    async (outageMs) => {
      await online();
      await onlyBeats();
      clock.advance(outageMs);
      const returned = await startTestServer({ clock, settings: returning, connection: own.connection });
      await returned.links.detectSilence();
      await watch(returned, 40_000);
      expect((await read()).status).toBe("ONLINE");
      await watch(returned, 10_000);
      expect((await read()).status).toBe("OFFLINE");
      await returned.close();
    },
  );

  test("of the database, a running replica waits as well", async () => {
    await online();
    const replica = await startTestServer({ clock, settings: returning, connection: own.connection });
    await replica.links.detectSilence();
    await watch(replica, 50_000);
    await beat();
    // No check succeeds while the database is away, as if none was made.
    clock.advance(120_000);
    await replica.links.detectSilence();
    expect((await read()).status).toBe("ONLINE");
    await watch(replica, 40_000);
    expect((await read()).status).toBe("ONLINE");
    await watch(replica, 10_000);
    expect((await read()).status).toBe("OFFLINE");
    await replica.close();
  });
});

describe("maintenance", () => {
  test("hides the reported status, and is sent to the gateway with its start", async () => {
    await online();
    expect((await tenant.client.post(`/tenants/gateways/${id}/enter-maintenance`)).status).toBe(200);
    const drain = () => gateway.content?.settings.drain;
    await until("it is sent", () => drain() !== undefined);
    expect(drain()).toEqual({ since: clock.now().getTime(), until: clock.now().getTime() + 300_000 });
    await beat();
    clock.advance(30_001);
    await server.links.detectSilence();
    expect((await read()).status).toBe("MAINTENANCE");
    await tenant.client.must.post(`/tenants/gateways/${id}/exit-maintenance`);
    expect((await read()).status).toBe("OFFLINE");
    await until("it is sent", () => drain() === undefined);
    await beat();
    await until("it is ONLINE", statusIs("ONLINE"));
  });
});

test("a connection with a rotated token ends with the grace period", async () => {
  await online();
  await tenant.client.must.post(`/tenants/gateways/${id}/rotate-token`, { graceSeconds: 60 });
  clock.advance(20_000);
  await beat();
  clock.advance(20_000);
  await beat();
  clock.advance(20_001);
  // The rotation may reach the connections before or after this.
  await until("it is cut", async () => {
    await tick();
    return gateway.goodbyes.length === 1;
  });
  expect(gateway.goodbyes).toEqual([expect.objectContaining({ reason: "token_revoked" })]);
});

test("a connection without a hello ends after ten seconds", async () => {
  await gateway.open();
  clock.advance(10_001);
  await tick();
  await until("it is closed", () => gateway.closes.length === 1);
});

test("a configuration is renewed after half of its validity period, without its content", async () => {
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

test("heartbeats change neither versions nor generations", async () => {
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
  test("sends gateways the time to connect again, and records that they are disconnected", async () => {
    await online();
    const other = await startTestServer({ clock, settings, connection: own.connection });
    await server.links.close();
    await until("it is sent", () => gateway.goodbyes.length === 1);
    expect(gateway.goodbyes).toEqual([
      expect.objectContaining({ reason: "shutting_down", retryAfterMs: expect.any(Number) }),
    ]);
    expect((await linkRowOf(other, tenant.id, id))?.disconnected_at).not.toBeNull();
    await other.close();
  });
});

test("a change is not reported as applied before it is offered to the gateway", async () => {
  await online();
  const state = async () => (await tenant.client.get(`/tenants/gateways/${id}/sync`)).body.state;
  await until("the gateway has applied its configuration", async () => (await state()) === "applied");
  let offer = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    offer = resolve;
  });
  const check = vi.spyOn(TokenExpiry.prototype, "check").mockImplementation(async () => {
    await held;
    return [];
  });
  try {
    await tenant.client.must.put(`/tenants/gateways/${id}/settings`, { resolvers: ["10.80.0.53"] });
    // Tokens are checked when the outbox names the gateway, and before the change is offered.
    await until("the change is about to be offered", () => check.mock.calls.length > 1);
    // The replica now has to report that it is alive.
    clock.advance(9_000);
    await tick();
    await server.links.flush();
    expect(await state()).toBe("pending");
    offer();
    await until("the gateway has applied the change", async () => (await state()) === "applied");
  } finally {
    offer();
    check.mockRestore();
  }
});
