/** `gatehouse audit verify` on a live database, with or without a running server. Changes nothing. */
import { compareLiveRecords } from "./compare-live-records.ts";
import type { Config } from "./config.ts";
import { findMasterKeys, headsFileOf } from "./master-keys.ts";
import { openUnmigrated } from "./open-database.ts";
import { AppError } from "./platform/app-error.ts";
import { type AuditKeyRow, auditKeyRows, handoversOf } from "./platform/audit/audit-keys.queries.ts";
import { auditKeyContext } from "./platform/audit/audit-keys.ts";
import { tenantExists, tenantsAfter } from "./platform/audit/checkpoints.queries.ts";
import { reasonHash } from "./platform/audit/head-guard.ts";
import {
  lastOperatorPlace,
  lostTenants,
  operatorCheckpoints,
  operatorEntriesAfter,
  wasDeleted,
} from "./platform/audit/operator-record.queries.ts";
import { verifyOperatorRecord } from "./platform/audit/operator-record.ts";
import { AuditSigner, type ChainPosition, SignatureCheck } from "./platform/audit/signatures.ts";
import { acceptedHead } from "./platform/audit/signed-heads.queries.ts";
import { operatorRecord, readHeads } from "./platform/audit/signed-heads.ts";
import { verifyTenant } from "./platform/audit/verify-database.ts";
import type { Finding, Report } from "./platform/audit/verify-record.ts";
import { Database } from "./platform/db/database.ts";
import { isOtherSchema } from "./platform/db/database-errors.ts";
import { nilId } from "./platform/ids.ts";
import type { Log } from "./platform/log.ts";
import { createSecretBox, type MasterKeys } from "./platform/secrets/master-key.ts";
import { StartError } from "./platform/start-error.ts";

const tenantsAtOnce = 500;
/** Entries older than this must be signed, in seconds; at least three intervals between signatures. */
const unsignedSeconds = 600;
const scope = { kind: "operator" } as const;

/** A head from an earlier verification, or one that the server signed. */
export interface ExpectedPlace extends Pick<ChainPosition, "position" | "hash"> {
  /** The nil UUID for the operator's record. */
  readonly tenantId: string;
  /** Signatures must reach this position. */
  readonly signedThrough: number;
  /** When the server signed the head, in ISO 8601. A later acceptance of another head replaces it. */
  readonly signedAt?: string | undefined;
}

export interface VerifyAuditOptions {
  /** The tenant to verify; undefined for all tenants and the operator's record. */
  readonly tenantId?: string | undefined;
  /** The public key for signatures; undefined uses the installation's keys. */
  readonly publicKey?: string | undefined;
  /** The hash of a seal that must be in the chain. */
  readonly expectHead?: string | undefined;
  /** Heads that must be in the records, in addition to those in the data folder. */
  readonly expectHeads?: readonly ExpectedPlace[] | undefined;
  /** Whether to compare records with their latest entries. */
  readonly live?: boolean | undefined;
}

export interface TenantReport extends Report {
  /** The nil UUID for the operator's record. */
  readonly tenantId: string;
}

/**
 * Verifies the tenants one after another, then the operator's record.
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
  const { connection, stop } = await openUnmigrated(config, log);
  try {
    const database = new Database({ connection, poolSize: 2, statementTimeoutMs: 60_000 });
    try {
      yield* verifyRecords(database, config, log, signal, options);
    } catch (error) {
      throw explained(error, config);
    } finally {
      await database.close();
    }
  } finally {
    await stop();
  }
}

/** The same on an open database. */
export async function* verifyRecords(
  database: Database,
  config: Config,
  log: Log,
  signal: AbortSignal,
  options: VerifyAuditOptions,
): AsyncGenerator<TenantReport & { readonly publicKey: string }> {
  const rows = await database.transaction(scope, auditKeyRows);
  const publicKey = options.publicKey ?? publicKeyOf(rows, await findMasterKeys(config, log));
  const signatures = SignatureCheck.of(publicKey, handoversOf(rows));
  if (signatures === undefined) {
    throw new StartError("The public key is not valid.", "Use 32 bytes in base64, as shown in exports.");
  }
  const overdueMs = Math.max(unsignedSeconds, 3 * config.auditCheckpointSeconds) * 1_000;
  const unsignedBefore = new Date(Date.now() - overdueMs).toISOString();
  const expected = await expectations(database, config, signatures, options);
  const checks = { signatures, unsignedBefore, compareLive: options.live === true ? compareLiveRecords : undefined };
  for await (const tenantId of tenantsOf(database, options.tenantId)) {
    signal.throwIfAborted();
    const places = expected.get(tenantId) ?? [];
    expected.delete(tenantId);
    const expectSigned = Math.max(0, ...places.map(({ signedThrough }) => signedThrough));
    const { expectHead } = options;
    const wanted = { ...checks, tenantId, expectHead, expectHeads: places, expectSigned };
    const report = await verifyTenant(database, wanted).catch((error: unknown) => unverified(error));
    if (report !== undefined) yield { tenantId, publicKey, ...report };
    else if (await database.transaction(scope, (tx) => tenantExists(tx, tenantId))) {
      const message = "The tenant has no record. Every tenant has one from its creation.";
      yield { tenantId, publicKey, ...nothingBut({ problem: "empty", message }) };
    } else if (options.tenantId !== undefined) {
      throw new StartError(
        `The tenant ${tenantId} does not exist.`,
        "Run gatehouse tenant list for a list of tenants.",
      );
    }
  }
  if (options.tenantId !== undefined) return;
  const ofOperator = expected.get(operatorRecord) ?? [];
  expected.delete(operatorRecord);
  for (const tenantId of expected.keys()) {
    if (!(await database.transaction(scope, (tx) => wasDeleted(tx, tenantId)))) yield { ...gone(tenantId), publicKey };
  }
  const verification = database.readThrough(scope, async (tx) => {
    const content = {
      entries: operatorEntriesAfter(tx, 0),
      checkpoints: await operatorCheckpoints(tx),
      last: await lastOperatorPlace(tx),
      lostTenants: await lostTenants(tx),
    };
    return verifyOperatorRecord(content, { ...checks, expected: ofOperator });
  });
  const report = await verification.catch((error: unknown) => unverified(error));
  yield { tenantId: operatorRecord, publicKey, ...report };
}

/** The expected places by tenant: those of the data folder, and the given ones. */
async function expectations(
  database: Database,
  config: Config,
  signatures: SignatureCheck,
  { tenantId: only, expectHeads = [] }: VerifyAuditOptions,
): Promise<Map<string, ExpectedPlace[]>> {
  const stored = Array.from(await readHeads(headsFileOf(config)), ([tenantId, head]) => ({
    tenantId,
    ...head,
    signedThrough: head.position,
  }));
  const found = new Map<string, ExpectedPlace[]>();
  for (const place of [...(config.databaseUrl === undefined ? stored : []), ...expectHeads]) {
    const { tenantId, signedAt } = place;
    if (only !== undefined && tenantId !== only) continue;
    if (signedAt !== undefined && (await isReplaced(database, signatures, tenantId, signedAt))) continue;
    found.set(tenantId, [...(found.get(tenantId) ?? []), place]);
  }
  return found;
}

/** Whether the operator has accepted another head of the record since. */
async function isReplaced(
  database: Database,
  signatures: SignatureCheck,
  tenantId: string,
  signedAt: string,
): Promise<boolean> {
  const accepted = await database.transaction(scope, (tx) => acceptedHead(tx, tenantId));
  if (accepted === undefined || accepted.createdAt <= signedAt) return false;
  const { reason, ...statement } = accepted;
  return signatures.isGenuine("acceptance", tenantId, { ...statement, contentHash: reasonHash(reason) });
}

function gone(tenantId: string): TenantReport {
  const message = "The tenant and its record are gone, and nobody deleted them.";
  return { tenantId, ...nothingBut({ problem: "missing", message }) };
}

/**
 * Reports a record whose verification failed, so that the others are still verified.
 *
 * @throws AppError database_unavailable, and schemas of other versions: every other record would fail in the same way
 */
function unverified(error: unknown): Report {
  if (error instanceof AppError || isOtherSchema(error)) throw error;
  const message = `The record could not be verified: ${error instanceof Error ? error.message : String(error)}.`;
  return nothingBut({ problem: "unverified", message });
}

function nothingBut(finding: Finding): Report {
  return {
    findings: [finding],
    problems: 1,
    events: 0,
    leftOut: 0,
    prunedThrough: 0,
    head: { position: 0, generation: 0, hash: "0".repeat(64) },
    signedThrough: 0,
  };
}

/**
 * The newest key that a holder of the master key stored. In a database from before keys were stored, the key that is
 * derived from the master key.
 */
function publicKeyOf(rows: readonly AuditKeyRow[], masterKeys: MasterKeys | undefined): string {
  if (masterKeys === undefined) {
    throw new StartError(
      "Signatures cannot be verified without a key.",
      "Set --public-key to the public key shown in an export, or set the installation's GATEHOUSE_MASTER_KEY.",
    );
  }
  const box = createSecretBox(masterKeys, "audit-key");
  const isOwn = ({ publicKey, ciphertext }: AuditKeyRow) => {
    try {
      const seed = Buffer.from(box.open(ciphertext, auditKeyContext(publicKey)), "base64");
      return new AuditSigner({ seed }).publicKey === publicKey;
    } catch {
      return false; // encrypted with another master key, or changed
    }
  };
  return rows.findLast(isOwn)?.publicKey ?? new AuditSigner(masterKeys.current).publicKey;
}

async function* tenantsOf(database: Database, only: string | undefined): AsyncGenerator<string> {
  if (only !== undefined) {
    yield only;
    return;
  }
  let afterTenantId = nilId;
  for (;;) {
    const from = afterTenantId;
    const tenants = await database.snapshot(scope, (tx) => tenantsAfter(tx, from, tenantsAtOnce));
    yield* tenants;
    const last = tenants.at(-1);
    if (last === undefined) return;
    afterTenantId = last;
  }
}

/** Explains to people why the database cannot be used. */
export function explained(error: unknown, { databaseUrl, dataDir }: Config): unknown {
  if (error instanceof AppError) {
    if (error.cause instanceof StartError) return error.cause;
    const cause = error.cause instanceof Error ? `: ${error.cause.message}` : "";
    const remedy =
      databaseUrl === undefined
        ? `Run the command as the user that runs the server on ${dataDir} after the server has started, or stop the server.`
        : "Start the database, or correct the host, port, user and name in GATEHOUSE_DATABASE_URL.";
    return new StartError(`Cannot connect to the database${cause}.`, remedy, { cause: error });
  }
  if (isOtherSchema(error)) {
    const remedy = "Run gatehouse migrate with this version, or use the version that the server runs.";
    return new StartError("The database has the schema of another version.", remedy, { cause: error });
  }
  return error;
}
