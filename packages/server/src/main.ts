/** The composition root: a whole Gatehouse, from its settings to a port that answers, and back down again. */
import { once } from "node:events";
import { rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { systemErrorCode } from "@gatehouse/embedded-postgres";
import { type Composition, compose } from "./compose.ts";
import { type Config, ConfigError, flagOf, type SettingName, settings, variableOf } from "./config.ts";
import { fillDemoTenant } from "./demo/fill-demo-tenant.ts";
import { type Installation, WrongMasterKeyError } from "./features/tenants/tenants.api.ts";
import { waitingConnections } from "./http/app.ts";
import { createMetricsListener } from "./http/metrics-listener.ts";
import { openDatabase } from "./open-database.ts";
import type { Connection } from "./platform/db/database.ts";
import type { Log } from "./platform/log.ts";
import { readOrMakeMasterKey } from "./platform/secrets/master-key-file.ts";
import { StartError } from "./platform/start-error.ts";
import { startTracing } from "./platform/telemetry/start-tracing.ts";

/** How long requests may take to finish once the server stops, in milliseconds; then they are cut off. */
const drainMs = 10_000;
/** Beside the server's own folder, whether that is of sources or of what was built. */
const consoleFolder = fileURLToPath(new URL("../../console/dist", import.meta.url));
const dayMs = 24 * 60 * 60 * 1000;

export interface StartOptions {
  /**
   * Told of keys that were made at this start and are never shown again. Called before the port opens, so that they are
   * known even when it cannot be opened.
   */
  readonly keysMade?: (installation: Installation) => void;
  /** Aborted when the start is not wanted any more. */
  readonly signal?: AbortSignal;
}

export interface Gatehouse {
  /** Where it serves, such as http://127.0.0.1:8080. */
  readonly address: string;
  /** Where it serves its metrics; undefined where it does not. */
  readonly metricsAddress: string | undefined;
  readonly installation: Installation;
  /** Finishes what is being answered, writes what is pending, and stops the database. */
  close(): Promise<void>;
}

/**
 * Starts everything.
 *
 * @throws ConfigError, StartError, EmbeddedPostgresError, MigrationError: each says what to do; nothing is left running
 */
export async function startGatehouse(config: Config, log: Log, options: StartOptions = {}): Promise<Gatehouse> {
  const signal = options.signal ?? new AbortController().signal;
  requireMasterKey(config);
  const { connection, stop } = await openDatabase(config, log, signal);
  try {
    signal.throwIfAborted();
    const composition = await composeWithMasterKey(config, connection, log);
    try {
      const { installation } = composition;
      if (installation.operatorKey !== undefined || installation.firstApiKey !== undefined) {
        options.keysMade?.(installation);
      }
      if (config.demo) await fillDemoTenant(composition);
      signal.throwIfAborted();
      const address = await listen(composition, config);
      const metrics = await listenForMetrics(composition, config);
      let closed: Promise<void> | undefined;
      return {
        address,
        metricsAddress: metrics?.address,
        installation,
        close: () =>
          (closed ??= drain(composition)
            .finally(() => metrics?.close())
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

/** Applies the migrations and stops again. Throws as startGatehouse does. */
export async function migrateDatabase(config: Config, log: Log, signal: AbortSignal): Promise<readonly string[]> {
  const { applied, stop } = await openDatabase(config, log, signal);
  await stop();
  return applied;
}

/** A key that was lost with a data folder would take the secrets of a database elsewhere with it. */
function requireMasterKey({ databaseUrl, masterKey }: Config): void {
  if (databaseUrl === undefined || masterKey !== undefined) return;
  throw new ConfigError([
    `${variableOf("masterKey")} is needed with ${variableOf("databaseUrl")}: 32 bytes in base64. ` +
      `Make one with: node -p "crypto.randomBytes(32).toString('base64')"`,
  ]);
}

async function composeWithMasterKey(config: Config, connection: Connection, log: Log): Promise<Composition> {
  // Only now: starting PostgreSQL has made the data folder, and locked it.
  const file = config.masterKey === undefined ? await readOrMakeMasterKey(config.dataDir, log) : undefined;
  try {
    return await compose({
      connection,
      poolSize: config.databasePoolSize,
      masterKey: config.masterKey ?? file?.key ?? Buffer.alloc(0),
      audit: { checkpointSeconds: config.auditCheckpointSeconds, retentionDays: config.auditRetentionDays },
      trustedProxies: config.trustedProxies ?? [],
      consoleFolder,
      metrics: config.metricsPort !== undefined,
      tracing: await startTracing(process.env),
      rateLimits: {
        perMinute: config.rateLimitPerMinute,
        authFailures: config.authFailureLimit,
        shared: config.rateLimitShared,
      },
      log,
      webhooks: {
        networks: config.webhookAllowedNetworks ?? [],
        disableAfterMs: config.webhookDisableAfterDays * dayMs,
      },
      gatewayLinks: { drainMs: config.gatewayDrainSeconds * 1_000 },
      setUp: {
        operatorKey: config.operatorKey,
        bootstrapApiKey: config.bootstrapApiKey,
        tenantName: config.bootstrapTenantName,
        ownerEmail: config.bootstrapOwnerEmail,
      },
    });
  } catch (error) {
    // The right key was lost or is configured elsewhere; a new one in its place would only mislead.
    if (error instanceof WrongMasterKeyError && file?.made === true) await rm(file.path);
    throw error;
  }
}

async function listen({ app }: Composition, { host, port }: Config): Promise<string> {
  try {
    // Not every client takes the address that means all of them.
    return (await app.listen({ host, port, backlog: waitingConnections })).replace("[::]", "[::1]");
  } catch (error) {
    const other = port === settings.port.default ? port + 1 : settings.port.default;
    throw listenError(error, { host, port, hostSetting: "host", portSetting: "port", other });
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
    const other = port === 9464 ? 9465 : 9464;
    throw listenError(error, { host, port, hostSetting: "metricsHost", portSetting: "metricsPort", other });
  }
  const bound = server.address() as AddressInfo; // of a server that listens on TCP
  return {
    address: `http://${bound.family === "IPv6" ? `[${bound.address}]` : bound.address}:${bound.port}/metrics`,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

interface ListenAttempt {
  readonly host: string;
  readonly port: number;
  readonly hostSetting: SettingName;
  readonly portSetting: SettingName;
  /** A port to try instead. */
  readonly other: number;
}

function listenError(error: unknown, attempt: ListenAttempt): unknown {
  const { host, port, hostSetting, portSetting, other } = attempt;
  const code = systemErrorCode(error);
  const place = `port ${port} on ${host}`;
  const otherPort = `choose another: ${flagOf(portSetting)} ${other}, or ${variableOf(portSetting)}`;
  if (code === "EADDRINUSE") {
    return new StartError(`Cannot listen on ${place}: another program does.`, `Stop it, or ${otherPort}.`);
  }
  if (code === "EACCES") {
    return new StartError(
      `Cannot listen on ${place}: this user may not.`,
      `Ports from 1024 on are free; ${otherPort}.`,
    );
  }
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN") {
    const remedy = `Set ${variableOf(hostSetting)} to an address of this machine, or to 0.0.0.0 or :: for all of them.`;
    return new StartError(`Cannot listen on ${host}: this machine does not have that address.`, remedy);
  }
  return error;
}

async function drain(composition: Composition): Promise<void> {
  const cut = setTimeout(() => composition.app.server.closeAllConnections(), drainMs);
  try {
    await composition.close();
  } finally {
    clearTimeout(cut);
  }
}
