/** `gatehouse audit verify` over a live database: reads, changes nothing, beside a server or without one. */
import type { Config } from "./config.ts";
import { openToLook } from "./open-database.ts";
import { AppError } from "./platform/app-error.ts";
import { tenantsAfter } from "./platform/audit/checkpoints.queries.ts";
import { AuditSigner, SignatureCheck } from "./platform/audit/signatures.ts";
import { verifyTenant } from "./platform/audit/verify-database.ts";
import type { Report } from "./platform/audit/verify-record.ts";
import { Database } from "./platform/db/database.ts";
import { isOtherSchema } from "./platform/db/database-errors.ts";
import type { Log } from "./platform/log.ts";
import { readMasterKey } from "./platform/secrets/master-key-file.ts";
import { StartError } from "./platform/start-error.ts";

const tenantsAtOnce = 500;
const nilUuid = "00000000-0000-0000-0000-000000000000";

export interface VerifyAuditOptions {
  /** Only this tenant; undefined for all of them. */
  readonly tenantId?: string | undefined;
  /** What signatures are checked with; undefined derives it from the master key. */
  readonly publicKey?: string | undefined;
  /** The hash of a seal that must be in the chain. */
  readonly expectHead?: string | undefined;
}

export interface TenantReport extends Report {
  readonly tenantId: string;
}

/**
 * @param signal stops between two tenants
 * @returns the key that signatures are checked with, and the reports, one tenant after the other
 * @throws StartError, EmbeddedPostgresError: each says what to do
 */
export async function* verifyAudit(
  config: Config,
  log: Log,
  signal: AbortSignal,
  options: VerifyAuditOptions,
): AsyncGenerator<TenantReport & { readonly publicKey: string }> {
  const { connection, stop } = await openToLook(config, log);
  try {
    const publicKey = options.publicKey ?? (await publicKeyOf(config, log));
    const signatures = SignatureCheck.of(publicKey);
    if (signatures === undefined) {
      throw new StartError("The public key cannot be read.", "It has 32 bytes in base64, as each export shows it.");
    }
    const database = new Database({ connection, poolSize: 2, statementTimeoutMs: 60_000 });
    try {
      for await (const tenantId of tenantsOf(database, options.tenantId)) {
        signal.throwIfAborted();
        const report = await verifyTenant(database, { ...options, tenantId, signatures });
        if (report !== undefined) yield { tenantId, publicKey, ...report };
        else if (options.tenantId !== undefined) {
          throw new StartError(`There is no tenant ${tenantId}.`, "gatehouse tenant list shows which there are.");
        }
      }
    } catch (error) {
      throw explained(error, config);
    } finally {
      await database.close();
    }
  } finally {
    await stop();
  }
}

/** The master key is the setting, or the data folder's: as for the server, but none is made. */
async function publicKeyOf(config: Config, log: Log): Promise<string> {
  const masterKey =
    config.masterKey ??
    (config.databaseUrl === undefined ? (await readMasterKey(config.dataDir, log))?.key : undefined);
  if (masterKey !== undefined) return new AuditSigner(masterKey).publicKey;
  throw new StartError(
    "Without a key, signatures cannot be checked.",
    "Give the public key that an export shows (--public-key), or the installation's GATEHOUSE_MASTER_KEY.",
  );
}

async function* tenantsOf(database: Database, only: string | undefined): AsyncGenerator<string> {
  if (only !== undefined) {
    yield only;
    return;
  }
  let after = nilUuid;
  for (;;) {
    const from = after;
    const tenants = await database.snapshot({ kind: "operator" }, (tx) => tenantsAfter(tx, from, tenantsAtOnce));
    yield* tenants;
    const last = tenants.at(-1);
    if (last === undefined) return;
    after = last;
  }
}

function explained(error: unknown, { databaseUrl, dataDir }: Config): unknown {
  if (error instanceof AppError) {
    const cause = error.cause instanceof Error ? `: ${error.cause.message}` : "";
    const remedy =
      databaseUrl === undefined
        ? `Run it as the user of the Gatehouse that serves from ${dataDir}, once that has started; or stop that one.`
        : "Start it, or correct the host, port, user and name in GATEHOUSE_DATABASE_URL.";
    return new StartError(`The database cannot be reached${cause}.`, remedy, { cause: error });
  }
  if (isOtherSchema(error)) {
    const remedy = "Run gatehouse migrate of this version, or verify with the version that serves.";
    return new StartError("The database has another version's schema.", remedy, { cause: error });
  }
  return error;
}
