/** Builds a server over a migrated database. */
import type { FastifyInstance } from "fastify";
import type { DeviceChannel } from "./agents/devices/device-channel.ts";
import type { GatewayChannel } from "./agents/gateways/gateway-channel.ts";
import type { DeviceSources } from "./agents/sources/device-sources.ts";
import { type AgentParts, type AgentSettings, composeAgents } from "./composition/compose-agents.ts";
import { composeDatabase, type DatabaseParts, type DatabaseSettings } from "./composition/compose-database.ts";
import { composeHttp, type HttpSettings } from "./composition/compose-http.ts";
import { composeTasks, type MailSettings, type TaskSettings } from "./composition/compose-tasks.ts";
import { LateEffects, Ledger, ModelSnapshots, ModelStore } from "./features/access/access.api.ts";
import { accessTestGuard } from "./features/access-tests/access-tests.api.ts";
import { ApiKeyAuthenticator } from "./features/api-keys/api-keys.api.ts";
import { type Installation, type SetUpSettings, setUpInstallation } from "./features/tenants/tenants.api.ts";
import type { AcmeCertificate } from "./platform/acme/acme-certificate.ts";
import { AnswerCache } from "./platform/answer-cache.ts";
import { AppError } from "./platform/app-error.ts";
import { AuditKeys } from "./platform/audit/audit-keys.ts";
import { type EventStreamLimits, EventStreams, eventStreamLimits } from "./platform/audit/event-streams.ts";
import { HeadGuard } from "./platform/audit/head-guard.ts";
import { SignedHeads } from "./platform/audit/signed-heads.ts";
import { type Clock, systemClock } from "./platform/clock.ts";
import type { CommandRunner } from "./platform/command.ts";
import { nodeEventLoop } from "./platform/concurrency/fair-queue.ts";
import { JointRuns } from "./platform/concurrency/joint-runs.ts";
import { TenantPace } from "./platform/concurrency/tenant-pace.ts";
import type { Database } from "./platform/db/database.ts";
import { newestMigration } from "./platform/db/migrations.ts";
import type { EvaluationLimits } from "./platform/evaluation/evaluation-budgets.ts";
import { Evaluator } from "./platform/evaluation/evaluator.ts";
import { jointLimits } from "./platform/joint-commands.ts";
import type { OrderThresholds } from "./platform/lists/list-order-cache.ts";
import { PageReader } from "./platform/lists/page-reader.ts";
import type { Log } from "./platform/log.ts";
import { allowedNetworks } from "./platform/outbound/outbound-networks.ts";
import { OutboundThread } from "./platform/outbound/outbound-thread.ts";
import { type ResolveTxt, txtResolver } from "./platform/outbound/resolve-txt.ts";
import { TxtReads } from "./platform/outbound/txt-reads.ts";
import { createSecretBox, type MasterKeys } from "./platform/secrets/master-key.ts";
import type { ServedCertificate } from "./platform/served-certificate.ts";
import { SharedTime } from "./platform/shared-time.ts";
import { StartError } from "./platform/start-error.ts";
import type { Metrics } from "./platform/telemetry/metrics.ts";
import type { Tracing } from "./platform/telemetry/tracing.ts";
import { currentState } from "./platform/tenancy/generation.queries.ts";
import { GenerationReader } from "./platform/tenancy/generation-reader.ts";
import { SharedSnapshots } from "./platform/tenancy/shared-snapshots.ts";
import { recordReferences } from "./record-references.ts";
import type { Reconciler } from "./tasks/reconciler.ts";

export interface ComposeOptions extends DatabaseSettings, AgentSettings, HttpSettings, TaskSettings {
  /** Returns the address at which browsers reach the server; `http://localhost:8080` if absent. */
  readonly publicUrl?: () => string;
  /** Addresses and CIDRs outside the internet that identity providers can be in; none if absent. */
  readonly providerNetworks?: readonly string[];
  /** The SMTP server and the sender of mails; undefined if the server sends none. */
  readonly mail?: MailSettings | undefined;
  /** Reads the TXT records that prove the ownership of domains; the system's resolver if absent. */
  readonly resolveTxt?: ResolveTxt;
  /** The file of the last signed audit heads; undefined to keep them in memory only. */
  readonly auditHeadsFile?: string | undefined;
  readonly setUp: SetUpSettings;
  readonly log: Log;
  readonly clock?: Clock;
  /** Replaces the database's time in tests. */
  readonly databaseTime?: () => Date;
  /** Limits of live event streams that differ from the defaults. */
  readonly streams?: Partial<EventStreamLimits>;
  /** Limits of evaluation that differ from the defaults. */
  readonly evaluationLimits?: EvaluationLimits;
  /** The memory that cached answers can use, in MiB. 0 disables the cache. */
  readonly cacheMebibytes?: number;
  /** The folder for models of large tenants, and the maximum size of all files. By default, no models are stored. */
  readonly modelSnapshots?: { readonly folder: string; readonly maxBytes: number } | undefined;
  /** When the orders of lists are cached, if not by default. */
  readonly orderThresholds?: OrderThresholds;
  /** Whether to collect metrics for Prometheus. */
  readonly metrics?: boolean;
  readonly tracing?: Tracing | undefined;
}

export interface Composition {
  readonly app: FastifyInstance;
  readonly installation: Installation;
  readonly database: Database;
  readonly runner: CommandRunner;
  readonly authenticator: ApiKeyAuthenticator;
  /** The certificate that the server gets by ACME; undefined for another. */
  readonly acme: AcmeCertificate | undefined;
  /** Undefined unless requested. */
  readonly metrics: Metrics | undefined;
  readonly links: GatewayChannel;
  readonly deviceLinks: DeviceChannel;
  readonly deviceSources: DeviceSources;
  /** The background tasks, by name. */
  readonly tasks: ReadonlyMap<string, Reconciler>;
  /** Drains requests, stores what is pending, and closes every connection. */
  close(): Promise<void>;
}

/** The memory that cached answers can use unless configured, in MiB. */
const defaultCacheMebibytes = 64;
/** The part of that memory for whole answers. The rest is for the records and the orders of lists. */
const partForAnswers = 0.1;

export async function compose(options: ComposeOptions): Promise<Composition> {
  const { log, tracing, clock = systemClock } = options;
  // Opened late, because its figures come from the other parts.
  let metrics: Metrics | undefined;
  let tls: ServedCertificate | undefined;
  const pace = new TenantPace(nodeEventLoop);
  const onUse = (tenantId: string) => pace.startUse(tenantId);
  const data = composeDatabase(options, { clock, log, onQuery: tracing?.startQuery, onUse });
  const { database, follower } = data;
  const heads = await SignedHeads.open(options.auditHeadsFile, log);
  const core = composeCore(options, data, pace, clock, heads, (auditEntries) =>
    metrics?.auditEntriesWritten(auditEntries),
  );
  const { runner, models, lateEffects, streams, outbound } = core;
  const lagged = (lagMs: number) => metrics?.configurationApplied(lagMs);
  const agents = composeAgents(options, { runner, follower, clock, log, lagged });
  const setUp = async () => {
    const made = await setUpInstallation(runner, options.setUp, clock.now());
    await runner.audit.keys.refresh(clock.now());
    await runner.sharedTime.synchronize();
    return made;
  };
  const installation = await setUp().catch(async (error: unknown) => {
    await database.close();
    // The reason that the operator can remove.
    throw error instanceof AppError && error.cause instanceof StartError ? error.cause : error;
  });
  await data.open();
  const apiKeys = new ApiKeyAuthenticator({ database, follower, clock, log });
  if (options.metrics === true) metrics = await openMetrics(data, core, agents, apiKeys, clock, () => tls);
  const http = await composeHttp(options, {
    runner,
    clock,
    log,
    metrics,
    tracing,
    apiKeys,
    installation,
    links: agents.sockets,
  }).catch(async (error: unknown) => {
    await agents.close();
    await data.close();
    throw error;
  });
  const { app, acme } = http;
  tls = http.tls;
  const tasks = await composeTasks(options, {
    runner,
    follower,
    clock,
    log,
    metrics,
    tasks: [lateEffects.task, ...models.tasks, ...agents.tasks, ...apiKeys.tasks, ...http.tasks],
  }).catch(async (error: unknown) => {
    await app.close();
    await data.close();
    throw error;
  });
  return {
    app,
    acme,
    installation,
    database,
    runner,
    authenticator: apiKeys,
    metrics,
    links: agents.gateways,
    deviceLinks: agents.devices,
    deviceSources: agents.sources,
    tasks: new Map(tasks.reconcilers.map((reconciler) => [reconciler.name, reconciler])),
    async close() {
      // Live streams never end by themselves, and the app waits for its connections.
      streams.close();
      acme?.stop();
      await agents.close();
      await app.close();
      await tasks.stop();
      await outbound.close();
      await lateEffects.settled();
      await apiKeys.usage.finish();
      await data.close();
      await tracing?.close();
    },
  };
}

interface CoreParts {
  readonly runner: CommandRunner;
  readonly answers: AnswerCache;
  readonly models: ModelStore;
  readonly lateEffects: LateEffects;
  readonly streams: EventStreams;
  readonly outbound: OutboundThread;
}

/** The dependencies of every command: audit record, models, access ledger and secrets. */
function composeCore(
  {
    masterKey,
    secondMasterKey,
    publicUrl,
    providerNetworks,
    mail,
    resolveTxt,
    streams: streamLimits,
    webhooks,
    evaluationLimits,
    cacheMebibytes,
    orderThresholds,
    modelSnapshots,
    databaseTime,
    log,
  }: ComposeOptions,
  { database, follower, channel }: DatabaseParts,
  pace: TenantPace,
  clock: Clock,
  heads: SignedHeads,
  audited: (entries: number) => void,
): CoreParts {
  const cacheBytes = (cacheMebibytes ?? defaultCacheMebibytes) * 1_048_576;
  const answers = new AnswerCache(cacheBytes * partForAnswers);
  const masterKeys: MasterKeys = { current: masterKey, second: secondMasterKey };
  const keys = new AuditKeys(database, masterKeys);
  const guard = new HeadGuard({ database, heads, signatures: () => keys.signatures, clock, log });
  const streams = new EventStreams({ ...eventStreamLimits, ...streamLimits });
  const generations = new GenerationReader((tenantId) => currentState(database, tenantId));
  const pages =
    cacheBytes === 0
      ? undefined
      : new PageReader(database, generations, cacheBytes * (1 - partForAnswers), orderThresholds);
  const evaluator = new Evaluator(clock, evaluationLimits, pace);
  const models = new ModelStore({
    database,
    generations,
    clock,
    evaluator,
    snapshots:
      modelSnapshots === undefined
        ? undefined
        : new ModelSnapshots({ ...modelSnapshots, masterKey, schemaVersion: newestMigration(), log }),
    failed: (err, tenantId) => log.warn({ tenantId, err }, "failed to store a model snapshot; will retry"),
  });
  const lateEffects = new LateEffects({
    runner: () => runner,
    database,
    evaluator,
    clock,
    guard: accessTestGuard,
    log,
  });
  const outbound = new OutboundThread({ log });
  const clear = () => {
    answers.clear();
    pages?.clear();
  };
  follower.subscribe({ changed: () => undefined, missed: clear });
  follower.subscribe(streams);
  follower.subscribe(models);
  const runner: CommandRunner = {
    audit: { keys, guard, streams },
    pace,
    clock,
    sharedTime: new SharedTime({ database, clock, databaseTime }),
    database,
    publicUrl: publicUrl ?? (() => "http://localhost:8080"),
    answers,
    pages,
    generations,
    snapshots: new SharedSnapshots(database),
    creations: new JointRuns(jointLimits),
    models,
    evaluator,
    ledger: new Ledger({ models, clock, guard: accessTestGuard, evaluator, lateEffects }),
    references: recordReferences,
    secrets: {
      replies: createSecretBox(masterKeys, "idempotent-reply"),
      gatewayTokens: createSecretBox(masterKeys, "gateway-token"),
      webhookSecrets: createSecretBox(masterKeys, "webhook-secret"),
      providerSecrets: createSecretBox(masterKeys, "provider-secret"),
      enrolmentLinks: createSecretBox(masterKeys, "enrolment-link"),
      signInChallenges: createSecretBox(masterKeys, "sign-in-challenge"),
      signingKeys: createSecretBox(masterKeys, "signing-key"),
      acmeKeys: createSecretBox(masterKeys, "acme-key"),
      masterKeyCheck: createSecretBox(masterKeys, "master-key-check"),
    },
    webhookNetworks: allowedNetworks(webhooks?.networks ?? []),
    providerNetworks: allowedNetworks(providerNetworks ?? []),
    exchange: outbound.exchange,
    mailsPerDay: mail?.perTenant,
    txtReads: new TxtReads(resolveTxt ?? txtResolver(), clock),
    committed: (auditEntries) => {
      audited(auditEntries);
      follower.wake();
      channel.notify();
    },
  };
  return { runner, answers, models, lateEffects, streams, outbound };
}

async function openMetrics(
  { database, follower }: DatabaseParts,
  { answers, streams, runner }: CoreParts,
  { gateways, devices }: AgentParts,
  apiKeys: ApiKeyAuthenticator,
  clock: Clock,
  tlsCertificate: () => ServedCertificate | undefined,
): Promise<Metrics> {
  const { guard } = runner.audit;
  const telemetry = await import("./platform/telemetry/metrics.ts");
  return telemetry.openMetrics({
    pool: () => database.poolState,
    auditContradictions: () => guard.contradictions.length,
    outboxLagMs: () => clock.elapsedMs() - follower.currentAsOf,
    caches: { answers: () => answers.state, keys: () => apiKeys.cacheState },
    eventStreams: () => streams.size,
    gatewayLinks: () => gateways.state,
    deviceLinks: () => devices.state,
    tlsCertificate,
  });
}
