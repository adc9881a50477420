/** A server that delivers webhooks, with its own database, because on a shared one others would make its deliveries. */
import { expect } from "vitest";
import type { WebhookSettings } from "../composition/compose-tasks.ts";
import type { Connection } from "../platform/db/database.ts";
import { unique } from "./operations/test-records.ts";
import { TestClock } from "./test-clock.ts";
import { createDatabase } from "./test-database.ts";
import { startTestServer, type TestReply, type TestServer, type TestTenant } from "./test-server.ts";
import { until } from "./until.ts";

export interface WebhookWorld {
  readonly server: TestServer;
  readonly clock: TestClock;
  readonly connection: Connection;
  /** Starts another replica on the same database, with the same clock, and with its own connection if one is given. */
  replica(webhooks?: WebhookSettings, connection?: Connection): Promise<TestServer>;
  /** Stops a replica before the others. */
  stop(replica: TestServer): Promise<void>;
  close(): Promise<void>;
}

/** Short, so that tests wait little, but polling every few milliseconds would use much of their processor time. */
const intervalMs = 100;

export async function createWebhookWorld(webhooks: WebhookSettings = {}): Promise<WebhookWorld> {
  const own = await createDatabase();
  const clock = new TestClock();
  const replicas = new Set<TestServer>();
  const replica = async (other: WebhookSettings = {}, connection = own.connection) => {
    const settings = {
      networks: ["127.0.0.0/8"],
      intervalMs,
      random: () => 0,
      timeoutMs: 5_000,
      ...webhooks,
      ...other,
    };
    const started = await startTestServer({
      connection,
      clock,
      settings: { webhooks: settings, poolSize: 4, metrics: true },
    });
    replicas.add(started);
    return started;
  };
  return {
    server: await replica(),
    clock,
    connection: own.connection,
    replica,
    async stop(stopped) {
      replicas.delete(stopped);
      await stopped.close();
    },
    async close() {
      await Promise.all([...replicas].map((started) => started.close()));
      await own.drop();
    },
  };
}

/** Creates a webhook. */
export async function createWebhook(tenant: TestTenant, url: string, more: object = {}): Promise<TestReply["body"]> {
  const { status, body, text } = await tenant.client.post("/tenants/webhooks", { url, ...more });
  expect(status, text).toBe(201);
  return body;
}

/** Performs a command that records one audit entry, `protocol.created`. */
export async function makeNews(tenant: TestTenant): Promise<string> {
  const { body } = await tenant.client.post("/tenants/protocols", {
    name: unique("Protocol"),
    networkProtocols: [{ protocol: "TCP", port: "8443" }],
  });
  return body.id;
}

/** The webhook's deliveries, the oldest first. */
export async function deliveriesOf(tenant: TestTenant, webhookId: string): Promise<TestReply["body"]> {
  return (await tenant.client.get(`/tenants/webhooks/${webhookId}/deliveries?limit=100`)).body.data;
}

/** Waits until the webhook's only delivery is as expected, and returns it. */
export async function onlyDelivery(
  tenant: TestTenant,
  webhookId: string,
  expected: (delivery: TestReply["body"]) => boolean,
): Promise<TestReply["body"]> {
  let found: TestReply["body"];
  await until("the delivery is as expected", async () => {
    const all = await deliveriesOf(tenant, webhookId);
    found = all[0];
    return all.length === 1 && expected(found);
  }).catch((error: unknown) => {
    throw new Error(`the delivery is ${JSON.stringify(found)}`, { cause: error });
  });
  return found;
}
