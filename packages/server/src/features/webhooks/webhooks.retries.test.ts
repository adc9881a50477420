import { randomUUID } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { JobQueue } from "../../platform/jobs/job-queue.ts";
import { createLog } from "../../platform/log.ts";
import { maxBodyBytes } from "../../platform/outbound/body-space.ts";
import type { Exchange } from "../../platform/outbound/exchange.ts";
import { performExchange } from "../../platform/outbound/perform-exchange.ts";
import type { TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";
import { type Answer, answering, WebhookReceiver } from "../../testing/webhook-receiver.ts";
import {
  holdDeliveries,
  insertAuditEntries,
  insertStaleDelivery,
  whileLocked,
} from "../../testing/webhook-rows.queries.ts";
import {
  createWebhook,
  createWebhookWorld,
  deliveriesOf,
  makeNews,
  onlyDelivery,
  type WebhookWorld,
} from "../../testing/webhook-world.ts";
import { retryDelaysMs } from "./retry-schedule.rules.ts";
import { jobTimeoutMs } from "./webhook-dispatch.queries.ts";
import { WebhookDispatcher } from "./webhook-dispatcher.ts";

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;
let world: WebhookWorld;
let tenant: TestTenant;
let receiver: WebhookReceiver;

beforeAll(async () => {
  world = await createWebhookWorld();
});
beforeEach(async () => {
  tenant = await world.server.newTenant();
  receiver = await WebhookReceiver.start();
});
afterEach(async () => {
  // Pending deliveries would be attempted in later tests, whose clock continues.
  for (const { id } of (await tenant.client.get("/tenants/webhooks")).body) {
    await tenant.client.must.delete(`/tenants/webhooks/${id}`);
  }
  await receiver.close();
});
afterAll(() => world.close());

type Delivery = {
  readonly status: string;
  readonly attempts: readonly unknown[];
  readonly nextAttemptAt: string | null;
};

const attempted = (times: number) => (delivery: Delivery) => delivery.attempts.length === times;
const isDelivered = ({ status }: Delivery) => status === "DELIVERED";
const hasFailed = ({ status }: Delivery) => status === "FAILED";
/** The number of attempts in the metrics, by result. */
async function attemptsCounted(): Promise<Record<string, number>> {
  const text = (await world.server.metrics?.text()) ?? "";
  const lines = text.matchAll(/^gatehouse_webhook_attempts_total\{result="(.+)"\} (\d+)$/gm);
  return Object.fromEntries([...lines].map(([, result, count]) => [result, Number(count)]));
}
const readWebhook = async (id: string) => (await tenant.client.get(`/tenants/webhooks/${id}`)).body;

/** Answers in turn, and repeats the last answer. */
function inTurn(...answers: readonly Answer[]): Answer {
  let next = 0;
  return (response, request) => answers[Math.min(next++, answers.length - 1)]?.(response, request);
}

describe("a message that is not taken", () => {
  test("is sent again by the schedule, with its id, until it is given up after a day", async () => {
    receiver.answer = answering(500);
    const { retried = 0, "given-up": givenUp = 0, delivered = 0 } = await attemptsCounted();
    const { id } = await createWebhook(tenant, receiver.url, { events: ["protocol.created"] });
    const madeAt = world.clock.now().getTime();
    await makeNews(tenant);
    for (const [index, delayMs] of retryDelaysMs.entries()) {
      const delivery = await onlyDelivery(tenant, id, attempted(index + 1));
      expect(delivery.status).toBe("PENDING");
      expect(Date.parse(delivery.nextAttemptAt) - world.clock.now().getTime()).toBe(delayMs);
      world.clock.advance(delayMs);
    }
    const delivery = await onlyDelivery(tenant, id, hasFailed);
    expect(delivery).toMatchObject({ nextAttemptAt: null, attempts: { length: 11 } });
    expect(delivery.attempts.at(-1)).toMatchObject({ statusCode: 500, error: "the receiver answered 500" });
    expect(receiver.received).toHaveLength(11);
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"]))).toEqual(new Set([delivery.id]));
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
    expect(world.clock.now().getTime() - madeAt).toBeLessThanOrEqual(dayMs);
    expect(await attemptsCounted()).toEqual({ retried: retried + 10, "given-up": givenUp + 1, delivered });
    // Each attempt is signed at its own time.
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-timestamp"])).size).toBe(11);
  });

  test("is sent again at once if the clock was days ahead at the last attempt", async () => {
    receiver.answer = inTurn(answering(500), answering(204));
    const { id } = await createWebhook(tenant, receiver.url, { events: ["protocol.created"] });
    world.clock.correct(3 * dayMs);
    await makeNews(tenant);
    const { nextAttemptAt } = await onlyDelivery(tenant, id, attempted(1));
    world.clock.correct(-3 * dayMs);
    expect(Date.parse(nextAttemptAt) - world.clock.now().getTime()).toBeGreaterThan(2 * dayMs);
    expect(await onlyDelivery(tenant, id, isDelivered)).toMatchObject({ attempts: { length: 2 } });
  });

  test("is not sent before its time", async () => {
    receiver.answer = inTurn(answering(500), answering(204));
    const { id } = await createWebhook(tenant, receiver.url);
    await makeNews(tenant);
    await onlyDelivery(tenant, id, attempted(1));
    world.clock.advance(4_999);
    // A due message shows that the dispatcher has run.
    const other = await createWebhook(tenant, receiver.url, { events: ["user.*"] });
    await tenant.client.must.post(`/tenants/webhooks/${other.id}/test`);
    await onlyDelivery(tenant, other.id, isDelivered);
    const [first] = await deliveriesOf(tenant, id);
    expect(first.attempts).toHaveLength(1);
    world.clock.advance(1);
    await until("it was sent again", async () => isDelivered((await deliveriesOf(tenant, id))[0]));
  });

  test.each([
    [
      "a redirect",
      answering(302, { location: "http://127.0.0.1:1/" }),
      "the receiver answered 302; redirects are not followed",
    ],
    [
      "an answer that does not come",
      ((response) => response.destroy()) as Answer,
      "the connection was closed without a response",
    ],
  ])("because of %s is sent again, and the log says why", async (_what, answer, error) => {
    receiver.answer = inTurn(answer, answering(200));
    const { id } = await createWebhook(tenant, receiver.url);
    await makeNews(tenant);
    expect((await onlyDelivery(tenant, id, attempted(1))).attempts).toMatchObject([{ error }]);
    world.clock.advance(5_000);
    const delivery = await onlyDelivery(tenant, id, isDelivered);
    expect(delivery.attempts.at(-1)).toEqual({
      at: world.clock.now().toISOString(),
      statusCode: 200,
      durationMs: expect.any(Number),
    });
  });

  test("waits as long as Retry-After asks", async () => {
    receiver.answer = inTurn(answering(429, { "retry-after": "90" }), answering(204));
    const { id } = await createWebhook(tenant, receiver.url);
    await makeNews(tenant);
    const { nextAttemptAt } = await onlyDelivery(tenant, id, attempted(1));
    expect(Date.parse(nextAttemptAt) - world.clock.now().getTime()).toBe(90_000);
    world.clock.advance(90_000);
    await onlyDelivery(tenant, id, isDelivered);
  });

  test("is not sent to a name that resolves to an internal address, and the log hides the address", async () => {
    const guarded = await createWebhookWorld({
      networks: [],
      exchange: (request, signal) =>
        performExchange(request, signal, async () => [{ address: "127.0.0.1", family: 4 }]),
    });
    const own = await guarded.server.newTenant();
    const { id } = await createWebhook(own, `https://hooks.example.com:${receiver.port}/`);
    await own.client.must.post(`/tenants/webhooks/${id}/test`);
    const attempts = async () => (await deliveriesOf(own, id))[0].attempts;
    await until("there was an attempt", async () => (await attempts()).length === 1);
    expect(await attempts()).toMatchObject([
      { error: "the host has no address that webhooks can be sent to, or its name cannot be resolved" },
    ]);
    await guarded.close();
  });
});

describe("a webhook", () => {
  test("with a receiver that answers 410 is disabled at once, with an entry by the system", async () => {
    receiver.answer = answering(410);
    const { id } = await createWebhook(tenant, receiver.url);
    await makeNews(tenant);
    await until("it is disabled", async () => !(await readWebhook(id)).active);
    expect(await readWebhook(id)).toMatchObject({
      disabledReason: "GONE",
      disabledAt: world.clock.now().toISOString(),
    });
    expect(await deliveriesOf(tenant, id)).toMatchObject([{ status: "FAILED", attempts: [{ statusCode: 410 }] }]);
    const { body } = await tenant.client.get("/tenants/events?sort=-id&limit=1");
    expect(body.data[0]).toMatchObject({
      actor: { type: "system", name: "Gatehouse" },
      operation: "disableWebhook",
      target: { type: "webhook", id },
      before: { active: true },
      after: { active: false, disabledReason: "GONE" },
    });
    expect(body.data[0].requestId).not.toBe(id);
  });

  test("with only failed attempts for three days is disabled, and other webhooks are notified", async () => {
    const watcher = await WebhookReceiver.start();
    await createWebhook(tenant, watcher.url, { events: ["webhook.updated"] });
    receiver.answer = answering(500);
    const { id } = await createWebhook(tenant, receiver.url, { events: ["protocol.created"] });
    await makeNews(tenant);
    await onlyDelivery(tenant, id, attempted(1));
    const failingSince = world.clock.now().toISOString();
    expect(await readWebhook(id)).toMatchObject({ active: true, failingSince });
    world.clock.advance(3 * dayMs - 1);
    await onlyDelivery(tenant, id, attempted(2));
    expect(await readWebhook(id)).toMatchObject({ active: true, failingSince });
    world.clock.advance(30_000);
    await until("it is disabled", async () => !(await readWebhook(id)).active);
    expect(await readWebhook(id)).toMatchObject({ disabledReason: "FAILING" });
    expect(await deliveriesOf(tenant, id)).toMatchObject([{ status: "FAILED", nextAttemptAt: null }]);
    await until("others heard", () => watcher.received.length === 1);
    expect(JSON.parse(watcher.received[0]?.body ?? "")).toMatchObject({
      data: { after: { disabledReason: "FAILING" } },
    });
    await watcher.close();
  });

  test("is not disabled for failures before a success", async () => {
    receiver.answer = inTurn(answering(500), answering(204), answering(500));
    const { id } = await createWebhook(tenant, receiver.url);
    await makeNews(tenant);
    await onlyDelivery(tenant, id, attempted(1));
    world.clock.advance(2 * dayMs);
    await onlyDelivery(tenant, id, isDelivered);
    expect(await readWebhook(id)).not.toHaveProperty("failingSince");
    world.clock.advance(2 * dayMs);
    await makeNews(tenant);
    await until("the second failed", async () => (await deliveriesOf(tenant, id))[1]?.attempts.length === 1);
    expect(await readWebhook(id)).toMatchObject({ active: true, failingSince: world.clock.now().toISOString() });
  });

  test("that is activated again starts at the current event, with a new failure time", async () => {
    receiver.answer = inTurn(answering(410), answering(500));
    const { id } = await createWebhook(tenant, receiver.url);
    await makeNews(tenant);
    await until("it is disabled", async () => !(await readWebhook(id)).active);
    await makeNews(tenant);
    world.clock.advance(10 * dayMs);
    const { body } = await tenant.client.patch(`/tenants/webhooks/${id}`, { active: true });
    expect(body).toMatchObject({ active: true });
    for (const field of ["disabledReason", "disabledAt", "failingSince"]) expect(body).not.toHaveProperty(field);
    await makeNews(tenant);
    await until("it was told", () => receiver.received.length === 2);
    await until("the attempt is noted", async () => (await deliveriesOf(tenant, id))[1]?.attempts.length === 1);
    expect(await deliveriesOf(tenant, id)).toHaveLength(2);
    expect((await readWebhook(id)).active).toBe(true);
  });
});

describe("a redelivery", () => {
  test("has the same id and content, and all attempts again", async () => {
    receiver.answer = inTurn(answering(204), answering(500), answering(204));
    const { id } = await createWebhook(tenant, receiver.url);
    await makeNews(tenant);
    const delivered = await onlyDelivery(tenant, id, isDelivered);
    // The webhook also receives redelivery events, which do not matter here.
    await tenant.client.must.patch(`/tenants/webhooks/${id}`, { events: ["protocol.created"] });
    const path = `/tenants/webhooks/${id}/deliveries/${delivered.id}`;
    const { body } = await tenant.client.post(`${path}/redeliver`);
    expect(body).toMatchObject({ id: delivered.id, status: "PENDING", nextAttemptAt: world.clock.now().toISOString() });
    const attempts = async () => (await tenant.client.get(path)).body.attempts;
    await until("it was sent", async () => (await attempts()).length === 2);
    world.clock.advance(5_000);
    await until("it was sent again", async () => (await attempts()).length === 3);
    expect((await tenant.client.get(path)).body).toMatchObject({
      status: "DELIVERED",
      attempts: [{}, { statusCode: 500 }, {}],
    });
    const own = receiver.received.filter(({ headers }) => headers["webhook-id"] === delivered.id);
    expect(own).toHaveLength(3);
    expect(new Set(own.map((message) => message.body)).size).toBe(1);
  });
});

describe("a rotation", () => {
  const verifies = (secret: string, message = receiver.received.at(-1)) => {
    try {
      new Webhook(secret).verify(message?.body ?? "", message?.headers ?? {});
      return true;
    } catch {
      return false;
    }
  };
  const send = async (from: TestTenant, id: string) => {
    const before = receiver.received.length;
    await from.client.must.post(`/tenants/webhooks/${id}/test`);
    await until("it came", () => receiver.received.length > before);
  };

  test("signs with both secrets for the grace, and then with the new one", async () => {
    // The library compares timestamps with the machine's clock, so use it in its own server.
    const { server, clock, close } = await createWebhookWorld();
    const own = await server.newTenant();
    const { id, secret: first } = await createWebhook(own, receiver.url, { events: ["user.created"] });
    await send(own, id);
    expect(verifies(first)).toBe(true);
    const rotate = async (graceSeconds: number) =>
      (await own.client.post(`/tenants/webhooks/${id}/rotate-secret`, { graceSeconds })).body.secret;
    const second = await rotate(60);
    await send(own, id);
    expect(receiver.received.at(-1)?.headers["webhook-signature"]?.split(" ")).toHaveLength(2);
    expect([first, second].map((secret) => verifies(secret))).toEqual([true, true]);
    clock.advance(60_000);
    await send(own, id);
    expect([first, second].map((secret) => verifies(secret))).toEqual([false, true]);
    const third = await rotate(60);
    const fourth = await rotate(60);
    await send(own, id);
    expect([second, third, fourth].map((secret) => verifies(secret))).toEqual([false, true, true]);
    const fifth = await rotate(0);
    await send(own, id);
    expect([third, fourth, fifth].map((secret) => verifies(secret))).toEqual([false, false, true]);
    expect(receiver.received.at(-1)?.headers["webhook-signature"]?.split(" ")).toHaveLength(1);
    await close();
  });
});

test("the log drops finished deliveries after thirty days, and nothing else", async () => {
  const { server, clock, connection, close } = await createWebhookWorld({ deliver: false });
  const own = await server.newTenant();
  const { id } = await createWebhook(own, receiver.url);
  await insertStaleDelivery(server.database, own.id, id, randomUUID());
  await own.client.must.post(`/tenants/webhooks/${id}/test`);
  const log = createLog("silent");
  const jobs = new JobQueue({ connection, log });
  const dispatcher = new WebhookDispatcher({ database: server.database, jobs, clock, log, changed() {} });
  clock.advance(29 * dayMs);
  await dispatcher.clearLog();
  expect(await deliveriesOf(own, id)).toHaveLength(2);
  clock.advance(2 * dayMs);
  await dispatcher.clearLog();
  expect(await deliveriesOf(own, id)).toMatchObject([{ status: "PENDING" }]);
  await close();
});

test("a message of a job that ended with its replica while the clock was days ahead is sent", async () => {
  const { server, clock, close, replica } = await createWebhookWorld({ deliver: false });
  const own = await server.newTenant();
  const { id } = await createWebhook(own, receiver.url, { events: ["protocol.created"] });
  await own.client.must.post(`/tenants/webhooks/${id}/test`);
  await holdDeliveries(server.database, own.id, id, new Date(clock.now().getTime() + 3 * dayMs));
  await replica({ deliver: true });
  await onlyDelivery(own, id, isDelivered);
  await close();
});

test("a message that a replica whose clock is half an hour ahead is sending is not sent twice", async () => {
  const { server, clock, close, replica } = await createWebhookWorld({ deliver: false });
  const own = await server.newTenant();
  const held = await createWebhook(own, receiver.url, { events: ["protocol.created"] });
  const other = await createWebhook(own, receiver.url, { events: ["protocol.created"] });
  await own.client.must.post(`/tenants/webhooks/${held.id}/test`);
  await holdDeliveries(server.database, own.id, held.id, new Date(clock.now().getTime() + jobTimeoutMs + hourMs / 2));
  await replica({ deliver: true });
  // A message that follows one that was sent shows that the due deliveries were searched after the hold.
  for (const count of [1, 2]) {
    await own.client.must.post(`/tenants/webhooks/${other.id}/test`);
    await until("the other message is sent", () => receiver.received.length >= count);
  }
  expect(await deliveriesOf(own, held.id)).toMatchObject([{ status: "PENDING", attempts: [] }]);
  await close();
});

test("a locked, future-dated message does not delay other messages", async () => {
  const { server, clock, close, replica } = await createWebhookWorld({ deliver: false });
  const own = await server.newTenant();
  const locked = await createWebhook(own, receiver.url, { events: ["protocol.created"] });
  const other = await createWebhook(own, receiver.url, { events: ["protocol.created"] });
  for (const { id } of [locked, other]) await own.client.must.post(`/tenants/webhooks/${id}/test`);
  await holdDeliveries(server.database, own.id, locked.id, new Date(clock.now().getTime() + 3 * dayMs));
  await whileLocked(server.database, own.id, locked.id, async () => {
    await replica({ deliver: true });
    await onlyDelivery(own, other.id, isDelivered);
  });
  await onlyDelivery(own, locked.id, isDelivered);
  await close();
});

test("a message whose event is cleared before it is sent fails, and says why", async () => {
  const { server, clock, close, replica } = await createWebhookWorld({ deliver: false });
  const own = await server.newTenant();
  const { id } = await createWebhook(own, receiver.url);
  await insertStaleDelivery(server.database, own.id, id, randomUUID(), clock.now());
  await replica({ deliver: true });
  await until("it was looked at", async () => (await deliveriesOf(own, id))[0].status === "FAILED");
  expect(await deliveriesOf(own, id)).toMatchObject([{ attempts: [{ error: "the event was pruned" }] }]);
  expect((await own.client.get(`/tenants/webhooks/${id}`)).body).not.toHaveProperty("failingSince");
  expect(receiver.received).toEqual([]);
  await close();
});

test("a message without space on the server is postponed longer each time, as one attempt without a failure", async () => {
  const problem = "the request was not sent, because other large requests took too long";
  let requests = 0;
  const exchange: Exchange = async (request, signal) => {
    requests += 1;
    const hasSpace = requests === 1 || requests > 4;
    return hasSpace ? performExchange(request, signal) : { kind: "postponed", problem };
  };
  const { server, clock, close } = await createWebhookWorld({ exchange });
  const own = await server.newTenant();
  const failing = async (id: string) => (await own.client.get(`/tenants/webhooks/${id}`)).body.failingSince;
  receiver.answer = answering(500);
  const { id } = await createWebhook(own, receiver.url, { events: ["protocol.created"] });
  await makeNews(own);
  await onlyDelivery(own, id, attempted(1));
  const failingSince = await failing(id);
  clock.advance(retryDelaysMs[0] ?? 0);
  for (const seconds of [30, 60, 120]) {
    const at = clock.now().toISOString();
    const delivery = await onlyDelivery(own, id, ({ attempts }) => attempts.at(-1).at === at);
    expect(delivery).toMatchObject({ status: "PENDING", attempts: [{ statusCode: 500 }, { error: problem }] });
    expect(Date.parse(delivery.nextAttemptAt) - clock.now().getTime()).toBe(seconds * 1_000);
    expect(await failing(id)).toBe(failingSince);
    clock.advance(seconds * 1_000);
  }
  const { nextAttemptAt } = await onlyDelivery(own, id, attempted(3));
  expect(Date.parse(nextAttemptAt) - clock.now().getTime()).toBe(retryDelaysMs[1]);
  await close();
});

test.each([
  ["whose event has", maxBodyBytes],
  ["that with its event has", maxBodyBytes - 100],
])("a message %s more than 32 MiB fails at once, without a request", async (_what, size) => {
  const { id } = await createWebhook(tenant, receiver.url, { events: ["user.created"] });
  await insertAuditEntries(world.server.database, tenant.id, 1, size);
  const { attempts } = await onlyDelivery(tenant, id, attempted(1));
  expect(attempts).toMatchObject([{ error: "the message has more than 32 MiB" }]);
  expect(await deliveriesOf(tenant, id)).toMatchObject([{ status: "FAILED", nextAttemptAt: null }]);
  expect(await readWebhook(id)).not.toHaveProperty("failingSince");
  const path = `/tenants/webhooks/${id}/deliveries`;
  expect((await tenant.client.post(`${path}/${(await deliveriesOf(tenant, id))[0].id}/redeliver`)).status).toBe(200);
  expect(await onlyDelivery(tenant, id, attempted(2))).toMatchObject({ status: "FAILED" });
  expect(receiver.received).toEqual([]);
});
