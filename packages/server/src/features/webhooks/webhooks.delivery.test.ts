import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";
import { WebhookReceiver } from "../../testing/webhook-receiver.ts";
import {
  createWebhook,
  createWebhookWorld,
  deliveriesOf,
  makeNews,
  onlyDelivery,
  type WebhookWorld,
} from "../../testing/webhook-world.ts";

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
afterEach(() => receiver.close());
afterAll(() => world.close());

const received = (count: number) => until(`${count} messages came`, () => receiver.received.length >= count);
const isDelivered = ({ status }: { status: string }) => status === "DELIVERED";

describe("an event", () => {
  test("is posted as the API shows it, signed by the Standard Webhooks specification", async () => {
    const { id, secret } = await createWebhook(tenant, receiver.url);
    await makeNews(tenant);
    const delivery = await onlyDelivery(tenant, id, isDelivered);

    const [message] = receiver.received;
    const { body: events } = await tenant.client.get("/tenants/events?filter[target.type]=protocol&sort=-id&limit=1");
    const [event] = events.data;
    expect(message).toMatchObject({ method: "POST", path: "/hook", headers: { "content-type": "application/json" } });
    expect(new Webhook(secret).verify(message?.body ?? "", message?.headers ?? {})).toEqual({
      type: "protocol.created",
      timestamp: event.createdAt,
      data: event,
    });
    expect(message?.headers["webhook-id"]).toBe(delivery.id);
    expect(delivery).toMatchObject({
      webhookId: id,
      eventId: event.id,
      type: "protocol.created",
      attempts: [{ statusCode: 204 }],
      nextAttemptAt: null,
    });
    expect(receiver.received).toHaveLength(1);
  });

  test("before the creation of the webhook is not delivered, nor is the creation", async () => {
    await makeNews(tenant);
    const { id } = await createWebhook(tenant, receiver.url);
    await makeNews(tenant);
    await received(1);
    expect(await deliveriesOf(tenant, id)).toHaveLength(1);
  });

  test("is sent to webhooks whose `events` match, and to those without filters", async () => {
    const filters = [
      [],
      ["protocol.created"],
      ["protocol.*"],
      ["deleteProtocol"],
      ["user.*"],
      ["user.*", "createProtocol"],
    ];
    const ids: string[] = [];
    for (const events of filters) ids.push((await createWebhook(tenant, receiver.url, { events })).id);
    const protocol = await makeNews(tenant);
    await tenant.client.must.delete(`/tenants/protocols/${protocol}`);
    // The first webhook also receives the creation of the others.
    await received(2 + 1 + 2 + 1 + 0 + 1 + (filters.length - 1));
    const types = await Promise.all(
      ids.map(async (id) => (await deliveriesOf(tenant, id)).map(({ type }: { type: string }) => type)),
    );
    const [created, deleted] = ["protocol.created", "protocol.deleted"];
    expect(types.slice(1)).toEqual([[created], [created, deleted], [deleted], [], [created]]);
    expect(types[0].slice(-2)).toEqual([created, deleted]);
  });

  test("is not another tenant's", async () => {
    const other = await world.server.newTenant();
    const { id } = await createWebhook(tenant, receiver.url);
    await makeNews(other);
    await makeNews(tenant);
    await received(1);
    expect(await deliveriesOf(tenant, id)).toHaveLength(1);
  });

  test("is delivered for each entry of a command that made many", async () => {
    const { id } = await createWebhook(tenant, receiver.url, { events: ["user.created"] });
    const people = Array.from({ length: 100 }, (_, index) => ({ email: `person-${index}@example.com` }));
    await tenant.client.must.post("/tenants/users", people);
    await received(100);
    const { body } = await tenant.client.get(`/tenants/webhooks/${id}/deliveries`);
    expect(body.total).toBe(100);
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).toBe(100);
  });
});
