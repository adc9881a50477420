/** Puts the parts of a server together over a database that is there and migrated. */
import type { FastifyInstance } from "fastify";
import { ApiKeyAuthenticator } from "./features/api-keys/api-keys.api.ts";
import {
  type Installation,
  operatorAuthenticator,
  type SetUpSettings,
  setUpInstallation,
} from "./features/tenants/tenants.api.ts";
import { createApp } from "./http/app.ts";
import { type Clock, systemClock } from "./platform/clock.ts";
import type { CommandRunner } from "./platform/command.ts";
import { type Connection, Database } from "./platform/db/database.ts";
import { NotificationChannel } from "./platform/db/notifications.ts";
import { clearExpiredReplies } from "./platform/idempotency.queries.ts";
import type { Log } from "./platform/log.ts";
import { clearOutbox } from "./platform/outbox/outbox.queries.ts";
import { OutboxFollower } from "./platform/outbox/outbox-follower.ts";
import { createSecretBox } from "./platform/secrets/master-key.ts";
import { routes } from "./routes.ts";
import { Reconciler } from "./tasks/reconciler.ts";

export interface ComposeOptions {
  readonly connection: Connection;
  readonly poolSize: number;
  /** 32 bytes; encrypts stored secrets. */
  readonly masterKey: Buffer;
  readonly setUp: SetUpSettings;
  readonly trustedProxies: readonly string[];
  readonly log: Log;
  readonly clock?: Clock;
}

export interface Composition {
  readonly app: FastifyInstance;
  readonly installation: Installation;
  readonly database: Database;
  readonly authenticator: ApiKeyAuthenticator;
  /** Drains requests, writes what is pending, and closes every connection. */
  close(): Promise<void>;
}

/** Outbox entries are kept for this long, in milliseconds: far longer than a replica can be behind. */
const outboxKeptForMs = 60 * 60 * 1000;
const minuteMs = 60_000;

export async function compose(options: ComposeOptions): Promise<Composition> {
  const { connection, log, clock = systemClock } = options;
  const database = new Database({
    connection,
    poolSize: options.poolSize,
    onIdleError: (error) => log.warn({ err: error }, "a database connection broke"),
  });
  const follower = new OutboxFollower({ database, clock, log });
  const channel = new NotificationChannel(connection, "gatehouse_outbox", () => follower.wake());
  const runner: CommandRunner = {
    database,
    secrets: {
      replies: createSecretBox(options.masterKey, "idempotent-reply"),
      gatewayTokens: createSecretBox(options.masterKey, "gateway-token"),
    },
    committed: () => {
      follower.wake();
      channel.notify();
    },
  };
  const installation = await setUpInstallation(runner, options.setUp, clock.now());
  await follower.start();
  await channel.open();
  const apiKeys = new ApiKeyAuthenticator({ database, follower, clock });
  const app = createApp({
    log,
    routes,
    runner,
    clock,
    trustedProxies: options.trustedProxies,
    authenticator: {
      tenantKey: (key, sourceAddress) => apiKeys.authenticate(key, sourceAddress),
      operatorKey: operatorAuthenticator(installation.operatorKeyHash),
    },
    ready: () => database.ping(),
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
  for (const reconciler of reconcilers) reconciler.start();
  return {
    app,
    installation,
    database,
    authenticator: apiKeys,
    async close() {
      await app.close();
      await Promise.all(reconcilers.map((reconciler) => reconciler.stop()));
      await apiKeys.usage.flush().catch((error: unknown) => log.warn({ err: error }, "the last uses of keys are lost"));
      await follower.stop();
      await channel.close();
      await database.close();
    },
  };
}
