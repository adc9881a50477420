/** The composition root: starts a complete server from its settings, and stops it. */
import { once } from "node:events";
import { rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { warmUpRules } from "@gatehouse/policy/admission-rules/warm-up-rules";
import { type Composition, compose } from "./compose.ts";
import type { MailSettings } from "./composition/compose-tasks.ts";
import { type Config, ConfigError, settings, variableOf } from "./config.ts";
import { demoSignInEmails } from "./demo/demo-people.ts";
import { fillDemoTenant } from "./demo/fill-demo-tenant.ts";
import { type Installation, WrongMasterKeyError } from "./features/tenants/tenants.api.ts";
import { acceptQueueLength } from "./http/app.ts";
import { createChallengeListener } from "./http/challenge-listener.ts";
import { createMetricsListener } from "./http/metrics-listener.ts";
import type { TlsFiles } from "./http/tls-certificate.ts";
import { prepareBodyChecks } from "./http/validation.ts";
import { closed, type ListenAttempt, listenError, requireFreePorts } from "./listening.ts";
import { headsFileOf } from "./master-keys.ts";
import { openDatabase } from "./open-database.ts";
import { acmeTasks } from "./platform/acme/acme-tasks.ts";
import type { AcmeChallengeType } from "./platform/acme/order-certificate.ts";
import type { Connection } from "./platform/db/database.ts";
import type { DatabaseWait, OnDatabaseWait } from "./platform/db/migrate-when-reachable.ts";
import type { Log } from "./platform/log.ts";
import { readOrCreateMasterKey, readSecondMasterKey } from "./platform/secrets/master-key-file.ts";
import { startTracing } from "./platform/telemetry/start-tracing.ts";
import { routes } from "./routes.ts";

/** How long requests can take to finish when the server stops, in milliseconds. Then they are aborted. */
const drainMs = 10_000;
/** Next to the server's folder, for both sources and builds. */
const consoleFolder = fileURLToPath(new URL("../../console/dist", import.meta.url));
const dayMs = 24 * 60 * 60 * 1000;

export type { DatabaseWait };

export interface StartOptions {
  /**
   * Called with keys that were created at this start and are never shown again. Called before the port opens, so that
   * the keys are known even if opening the port fails. A port in use is detected before keys are created.
   */
  readonly onKeysCreated?: (installation: Installation) => void;
  /**
   * Called while an external database cannot be reached. With it, the start waits without a limit; otherwise the start
   * fails after 30 seconds.
   */
  readonly onDatabaseWait?: OnDatabaseWait | undefined;
  /** Aborts the start. */
  readonly signal?: AbortSignal;
}

export interface Gatehouse {
  /** The base URL, such as http://127.0.0.1:8080. */
  readonly address: string;
  /** The address at which browsers reach the server. */
  readonly publicUrl: string;
  /** The base URL of metrics; undefined if metrics are disabled. */
  readonly metricsAddress: string | undefined;
  readonly installation: Installation;
  /** Finishes running requests, writes pending data, and stops the database. */
  close(): Promise<void>;
}

/**
 * Starts the server.
 *
 * @throws ConfigError, StartError, EmbeddedPostgresError, MigrationError: each states what to do; nothing keeps running
 */
export async function startGatehouse(config: Config, log: Log, options: StartOptions = {}): Promise<Gatehouse> {
  const signal = options.signal ?? new AbortController().signal;
  requireMasterKey(config);
  await requireFreePorts(listenAttempts(config));
  const { connection, stop } = await openDatabase(config, log, signal, options.onDatabaseWait);
  try {
    signal.throwIfAborted();
    // Port 0 becomes a port when the server listens.
    let { port } = config;
    const publicUrl = () => config.publicUrl ?? localAddress(config, port);
    const composition = await composeWithMasterKey(config, { connection, publicUrl }, log);
    try {
      const { installation } = composition;
      if (installation.operatorKey !== undefined || installation.firstApiKey !== undefined) {
        options.onKeysCreated?.(installation);
      }
      if (config.demo) {
        await fillDemoTenant(composition, connection);
        log.warn("demo mode: anyone who reaches the server can sign in as the example people");
      }
      signal.throwIfAborted();
      prepareBodyChecks(routes.map(({ operation }) => operation));
      const address = await listen(composition, config);
      port = Number(new URL(address).port || defaultPort(config));
      const metrics = await listenForMetrics(composition, config);
      const challenges = await listenForChallenges(composition, config);
      composition.acme?.listen();
      composition.tasks.get(acmeTasks.order)?.wake();
      let closed: Promise<void> | undefined;
      return {
        address,
        publicUrl: publicUrl(),
        metricsAddress: metrics?.address,
        installation,
        close: () =>
          (closed ??= drain(composition)
            .finally(() => metrics?.close())
            .finally(() => challenges?.close())
            .finally(stop)),
      };
    } catch (error) {
      await composition.close();
      throw error;
    }
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Applies the migrations and stops. Throws the errors of startGatehouse. */
export async function migrateDatabase(config: Config, log: Log, signal: AbortSignal): Promise<readonly string[]> {
  const { applied, stop } = await openDatabase(config, log, signal);
  await stop();
  return applied;
}

/**
 * Requires a configured key for an external database: a key in the data folder could be lost, and the database's
 * secrets with it.
 */
function requireMasterKey({ databaseUrl, masterKey }: Config): void {
  if (databaseUrl === undefined || masterKey !== undefined) return;
  throw new ConfigError([
    `${variableOf("masterKey")} is required with ${variableOf("databaseUrl")}: 32 bytes in base64. ` +
      `Generate a key with: node -p "crypto.randomBytes(32).toString('base64')"`,
  ]);
}

/** The address that browsers accept passkeys on, if the operator set none: they refuse IP addresses. */
function localAddress(config: Config, port: number): string {
  return new URL(`${schemeOf(config)}://localhost:${port}`).origin;
}

function schemeOf({ tlsCert, acmeDirectory }: Config): "http" | "https" {
  return tlsCert === undefined && acmeDirectory === undefined ? "http" : "https";
}

function defaultPort(config: Config): number {
  return schemeOf(config) === "https" ? 443 : 80;
}

function tlsFiles({ tlsCert: certFile, tlsKey: keyFile }: Config): TlsFiles | undefined {
  return certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile };
}

function acmeSettings({ acmeDirectory, acmeContact, acmeHttpPort, acmeCa, publicUrl }: Config) {
  if (acmeDirectory === undefined || publicUrl === undefined) return undefined;
  const challengeType: AcmeChallengeType = acmeHttpPort === undefined ? "tls-alpn-01" : "http-01";
  const { hostname: host } = new URL(publicUrl);
  return { directoryUrl: acmeDirectory, host, contact: acmeContact, challengeType, caFile: acmeCa };
}

interface StartParts {
  readonly connection: Connection;
  readonly publicUrl: () => string;
}

async function composeWithMasterKey(
  config: Config,
  { connection, publicUrl }: StartParts,
  log: Log,
): Promise<Composition> {
  // Must follow the start of PostgreSQL, which creates and locks the data folder.
  const file = config.masterKey === undefined ? await readOrCreateMasterKey(config.dataDir, log) : undefined;
  const second = config.masterKey === undefined ? await readSecondMasterKey(config.dataDir, log) : undefined;
  warmUpRules();
  const linkLimits = { connectionsPerTenant: config.agentLinksPerTenant };
  try {
    return await compose({
      connection,
      publicUrl,
      poolSize: config.databasePoolSize,
      masterKey: config.masterKey ?? file?.key ?? Buffer.alloc(0),
      secondMasterKey: config.secondMasterKey ?? second?.key,
      ...(second === undefined ? {} : { rotated: () => rm(second.path, { force: true }) }),
      auditHeadsFile: config.databaseUrl === undefined ? headsFileOf(config) : undefined,
      audit: { checkpointSeconds: config.auditCheckpointSeconds, retentionDays: config.auditRetentionDays },
      trustedProxies: config.trustedProxies ?? [],
      tls: tlsFiles(config),
      acme: acmeSettings(config),
      strictTransportDays: config.strictTransportDays,
      consoleFolder,
      agentsFolder: config.agentsDir,
      metrics: config.metricsPort !== undefined,
      tracing: await startTracing(process.env),
      rateLimits: {
        perMinute: config.rateLimitPerMinute,
        authFailures: config.authFailureLimit,
        shared: config.rateLimitShared,
      },
      log,
      cacheMebibytes: config.cacheMemory,
      modelSnapshots:
        config.modelSnapshotSpace === 0
          ? undefined
          : { folder: path.join(config.dataDir, "model-snapshots"), maxBytes: config.modelSnapshotSpace * 1_048_576 },
      providerNetworks: config.providerAllowedNetworks ?? [],
      mail: mailSettings(config),
      demoPeople: config.demo ? demoSignInEmails : undefined,
      webhooks: {
        networks: config.webhookAllowedNetworks ?? [],
        disableAfterMs: config.webhookDisableAfterDays * dayMs,
      },
      gatewayLinks: { drainMs: config.gatewayDrainSeconds * 1_000, limits: linkLimits },
      deviceLinks: { limits: linkLimits },
      setUp: {
        operatorKey: config.operatorKey,
        bootstrapApiKey: config.bootstrapApiKey,
        tenantName: config.bootstrapTenantName,
        ownerEmail: config.bootstrapOwnerEmail,
      },
    });
  } catch (error) {
    // The correct key was lost or is configured elsewhere. A newly created key in its place would mislead.
    if (error instanceof WrongMasterKeyError && file?.created === true) await rm(file.path);
    throw error;
  }
}

function mailSettings({ smtpUrl: smtp, mailFrom: from, mailsPerTenant: perTenant }: Config): MailSettings | undefined {
  return smtp === undefined || from === undefined ? undefined : { smtp, from, perTenant };
}

/** The ports of the server. They are checked before keys are created, because these are shown only once. */
function listenAttempts(config: Config): readonly ListenAttempt[] {
  const { host, metricsHost, metricsPort, acmeHttpPort } = config;
  return [
    mainAttempt(config),
    ...(metricsPort === undefined ? [] : [metricsAttempt(metricsHost, metricsPort)]),
    ...(acmeHttpPort === undefined ? [] : [challengeAttempt(host, acmeHttpPort)]),
  ];
}

function mainAttempt({ host, port }: Config): ListenAttempt {
  const other = port === settings.port.default ? port + 1 : settings.port.default;
  return { host, port, hostSetting: "host", portSetting: "port", other };
}

function metricsAttempt(host: string, port: number): ListenAttempt {
  const other = port === 9464 ? 9465 : 9464;
  return { host, port, hostSetting: "metricsHost", portSetting: "metricsPort", other };
}

function challengeAttempt(host: string, port: number): ListenAttempt {
  return { host, port, hostSetting: "host", portSetting: "acmeHttpPort", other: 8081 };
}

async function listen({ app }: Composition, config: Config): Promise<string> {
  const { host, port } = config;
  try {
    // Fastify does not know that its server terminates TLS.
    const address = (await app.listen({ host, port, backlog: acceptQueueLength })).replace(
      "http:",
      `${schemeOf(config)}:`,
    );
    // Not every client accepts the unspecified address.
    return address.replace("[::]", "[::1]");
  } catch (error) {
    throw listenError(error, mainAttempt(config));
  }
}

async function listenForMetrics(
  { metrics }: Composition,
  { metricsHost: host, metricsPort: port }: Config,
): Promise<{ readonly address: string; close(): Promise<void> } | undefined> {
  if (metrics === undefined || port === undefined) return undefined;
  const server = createMetricsListener(metrics);
  try {
    server.listen({ host, port });
    await once(server, "listening");
  } catch (error) {
    throw listenError(error, metricsAttempt(host, port));
  }
  const bound = server.address() as AddressInfo; // a server that listens on TCP has an address of this type
  return {
    address: `http://${bound.family === "IPv6" ? `[${bound.address}]` : bound.address}:${bound.port}/metrics`,
    close: () => closed(server),
  };
}

async function listenForChallenges(
  { acme }: Composition,
  { host, publicUrl, acmeHttpPort: port }: Config,
): Promise<{ close(): Promise<void> } | undefined> {
  if (acme === undefined || publicUrl === undefined || port === undefined) return undefined;
  const server = createChallengeListener({ publicUrl, keyAuthorization: (token) => acme.keyAuthorization(token) });
  try {
    server.listen({ host, port });
    await once(server, "listening");
  } catch (error) {
    throw listenError(error, challengeAttempt(host, port));
  }
  return { close: () => closed(server) };
}

async function drain(composition: Composition): Promise<void> {
  const cut = setTimeout(() => composition.app.server.closeAllConnections(), drainMs);
  try {
    // Otherwise the last entries stay unsigned until the next start.
    await composition.tasks.get("audit-checkpoints")?.runNow();
    await composition.close();
  } finally {
    clearTimeout(cut);
  }
}
