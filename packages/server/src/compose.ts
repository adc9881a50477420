/** Puts the parts of a server together over a database that is there and migrated. */
import { deviceLinkPath, deviceLinkSubprotocol } from "@gatehouse/agent-protocol/device/frames";
import { gatewayLinkPath, gatewayLinkSubprotocol } from "@gatehouse/agent-protocol/gateway/frames";
import type { FastifyInstance } from "fastify";
import type { LinkLimits } from "./agents/channel/connection-gate.ts";
import { DeviceLinks } from "./agents/devices/device-links.ts";
import { GatewayLinks } from "./agents/gateways/gateway-links.ts";
import { DeviceSources } from "./agents/sources/device-sources.ts";
import { Ledger, ModelStore } from "./features/access/access.api.ts";
import { accessTestGuard } from "./features/access-tests/access-tests.api.ts";
import { ApiKeyAuthenticator } from "./features/api-keys/api-keys.api.ts";
import { AppliedWaiting } from "./features/gateways/gateways.api.ts";
import { ConsoleSessions } from "./features/sessions/sessions.api.ts";
import {
  type Installation,
  operatorAuthenticator,
  type SetUpSettings,
  setUpInstallation,
} from "./features/tenants/tenants.api.ts";
import { deliverWebhooks, type WebhookDeliverySettings } from "./features/webhooks/webhooks.api.ts";
import { createApp } from "./http/app.ts";
import type { LinkSocket } from "./http/link-sockets.ts";
import type { RateLimit } from "./http/rate-limits.ts";
import { type EventStreamLimits, EventStreams, eventStreamLimits } from "./platform/audit/event-streams.ts";
import { signCheckpoints } from "./platform/audit/sign-checkpoints.ts";
import { AuditSigner } from "./platform/audit/signatures.ts";
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
import { WindowCounts, type WindowCountsOptions } from "./platform/rate-limits/window-counts.ts";
import { RecordCache } from "./platform/record-cache.ts";
import { createSecretBox } from "./platform/secrets/master-key.ts";
import type { Metrics } from "./platform/telemetry/metrics.ts";
import type { Tracing } from "./platform/telemetry/tracing.ts";
import { currentGeneration } from "./platform/tenancy/generation.queries.ts";
import { GenerationReader } from "./platform/tenancy/generation-reader.ts";
import { recordReferences } from "./record-references.ts";
import { routes } from "./routes.ts";
import { pruneRecords } from "./tasks/prune-records.ts";
import { Reconciler, type ReconcilerOptions } from "./tasks/reconciler.ts";
import { sharedCountTasks } from "./tasks/share-counts.ts";

export interface AuditSettings {
  /** The time between two signings of the chains' heads, in seconds. */
  readonly checkpointSeconds: number;
  /** For how many days entries are kept; undefined for ever. */
  readonly retentionDays: number | undefined;
}

/** How webhooks are delivered. */
export interface WebhookSettings extends Partial<WebhookDeliverySettings> {
  /** Addresses and CIDRs that they may lead to besides the internet; none where absent. */
  readonly networks?: readonly string[];
  /** False keeps deliveries for other replicas to make. */
  readonly deliver?: boolean;
  /** How often deliveries that are due are looked for, in milliseconds. */
  readonly intervalMs?: number;
}

/** How devices are served. */
export interface DeviceLinkSettings {
  /** Other limits than the usual. */
  readonly limits?: Partial<LinkLimits>;
  /** How long configurations may be used without the control plane, in milliseconds. */
  readonly lifeMs?: number;
  /** How often it is looked what time alone brings, in milliseconds. */
  readonly tickMs?: number;
}

/** How gateways are served. */
export interface GatewayLinkSettings extends DeviceLinkSettings {
  /** How long connections that run may finish once their gateway is in maintenance, in milliseconds. */
  readonly drainMs?: number;
  /** False leaves it to other replicas to notice that gateways fell silent. */
  readonly watch?: boolean;
}

export interface ComposeOptions {
  readonly connection: Connection;
  readonly poolSize: number;
  /** 32 bytes; encrypts stored secrets. */
  readonly masterKey: Buffer;
  readonly setUp: SetUpSettings;
  readonly trustedProxies: readonly string[];
  /** Where the console was built; undefined where it is not to be served. */
  readonly consoleFolder?: string;
  readonly log: Log;
  readonly clock?: Clock;
  readonly audit?: AuditSettings;
  /** Other limits of live streams than the usual. */
  readonly streams?: Partial<EventStreamLimits>;
  readonly webhooks?: WebhookSettings;
  readonly gatewayLinks?: GatewayLinkSettings;
  readonly deviceLinks?: DeviceLinkSettings;
  /** How long a whole request may take to arrive, in milliseconds. */
  readonly requestTimeoutMs?: number;
  /** Whether figures for Prometheus are kept. */
  readonly metrics?: boolean;
  readonly tracing?: Tracing | undefined;
  /** None where absent. */
  readonly rateLimits?: RateLimitSettings;
  /** Other time limits of the database than its own. */
  readonly databaseLimits?: Pick<DatabaseOptions, "statementTimeoutMs" | "answerTimeoutMs" | "connectTimeoutMs">;
}

/** How often callers may ask; 0 for any number. */
export interface RateLimitSettings {
  /** Requests of one key in a minute. */
  readonly perMinute: number;
  /** Failed authentications from one address in five minutes. */
  readonly authFailures: number;
  /** Whether all replicas count together. */
  readonly shared: boolean;
}

export interface Composition {
  readonly app: FastifyInstance;
  readonly installation: Installation;
  readonly database: Database;
  readonly runner: CommandRunner;
  readonly authenticator: ApiKeyAuthenticator;
  /** Undefined unless they were asked for. */
  readonly metrics: Metrics | undefined;
  readonly links: GatewayLinks;
  readonly deviceLinks: DeviceLinks;
  readonly deviceSources: DeviceSources;
  /** The work in the background, by its name. */
  readonly tasks: ReadonlyMap<string, Reconciler>;
  /** Drains requests, writes what is pending, and closes every connection. */
  close(): Promise<void>;
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const disableWebhooksAfterMs = 3 * dayMs;

export async function compose(options: ComposeOptions): Promise<Composition> {
  const { connection, log, tracing, clock = systemClock } = options;
  let metrics: Metrics | undefined;
  const { checkpointSeconds, retentionDays } = options.audit ?? { checkpointSeconds: 60, retentionDays: undefined };
  let closing = false;
  const database = new Database({
    connection,
    poolSize: options.poolSize,
    ...options.databaseLimits,
    onQuery: tracing?.startQuery,
    onIdleError(error) {
      // The last connections may hear of the end of the database before that of their pool.
      if (!closing) log.warn({ err: error }, "a database connection broke");
    },
  });
  const follower = new OutboxFollower({ database, clock, log });
  const channel = new NotificationChannel(connection, "gatehouse_outbox", () => follower.wake());
  const records = new RecordCache();
  follower.subscribe({ changed: () => undefined, missed: () => records.clear() });
  const signer = new AuditSigner(options.masterKey);
  const streams = new EventStreams({ ...eventStreamLimits, ...options.streams });
  follower.subscribe(streams);
  const generations = new GenerationReader((tenantId) => currentGeneration(database, tenantId));
  const models = new ModelStore({ database, generations, clock });
  follower.subscribe(models);
  const runner: CommandRunner = {
    audit: { signer, streams },
    clock,
    database,
    records,
    generations,
    models,
    ledger: new Ledger({ models, clock, guard: accessTestGuard }),
    references: recordReferences,
    secrets: {
      replies: createSecretBox(options.masterKey, "idempotent-reply"),
      gatewayTokens: createSecretBox(options.masterKey, "gateway-token"),
      webhookSecrets: createSecretBox(options.masterKey, "webhook-secret"),
      signingKeys: createSecretBox(options.masterKey, "signing-key"),
      masterKeyCheck: createSecretBox(options.masterKey, "master-key-check"),
    },
    webhookNetworks: allowedNetworks(options.webhooks?.networks ?? []),
    committed: (auditEntries) => {
      metrics?.auditEntriesWritten(auditEntries);
      follower.wake();
      channel.notify();
    },
  };
  const sources = new DeviceSources({ database, log });
  const links = new GatewayLinks({
    runner,
    clock,
    log,
    sources,
    lagged: (lagMs) => metrics?.configurationApplied(lagMs),
    ...options.gatewayLinks,
  });
  follower.subscribe(links);
  const deviceLinks = new DeviceLinks({ runner, clock, log, sources, ...options.deviceLinks });
  follower.subscribe(deviceLinks);
  sources.follow(links);
  sources.follow(deviceLinks);
  const installation = await setUpInstallation(runner, options.setUp, clock.now()).catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  await follower.start();
  await channel.open();
  const apiKeys = new ApiKeyAuthenticator({ database, follower, clock });
  const sessions = new ConsoleSessions({ database, clock, apiKeys });
  const { perMinute = 0, authFailures = 0, shared = false } = options.rateLimits ?? {};
  const rateLimits = {
    requests: rateLimit(perMinute, { windowMs: minuteMs, clock, shared }),
    failures: rateLimit(authFailures, { windowMs: 5 * minuteMs, clock, shared }),
  };
  if (options.metrics === true) {
    const { openMetrics } = await import("./platform/telemetry/metrics.ts");
    metrics = openMetrics({
      pool: () => database.poolState,
      outboxLagMs: () => clock.elapsedMs() - follower.currentAsOf,
      caches: { records: () => records.state, keys: () => apiKeys.cacheState },
      eventStreams: () => streams.size,
      gatewayLinks: () => links.state,
      deviceLinks: () => deviceLinks.state,
    });
  }
  const waiting = new AppliedWaiting(database, clock);
  const app = createApp({
    log,
    metrics,
    tracing,
    routes,
    runner,
    clock,
    trustedProxies: options.trustedProxies,
    rateLimits,
    links: socketsOf(links, deviceLinks),
    awaitApplied: (...asked) => waiting.wait(...asked),
    ...(options.requestTimeoutMs === undefined ? {} : { requestTimeoutMs: options.requestTimeoutMs }),
    authenticator: {
      tenantKey: (key, sourceAddress) => apiKeys.authenticate(key, sourceAddress),
      operatorKey: operatorAuthenticator(installation.operatorKeyHash),
      session: (token, sourceAddress) => sessions.authenticate(token, sourceAddress),
    },
    sessions,
    consoleFolder: options.consoleFolder,
    ready: () => requireReady(database),
  });
  const { taskFailed: failed, webhookAttempted: attempted } = metrics ?? {};
  const reconcilers = [
    {
      name: "audit-checkpoints",
      intervalMs: checkpointSeconds * 1_000,
      run: () => signCheckpoints({ database, signer, clock, log }),
    },
    { name: "idle-models", intervalMs: minuteMs, run: async () => models.dropIdle() },
    { name: "gateway-loads", intervalMs: minuteMs / 2, run: () => models.refreshLoads() },
    { name: "gateway-links", intervalMs: options.gatewayLinks?.tickMs ?? 1_000, run: async () => links.tick() },
    { name: "device-links", intervalMs: options.deviceLinks?.tickMs ?? 1_000, run: async () => deviceLinks.tick() },
    { name: "device-sources", intervalMs: 1_000, run: () => sources.poll() },
    ...(options.gatewayLinks?.watch === false
      ? []
      : [{ name: "gateway-silence", intervalMs: 2_000, run: () => links.noticeSilence() }]),
    { name: "key-usage", intervalMs: 10_000, run: () => apiKeys.usage.flush() },
    ...(retentionDays === undefined
      ? []
      : [
          {
            name: "audit-retention",
            intervalMs: 60 * minuteMs,
            run: () => pruneRecords({ runner, signer, clock, retentionDays }),
          },
        ]),
    {
      name: "outbox-retention",
      intervalMs: 10 * minuteMs,
      run: () => clearOutbox(database, new Date(clock.now().getTime() - outboxKeptForMs)),
    },
    { name: "reply-retention", intervalMs: 10 * minuteMs, run: () => clearExpiredReplies(database) },
    ...(shared ? sharedCountTasks(database, clock, rateLimits) : []),
  ].map((task) => new Reconciler({ ...task, log, failed }));
  const webhooks = await startWebhooks(options, { runner, follower, clock, attempted, failed }).catch(
    async (error: unknown) => {
      await Promise.all([follower.stop(), channel.close(), app.close()]);
      await database.close();
      throw error;
    },
  );
  reconcilers.push(...(webhooks?.reconcilers ?? []));
  for (const reconciler of reconcilers) reconciler.start();
  return {
    app,
    installation,
    database,
    runner,
    authenticator: apiKeys,
    metrics,
    links,
    deviceLinks,
    deviceSources: sources,
    tasks: new Map(reconcilers.map((reconciler) => [reconciler.name, reconciler])),
    async close() {
      closing = true;
      // Live streams would keep their connections for ever.
      streams.close();
      await Promise.all([links.close(), deviceLinks.close()]);
      await sources.stop();
      await app.close();
      await Promise.all([...reconcilers.map((reconciler) => reconciler.stop()), webhooks?.jobs.stop()]);
      await apiKeys.usage.flush().catch((error: unknown) => log.warn({ err: error }, "the last uses of keys are lost"));
      await follower.stop();
      await channel.close();
      await database.close();
      await tracing?.close();
    },
  };
}

function socketsOf(gateways: GatewayLinks, devices: DeviceLinks): readonly LinkSocket[] {
  return [
    {
      path: gatewayLinkPath,
      subprotocol: gatewayLinkSubprotocol,
      invalidToken: "invalid_gateway_token",
      whose: "gateways",
      listener: gateways,
    },
    {
      path: deviceLinkPath,
      subprotocol: deviceLinkSubprotocol,
      invalidToken: "invalid_device_token",
      whose: "devices",
      listener: devices,
    },
  ];
}

function rateLimit(most: number, options: WindowCountsOptions): RateLimit | undefined {
  return most === 0 ? undefined : { most, windowMs: options.windowMs, counts: new WindowCounts(options) };
}

interface WebhookParts extends Pick<ReconcilerOptions, "failed">, Pick<WebhookDeliverySettings, "attempted"> {
  readonly runner: CommandRunner;
  readonly follower: OutboxFollower;
  readonly clock: Clock;
}

/** Delivers webhooks, and does what that needs now and then. */
async function startWebhooks(
  options: ComposeOptions,
  { attempted, failed, ...parts }: WebhookParts,
): Promise<{ readonly jobs: JobQueue; readonly reconcilers: readonly Reconciler[] } | undefined> {
  const { connection, log, webhooks: { deliver = true, intervalMs = 1_000, networks: _, ...settings } = {} } = options;
  if (!deliver) return undefined;
  const jobs = new JobQueue({ connection, log, pollIntervalMs: intervalMs });
  await jobs.start();
  const dispatcher = deliverWebhooks(
    { ...parts, jobs, log, settings: { disableAfterMs: disableWebhooksAfterMs, attempted, ...settings } },
    () => dispatching.wake(),
  );
  const dispatching: Reconciler = new Reconciler({
    name: "webhook-dispatch",
    intervalMs,
    run: () => dispatcher.run(),
    log,
    failed,
  });
  return {
    jobs,
    reconcilers: [
      dispatching,
      new Reconciler({ name: "webhook-log", intervalMs: 60 * minuteMs, run: () => dispatcher.clearLog(), log, failed }),
      new Reconciler({ name: "jobs", intervalMs: 10 * minuteMs, run: () => jobs.maintain(), log, failed }),
    ],
  };
}
