/** Deliveries while replicas share the work, crash during it, stop, or lose the database. */
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { TestTenant } from "../test-server.ts";
import { until } from "../until.ts";
import { answering, WebhookReceiver } from "../webhook-receiver.ts";
import { insertAuditEntries } from "../webhook-rows.queries.ts";
import { createWebhook, createWebhookWorld, deliveriesOf, makeNews, type WebhookWorld } from "../webhook-world.ts";
import { DatabaseProxy } from "./database-proxy.ts";

/** The time limit of a job for its attempt (webhook-dispatcher.ts), in milliseconds. */
const jobTrustedForMs = 120_000;

/** The first server makes no deliveries. Each test starts replicas that do. */
let world: WebhookWorld;
let tenant: TestTenant;
let receiver: WebhookReceiver;
const closing: (() => Promise<void>)[] = [];

beforeEach(async () => {
  world = await createWebhookWorld({ deliver: false });
  tenant = await world.server.newTenant();
  receiver = await WebhookReceiver.start();
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await world.close();
  await receiver.close();
});

const delivering = { deliver: true };
const ids = () => receiver.received.map(({ headers }) => headers["webhook-id"]);

/** Starts a replica whose connection to the database can be cut. */
async function replicaBehindProxy(): Promise<DatabaseProxy> {
  const { proxy, connection } = await DatabaseProxy.start(world.connection);
  closing.push(() => proxy.close());
  await world.replica(delivering, connection);
  return proxy;
}

describe("replicas", () => {
  test("together make each delivery once, and at most four at a time per webhook", async () => {
    await Promise.all([world.replica(delivering), world.replica(delivering), world.replica(delivering)]);
    let [under, most] = [0, 0];
    receiver.answer = (response) => {
      under += 1;
      most = Math.max(most, under);
      setImmediate(() => {
        under -= 1;
        response.writeHead(204).end();
      });
    };
    const { id } = await createWebhook(tenant, receiver.url, { events: ["user.created"] });
    const people = (batch: number) =>
      Array.from({ length: 25 }, (_, index) => ({ email: `person-${batch}-${index}@example.com` }));
    await Promise.all([0, 1, 2, 3].map((batch) => tenant.client.post("/tenants/users", people(batch))));
    await until("all are delivered", async () => {
      const { body } = await tenant.client.get(`/tenants/webhooks/${id}/deliveries?filter[status]=DELIVERED`);
      return body.total === 100;
    });
    expect(ids()).toHaveLength(100);
    expect(new Set(ids()).size).toBe(100);
    expect(most).toBeLessThanOrEqual(4);
  });

  test("find all events that happened while none of them ran", async () => {
    const { id } = await createWebhook(tenant, receiver.url, { events: ["user.created"] });
    const later = await createWebhook(tenant, receiver.url, { events: ["user.created", "protocol.created"] });
    // One poll does not read all 1,100 entries of one command.
    await insertAuditEntries(world.server.database, tenant.id, 40);
    await insertAuditEntries(world.server.database, tenant.id, 1_100);
    await makeNews(tenant);
    const total = async (webhookId: string) =>
      (await tenant.client.get(`/tenants/webhooks/${webhookId}/deliveries`)).body.total;
    receiver.answer = () => undefined;
    await world.replica(delivering);
    await until("there are deliveries of all", async () => (await total(later.id)) === 1_141);
    expect(await total(id)).toBe(1_140);
  });

  test("delay only the messages of a tenant's slow receivers", async () => {
    const held: (() => void)[] = [];
    receiver.answer = (response) => held.push(() => response.writeHead(204).end());
    const quick = await WebhookReceiver.start();
    closing.push(() => quick.close());
    await world.replica(delivering);
    for (let count = 0; count < 5; count += 1) await createWebhook(tenant, receiver.url, { events: ["user.created"] });
    const other = await world.server.newTenant();
    await createWebhook(other, quick.url);
    const people = Array.from({ length: 30 }, (_, index) => ({ email: `person-${index}@example.com` }));
    await tenant.client.must.post("/tenants/users", people);
    await until("the slow receivers are busy", () => held.length >= 8);
    await makeNews(other);
    await until("the quick one was told", () => quick.received.length === 1);
    expect(held).toHaveLength(8);
    receiver.answer = answering(204);
    for (const answer of held) answer();
    await until("the slow ones have heard all", () => receiver.received.length === 150);
  });
});

describe("a replica", () => {
  test("that crashes before it stores the answer is followed by another, with the same message id", async () => {
    const proxy = await replicaBehindProxy();
    let first = true;
    receiver.answer = (response) => {
      if (!first) return answering(204)(response, response.req);
      first = false;
      // From now on the replica cannot reach the database.
      void proxy.cut().then(() => response.writeHead(204).end());
    };
    const { id } = await createWebhook(tenant, receiver.url);
    await makeNews(tenant);
    await until("it was sent", () => receiver.received.length === 1);
    await world.replica(delivering);
    world.clock.advance(jobTrustedForMs);
    await until("it is delivered", async () => (await deliveriesOf(tenant, id))[0]?.status === "DELIVERED");
    expect(ids()).toEqual([ids()[0], ids()[0]]);
  });

  test("that stops releases its unfinished deliveries, so that another makes them at once", async () => {
    receiver.answer = () => undefined;
    const stopping = await world.replica(delivering);
    const { id } = await createWebhook(tenant, receiver.url);
    await makeNews(tenant);
    await until("it was sent", () => receiver.received.length === 1);
    await world.stop(stopping);
    receiver.answer = answering(204);
    await world.replica(delivering);
    await until("it is delivered", async () => (await deliveriesOf(tenant, id))[0]?.status === "DELIVERED");
    expect((await deliveriesOf(tenant, id))[0].attempts).toHaveLength(1);
    expect(ids()).toEqual([ids()[0], ids()[0]]);
  });

  test("that loses the database continues by itself when it is available again", async () => {
    const proxy = await replicaBehindProxy();
    const { id } = await createWebhook(tenant, receiver.url, { events: ["protocol.created"] });
    const expectService = async (count: number) => {
      await makeNews(tenant);
      await until(`${count} came`, () => receiver.received.length >= count);
    };
    await expectService(1);
    await proxy.cut();
    await makeNews(tenant);
    await proxy.restore();
    await expectService(3);
    proxy.breakConnections();
    // Jobs of a broken connection are assigned again.
    await makeNews(tenant);
    await until("all came", () => {
      world.clock.advance(1_000);
      return new Set(ids()).size === 4;
    });
    const administrator = new pg.Client(world.connection);
    await administrator.connect();
    await administrator.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'gatehouse jobs'",
    );
    await administrator.end();
    await makeNews(tenant);
    await until(
      "all came again",
      () => {
        world.clock.advance(1_000);
        return new Set(ids()).size === 5;
      },
      20_000,
    );
    expect((await deliveriesOf(tenant, id)).length).toBe(5);
  });
});
