/** `gatehouse audit verify` on a live database, with or without a running server. Changes nothing. */
import type { Config } from "./config.ts";
import { openReadOnly } from "./open-database.ts";
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
  /** The tenant to verify; undefined for all tenants. */
  readonly tenantId?: string | undefined;
  /** The public key for signatures; undefined derives it from the master key. */
  readonly publicKey?: string | undefined;
  /** The hash of a seal that must be in the chain. */
  readonly expectHead?: string | undefined;
}

export interface TenantReport extends Report {
  readonly tenantId: string;
}

/**
 * Verifies the tenants one after another.
 *
 * @param signal stops between two tenants
 * @returns the public key and the reports
 * @throws StartError, EmbeddedPostgresError: each states what to do
 */
export async function* verifyAudit(
  config: Config,
  log: Log,
  signal: AbortSignal,
  options: VerifyAuditOptions,
): AsyncGenerator<TenantReport & { readonly publicKey: string }> {
  const { connection, stop } = await openReadOnly(config, log);
  try {
    const publicKey = options.publicKey ?? (await publicKeyOf(config, log));
    const signatures = SignatureCheck.of(publicKey);
    if (signatures === undefined) {
      throw new StartError("The public key is not valid.", "Use 32 bytes in base64, as shown in exports.");
    }
    const database = new Database({ connection, poolSize: 2, statementTimeoutMs: 60_000 });
    try {
      for await (const tenantId of tenantsOf(database, options.tenantId)) {
        signal.throwIfAborted();
        const report = await verifyTenant(database, { ...options, tenantId, signatures });
        if (report !== undefined) yield { tenantId, publicKey, ...report };
        else if (options.tenantId !== undefined) {
          throw new StartError(
            `The tenant ${tenantId} does not exist.`,
            "Run gatehouse tenant list for a list of tenants.",
          );
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

/**
 * The public key from the configured master key or the one in the data folder. Unlike the server, it creates no key.
 */
async function publicKeyOf(config: Config, log: Log): Promise<string> {
  const masterKey =
    config.masterKey ??
    (config.databaseUrl === undefined ? (await readMasterKey(config.dataDir, log))?.key : undefined);
  if (masterKey !== undefined) return new AuditSigner(masterKey).publicKey;
  throw new StartError(
    "Signatures cannot be verified without a key.",
    "Set --public-key to the public key shown in an export, or set the installation's GATEHOUSE_MASTER_KEY.",
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
        ? `Run the command as the user that runs the server on ${dataDir} after the server has started, or stop the server.`
        : "Start the database, or correct the host, port, user and name in GATEHOUSE_DATABASE_URL.";
    return new StartError(`Cannot connect to the database${cause}.`, remedy, { cause: error });
  }
  if (isOtherSchema(error)) {
    const remedy = "Run gatehouse migrate with this version, or verify with the version that the server runs.";
    return new StartError("The database has the schema of another version.", remedy, { cause: error });
  }
  return error;
}
