/** Puts the parts of a server together over a database that is there and migrated. */
import type { FastifyInstance } from "fastify";
import { ApiKeyAuthenticator } from "./features/api-keys/api-keys.api.ts";
import {
  type Installation,
  operatorAuthenticator,
  type SetUpSettings,
  setUpInstallation,
} from "./features/tenants/tenants.api.ts";
import { deliverWebhooks, type WebhookDeliverySettings } from "./features/webhooks/webhooks.api.ts";
import { createApp } from "./http/app.ts";
import { type Clock, systemClock } from "./platform/clock.ts";
import type { CommandRunner } from "./platform/command.ts";
import { type Connection, Database, type DatabaseOptions } from "./platform/db/database.ts";
import { NotificationChannel } from "./platform/db/notifications.ts";
import { requireReady } from "./platform/db/readiness.queries.ts";
import { clearExpiredReplies } from "./platform/idempotency.queries.ts";
import { JobQueue } from "./platform/jobs/job-queue.ts";
import type { Log } from "./platform/log.ts";
import { allowedNetworks } from "./platform/outbound/outbound-networks.ts";
import { clearOutbox, outboxKeptForMs } from "./platform/outbox/outbox.queries.ts";
import { OutboxFollower } from "./platform/outbox/outbox-follower.ts";
import { RecordCache } from "./platform/record-cache.ts";
import { createSecretBox } from "./platform/secrets/master-key.ts";
import { currentGeneration } from "./platform/tenancy/generation.queries.ts";
import { GenerationReader } from "./platform/tenancy/generation-reader.ts";
import { routes } from "./routes.ts";
import { Reconciler } from "./tasks/reconciler.ts";

/** How webhooks are delivered. */
export interface WebhookSettings extends Partial<WebhookDeliverySettings> {
  /** Addresses and CIDRs that they may lead to besides the internet; none where absent. */
  readonly networks?: readonly string[];
  /** False keeps deliveries for other replicas to make. */
  readonly deliver?: boolean;
  /** How often deliveries that are due are looked for, in milliseconds. */
  readonly intervalMs?: number;
}

export interface ComposeOptions {
  readonly connection: Connection;
  readonly poolSize: number;
  /** 32 bytes; encrypts stored secrets. */
  readonly masterKey: Buffer;
  readonly setUp: SetUpSettings;
  readonly trustedProxies: readonly string[];
  readonly log: Log;
  readonly clock?: Clock;
  readonly webhooks?: WebhookSettings;
  /** How long a whole request may take to arrive, in milliseconds. */
  readonly requestTimeoutMs?: number;
  /** Other time limits of the database than its own. */
  readonly databaseLimits?: Pick<DatabaseOptions, "statementTimeoutMs" | "answerTimeoutMs" | "connectTimeoutMs">;
}

export interface Composition {
  readonly app: FastifyInstance;
  readonly installation: Installation;
  readonly database: Database;
  readonly runner: CommandRunner;
  readonly authenticator: ApiKeyAuthenticator;
  /** Drains requests, writes what is pending, and closes every connection. */
  close(): Promise<void>;
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const disableWebhooksAfterMs = 3 * dayMs;

export async function compose(options: ComposeOptions): Promise<Composition> {
  const { connection, log, clock = systemClock } = options;
  let closing = false;
  const database = new Database({
    connection,
    poolSize: options.poolSize,
    ...options.databaseLimits,
    onIdleError(error) {
      // The last connections may hear of the end of the database before that of their pool.
      if (!closing) log.warn({ err: error }, "a database connection broke");
    },
  });
  const follower = new OutboxFollower({ database, clock, log });
  const channel = new NotificationChannel(connection, "gatehouse_outbox", () => follower.wake());
  const records = new RecordCache();
  follower.subscribe({ changed: () => undefined, missed: () => records.clear() });
  const runner: CommandRunner = {
    database,
    records,
    generations: new GenerationReader((tenantId) => currentGeneration(database, tenantId)),
    secrets: {
      replies: createSecretBox(options.masterKey, "idempotent-reply"),
      gatewayTokens: createSecretBox(options.masterKey, "gateway-token"),
      webhookSecrets: createSecretBox(options.masterKey, "webhook-secret"),
      masterKeyCheck: createSecretBox(options.masterKey, "master-key-check"),
    },
    webhookNetworks: allowedNetworks(options.webhooks?.networks ?? []),
    committed: () => {
      follower.wake();
      channel.notify();
    },
  };
  const installation = await setUpInstallation(runner, options.setUp, clock.now()).catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  await follower.start();
  await channel.open();
  const apiKeys = new ApiKeyAuthenticator({ database, follower, clock });
  const app = createApp({
    log,
    routes,
    runner,
    clock,
    trustedProxies: options.trustedProxies,
    ...(options.requestTimeoutMs === undefined ? {} : { requestTimeoutMs: options.requestTimeoutMs }),
    authenticator: {
      tenantKey: (key, sourceAddress) => apiKeys.authenticate(key, sourceAddress),
      operatorKey: operatorAuthenticator(installation.operatorKeyHash),
    },
    ready: () => requireReady(database),
  });
  const reconcilers = [
    { name: "key-usage", intervalMs: 10_000, run: () => apiKeys.usage.flush() },
    {
      name: "outbox-retention",
      intervalMs: 10 * minuteMs,
      run: () => clearOutbox(database, new Date(clock.now().getTime() - outboxKeptForMs)),
    },
    { name: "reply-retention", intervalMs: 10 * minuteMs, run: () => clearExpiredReplies(database) },
  ].map((task) => new Reconciler({ ...task, log }));
  const webhooks = await startWebhooks(options, { runner, follower, clock }).catch(async (error: unknown) => {
    await Promise.all([follower.stop(), channel.close(), app.close()]);
    await database.close();
    throw error;
  });
  reconcilers.push(...(webhooks?.reconcilers ?? []));
  for (const reconciler of reconcilers) reconciler.start();
  return {
    app,
    installation,
    database,
    runner,
    authenticator: apiKeys,
    async close() {
      closing = true;
      await app.close();
      await Promise.all([...reconcilers.map((reconciler) => reconciler.stop()), webhooks?.jobs.stop()]);
      await apiKeys.usage.flush().catch((error: unknown) => log.warn({ err: error }, "the last uses of keys are lost"));
      await follower.stop();
      await channel.close();
      await database.close();
    },
  };
}

/** Delivers webhooks, and does what that needs now and then. */
async function startWebhooks(
  options: ComposeOptions,
  parts: { readonly runner: CommandRunner; readonly follower: OutboxFollower; readonly clock: Clock },
): Promise<{ readonly jobs: JobQueue; readonly reconcilers: readonly Reconciler[] } | undefined> {
  const { connection, log, webhooks: { deliver = true, intervalMs = 1_000, networks: _, ...settings } = {} } = options;
  if (!deliver) return undefined;
  const jobs = new JobQueue({ connection, log, pollIntervalMs: intervalMs });
  await jobs.start();
  const dispatcher = deliverWebhooks(
    { ...parts, jobs, log, settings: { disableAfterMs: disableWebhooksAfterMs, ...settings } },
    () => dispatching.wake(),
  );
  const dispatching: Reconciler = new Reconciler({
    name: "webhook-dispatch",
    intervalMs,
    run: () => dispatcher.run(),
    log,
  });
  return {
    jobs,
    reconcilers: [
      dispatching,
      new Reconciler({ name: "webhook-log", intervalMs: 60 * minuteMs, run: () => dispatcher.clearLog(), log }),
      new Reconciler({ name: "jobs", intervalMs: 10 * minuteMs, run: () => jobs.maintain(), log }),
    ],
  };
}
