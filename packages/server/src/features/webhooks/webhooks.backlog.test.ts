/** Many events: of one tenant beside others, and more than a receiver accepts. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Database } from "../../platform/db/database.ts";
import { testLog } from "../../testing/test-log.ts";
import type { TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";
import { answering, WebhookReceiver } from "../../testing/webhook-receiver.ts";
import { deliveryCounts, finishDeliveries, insertAuditEntries } from "../../testing/webhook-rows.queries.ts";
import {
  createWebhook,
  createWebhookWorld,
  deliveriesOf,
  makeNews,
  type WebhookWorld,
} from "../../testing/webhook-world.ts";
import { type DeliveryLimits, WebhookDispatcher } from "./webhook-dispatcher.ts";

const url = "https://hooks.invalid/gatehouse";
const dayMs = 24 * 60 * 60 * 1000;
let world: WebhookWorld;
let tenant: TestTenant;

beforeAll(async () => {
  world = await createWebhookWorld({ deliver: false });
});
beforeEach(async () => {
  tenant = await world.server.newTenant();
});
afterAll(() => world.close());

/** A dispatcher without jobs. `turn` returns whether there is more to do. */
function newDispatcher(limits?: DeliveryLimits, database: Database = world.server.database) {
  let more = false;
  const dispatcher = new WebhookDispatcher({
    database,
    jobs: { enqueue: async () => {}, wake() {} },
    clock: world.clock,
    log: testLog,
    limits,
    changed: () => {
      more = true;
    },
  });
  const turn = async () => {
    more = false;
    await dispatcher.run();
    return more;
  };
  /** Everything, after the time for which full webhooks are not counted. */
  const finish = async () => {
    world.clock.advance(2_000);
    while (await turn());
  };
  return { dispatcher, turn, finish };
}

const countsOf = (id: string) => deliveryCounts(world.server.database, tenant.id, id);
const readWebhook = async (id: string) => (await tenant.client.get(`/tenants/webhooks/${id}`)).body;

test("a tenant with many events does not delay the messages of another", async () => {
  const other = await world.server.newTenant();
  const { id } = await createWebhook(tenant, url, { events: ["user.created"] });
  const { id: otherId } = await createWebhook(other, url, { events: ["protocol.created"] });
  const { turn, finish } = newDispatcher();
  await insertAuditEntries(world.server.database, tenant.id, 1_200);
  await turn();
  await makeNews(other);
  await turn();
  expect(await deliveriesOf(other, otherId)).toHaveLength(1);
  expect((await countsOf(id)).PENDING).toBeLessThan(1_200);
  await finish();
  expect(await countsOf(id)).toEqual({ PENDING: 1_200 });
});

test("a tenant whose connections are busy does not delay the messages of others", async () => {
  const tenants = [tenant, await world.server.newTenant(), await world.server.newTenant()];
  const ids = new Map<string, string>();
  for (const each of tenants) {
    ids.set(each.id, (await createWebhook(each, url, { events: ["protocol.created"] })).id);
    await makeNews(each);
  }
  const pendingOf = async (tenantId: string) =>
    (await deliveryCounts(world.server.database, tenantId, ids.get(tenantId) ?? "")).PENDING ?? 0;
  let busy = "";
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { database } = world.server;
  const transaction: Database["transaction"] = async (scope, ...work) => {
    const tenantId = scope.kind === "tenant" ? scope.tenantId : "";
    // Whichever tenant of this test comes first.
    if (busy === "" && ids.has(tenantId)) busy = tenantId;
    if (busy === tenantId) await released;
    return database.transaction(scope, ...work);
  };
  const snapshot = database.snapshot.bind(database);
  const busyFirst = { transaction, snapshot } as unknown as Database; // the dispatcher uses no other methods
  const running = newDispatcher(undefined, busyFirst).turn();
  const others = () => tenants.filter(({ id }) => id !== busy);
  await until("the others' messages are made", async () => {
    const pending = await Promise.all(others().map(({ id }) => pendingOf(id)));
    return busy !== "" && pending.every((count) => count === 1);
  });
  expect(await pendingOf(busy)).toBe(0);
  release();
  await running;
  expect(await pendingOf(busy)).toBe(1);
});

test("a turn of a tenant with many webhooks is no longer than that of others", async () => {
  const ids: string[] = [];
  for (let made = 0; made < 20; made += 1)
    ids.push((await createWebhook(tenant, url, { events: ["user.created"] })).id);
  await insertAuditEntries(world.server.database, tenant.id, 600);
  const { turn, finish } = newDispatcher();
  await turn();
  const pending = await Promise.all(ids.map(async (id) => (await countsOf(id)).PENDING ?? 0));
  const made = pending.reduce((sum, count) => sum + count, 0);
  expect(made).toBeGreaterThan(0);
  expect(made).toBeLessThanOrEqual(2_000);
  // A round does not wait for a slow tenant, so one pass may not be enough.
  await until("all messages are made", async () => {
    await finish();
    const counts = await Promise.all(ids.map(countsOf));
    return counts.every(({ PENDING }) => PENDING === 600);
  });
});

test("beyond the limit of pending messages, events wait and are delivered later, in all webhooks", async () => {
  const { database } = world.server;
  const { id: otherId } = await createWebhook(tenant, url, { events: ["protocol.created"] });
  const { id } = await createWebhook(tenant, url, { events: ["user.created"] });
  const { finish } = newDispatcher({ pending: 600, logged: 5_000 });
  await insertAuditEntries(database, tenant.id, 2_500);
  await finish();
  expect((await countsOf(id)).PENDING).toBe(1_000);
  expect(await readWebhook(id)).toMatchObject({ active: true, behindSince: world.clock.now().toISOString() });
  expect(await readWebhook(otherId)).not.toHaveProperty("behindSince");

  // Other webhooks of the tenant are not behind.
  await makeNews(tenant);
  await finish();
  expect(await countsOf(otherId)).toEqual({ PENDING: 1 });

  // The webhook continues when half of its messages have ended.
  await finishDeliveries(database, tenant.id, id, "DELIVERED", 600);
  await finish();
  expect(await countsOf(id)).toEqual({ DELIVERED: 600, PENDING: 400 });
  await finishDeliveries(database, tenant.id, id, "FAILED", 100);
  await finish();
  expect((await countsOf(id)).PENDING).toBe(800);
  await finishDeliveries(database, tenant.id, id, "DELIVERED", 800);
  await finish();
  for (let rest = 0; rest < 2; rest += 1) {
    await finishDeliveries(database, tenant.id, id, "DELIVERED", 1_000);
    await finish();
  }
  const counts = await countsOf(id);
  expect(Object.values(counts).reduce<number>((sum, count) => sum + (count ?? 0), 0)).toBe(2_500);
  expect(await readWebhook(id)).not.toHaveProperty("behindSince");
});

test("the deliveries of a full webhook are not counted in each run", async () => {
  const { id } = await createWebhook(tenant, url, { events: ["user.created"] });
  await insertAuditEntries(world.server.database, tenant.id, 20);
  const { turn } = newDispatcher({ pending: 10, logged: 10 });
  await turn();
  await insertAuditEntries(world.server.database, tenant.id, 5);
  await turn();
  expect(await countsOf(id)).toEqual({ PENDING: 20 });
  await finishDeliveries(world.server.database, tenant.id, id, "DELIVERED", 20);
  await turn();
  expect(await countsOf(id)).toEqual({ DELIVERED: 20 });
  world.clock.advance(2_000);
  await turn();
  expect(await countsOf(id)).toEqual({ DELIVERED: 20, PENDING: 5 });
});

test("a webhook that does not catch up for three days is disabled, with an entry by the system", async () => {
  const receiver = await WebhookReceiver.start();
  const own = await createWebhookWorld({ pendingLimit: 4 });
  try {
    const { server, clock } = own;
    tenant = await server.newTenant();
    const read = async (id: string) => (await tenant.client.get(`/tenants/webhooks/${id}`)).body;
    receiver.answer = (response, request) =>
      answering(receiver.received.at(-1)?.body.includes("webhook.test") ? 204 : 500)(response, request);
    const { id } = await createWebhook(tenant, receiver.url, { events: ["user.created"] });
    for (const batch of [1, 2]) {
      await insertAuditEntries(server.database, tenant.id, 10);
      await until(`batch ${batch} was read`, async () => (await deliveriesOf(tenant, id)).length >= 10);
    }
    await until("it is behind", async () => "behindSince" in (await read(id)));
    clock.advance(2 * dayMs);
    await tenant.client.must.post(`/tenants/webhooks/${id}/test`);
    await until("the test arrived", () => receiver.received.some(({ body }) => body.includes("webhook.test")));
    expect(await read(id)).toMatchObject({ active: true });
    clock.advance(dayMs);
    await until("it is disabled", async () => !(await read(id)).active);
    expect(await read(id)).toMatchObject({ disabledReason: "BEHIND" });
    const { body } = await tenant.client.get("/tenants/events?sort=-position&limit=1");
    expect(body.data[0]).toMatchObject({ operation: "disableWebhook", after: { disabledReason: "BEHIND" } });

    // It starts again at the current event.
    const { body: again } = await tenant.client.patch(`/tenants/webhooks/${id}`, { active: true });
    for (const field of ["disabledReason", "behindSince"]) expect(again).not.toHaveProperty(field);
  } finally {
    await own.close();
    await receiver.close();
  }
});

test("the log keeps the newest deliveries of each status", async () => {
  const { database } = world.server;
  const { id } = await createWebhook(tenant, url, { events: ["user.created"] });
  const { id: otherId } = await createWebhook(tenant, url, { events: ["user.created"] });
  await insertAuditEntries(database, tenant.id, 20);
  const { dispatcher, finish } = newDispatcher({ pending: 1_000, logged: 3 });
  await finish();
  await finishDeliveries(database, tenant.id, id, "DELIVERED", 8);
  await finishDeliveries(database, tenant.id, id, "FAILED", 5);
  await finishDeliveries(database, tenant.id, otherId, "FAILED", 2);
  const before = await deliveriesOf(tenant, id);
  await dispatcher.clearLog();
  expect(await countsOf(id)).toEqual({ DELIVERED: 3, FAILED: 3, PENDING: 7 });
  expect(await countsOf(otherId)).toEqual({ FAILED: 2, PENDING: 18 });
  const keptIds = (await deliveriesOf(tenant, id)).map((delivery: { id: string }) => delivery.id);
  expect(keptIds).toEqual([...before.slice(5, 8), ...before.slice(10)].map(({ id }) => id));
});
