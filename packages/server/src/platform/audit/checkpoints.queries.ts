import type { Database, Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { TenantTx } from "../tenancy/tenant-tx.ts";
import type { ChainPosition, Signed } from "./signatures.ts";

const selectGrown = statement<{ tenantId: string }, [afterTenant: string, limit: number]>(
  "audit.grown_chains",
  `SELECT tenant_id AS "tenantId" FROM tenant_generations AS tenant
   WHERE tenant_id > $1 AND event_count > pruned_count AND event_count >
     coalesce((SELECT max(position) FROM audit_checkpoints AS signed WHERE signed.tenant_id = tenant.tenant_id), 0)
   ORDER BY tenant_id LIMIT $2`,
);
const insert = statement<
  never,
  [tenantId: string, position: number, generation: number, hash: string, createdAt: string, signature: string]
>(
  "audit.insert_checkpoint",
  `INSERT INTO audit_checkpoints (tenant_id, position, generation, hash, created_at, signature)
   VALUES ($1, $2, $3, decode($4, 'hex'), $5, decode($6, 'base64')) ON CONFLICT DO NOTHING`,
);
const upsertStub = statement<
  never,
  [tenantId: string, position: number, generation: number, hash: string, createdAt: string, signature: string]
>(
  "audit.write_stub",
  `INSERT INTO audit_stubs (tenant_id, position, generation, hash, created_at, signature)
   VALUES ($1, $2, $3, decode($4, 'hex'), $5, decode($6, 'base64'))
   ON CONFLICT (tenant_id) DO UPDATE SET position = excluded.position, generation = excluded.generation,
     hash = excluded.hash, created_at = excluded.created_at, signature = excluded.signature`,
);
const selectLatest = statement<{ position: number; hash: string; sealHash: string | null }, [tenantId: string]>(
  "audit.latest_checkpoint",
  `SELECT latest.position, encode(latest.hash, 'hex') AS hash, encode(seal.hash, 'hex') AS "sealHash"
   FROM (SELECT * FROM audit_checkpoints WHERE tenant_id = $1 ORDER BY position DESC LIMIT 1) AS latest
   LEFT JOIN audit_seals AS seal ON seal.tenant_id = $1 AND seal.generation = latest.generation`,
);
const prune = statement<{ deleted: number }, []>("audit.prune", "SELECT delete_pruned_events() AS deleted");
const countPruned = statement<never, [tenantId: string, position: number]>(
  "audit.count_pruned",
  "UPDATE tenant_generations SET pruned_count = $2 WHERE tenant_id = $1",
);
const tryLock = statement<{ locked: boolean }, [tenantId: string]>(
  "audit.pruning_lock",
  "SELECT pg_try_advisory_xact_lock(hashtextextended('gatehouse audit pruning ' || $1::uuid, 0)) AS locked",
);
const selectTenant = statement<{ found: boolean }, [tenantId: string]>(
  "audit.tenant",
  "SELECT true AS found FROM tenants WHERE id = $1",
);
const selectTenants = statement<{ id: string }, [afterTenantId: string, limit: number]>(
  "audit.tenants",
  "SELECT id FROM tenants WHERE id > $1 ORDER BY id LIMIT $2",
);

const selectOldest = statement<
  ChainPosition & { readonly old: boolean },
  [tenantId: string, createdBefore: Date, limit: number]
>(
  "audit.oldest_seals",
  `SELECT first_position + octet_length(entry_hashes) / 32 - 1 AS position, generation, encode(hash, 'hex') AS hash,
          created_at < $2 AS old
   FROM audit_seals WHERE tenant_id = $1 ORDER BY generation LIMIT $3`,
);

const selectOpen = statement<{ tenantId: string }, [afterTenantId: string, limit: number]>(
  "audit.open_histories",
  `SELECT tenant_id AS "tenantId" FROM tenant_generations
   WHERE NOT history_sealed AND tenant_id > $1 ORDER BY tenant_id LIMIT $2`,
);
const sealHistory = statement<{ sealed: boolean }, [tenantId: string]>(
  "audit.note_history_sealed",
  `UPDATE tenant_generations SET history_sealed = true WHERE tenant_id = $1 AND NOT history_sealed
   RETURNING true AS sealed`,
);

/** Tenants after an id with effects or facts that nothing in their chain covers. Requires the operator's scope. */
export async function tenantsWithOpenHistory(
  transaction: Transaction,
  afterTenantId: string,
  limit: number,
): Promise<readonly string[]> {
  return (await transaction.query(selectOpen, afterTenantId, limit)).map(({ tenantId }) => tenantId);
}

/** @returns false if the history was covered before */
export async function noteHistorySealed(tx: TenantTx): Promise<boolean> {
  return (await tx.query(sealHistory, tx.tenantId)).length > 0;
}

/** Tenants whose chain has grown since it was last signed, ordered by id. Requires the operator's scope. */
export async function grownChains(database: Database, afterTenant: string, limit: number): Promise<readonly string[]> {
  const rows = await database.snapshot({ kind: "operator" }, (tx) => tx.query(selectGrown, afterTenant, limit));
  return rows.map(({ tenantId }) => tenantId);
}

/** Whether the tenant exists. Requires the operator's scope. */
export async function tenantExists(transaction: Transaction, tenantId: string): Promise<boolean> {
  return (await transaction.query(selectTenant, tenantId)).length > 0;
}

/** All tenants after an id, ordered by id. Requires the operator's scope. */
export async function tenantsAfter(
  transaction: Transaction,
  afterTenantId: string,
  limit: number,
): Promise<readonly string[]> {
  return (await transaction.query(selectTenants, afterTenantId, limit)).map(({ id }) => id);
}

/** The newest checkpoint with the current hash of the seal that it signs, or undefined. */
export async function latestCheckpoint(
  tx: TenantTx,
): Promise<{ readonly position: number; readonly hash: string; readonly sealHash: string | null } | undefined> {
  return (await tx.query(selectLatest, tx.tenantId))[0];
}

/** Stores a checkpoint. Another replica may have stored one for the same position. */
export async function insertCheckpoint(tx: TenantTx, checkpoint: Signed): Promise<void> {
  const { position, generation, hash, createdAt, signature } = checkpoint;
  await tx.query(insert, tx.tenantId, position, generation, hash, createdAt, signature);
}

/** The ends of the oldest batches, and whether each batch is older than a time. The oldest comes first. */
export function oldestSeals(
  tx: TenantTx,
  createdBefore: Date,
  limit: number,
): Promise<readonly (ChainPosition & { readonly old: boolean })[]> {
  return tx.query(selectOldest, tx.tenantId, createdBefore, limit);
}

const selectOther = statement<{ exists: boolean }, [tenantId: string, through: number]>(
  "audit.tells_more_than_pruning",
  `SELECT EXISTS (SELECT FROM audit_events WHERE tenant_id = $1 AND position <= $2 AND operation <> 'pruneEvents')`,
);

/** Whether the entries through a position record anything but earlier pruning. */
export async function tellsMoreThanPruning(tx: TenantTx, through: number): Promise<boolean> {
  return (await tx.query(selectOther, tx.tenantId, through))[0]?.exists === true;
}

/** Tries to reserve the tenant's record for pruning; false if another transaction prunes it. */
export async function lockPruning(tx: TenantTx): Promise<boolean> {
  return (await tx.query(tryLock, tx.tenantId))[0]?.locked === true;
}

/**
 * Replaces everything that the stub covers by the stub. Requires the operator's scope inside the tenant.
 *
 * @returns how many entries were deleted
 */
export async function replaceByStub(tx: TenantTx, stub: Signed): Promise<number> {
  const { position, generation, hash, createdAt, signature } = stub;
  const [, rows] = await Promise.all([
    tx.query(upsertStub, tx.tenantId, position, generation, hash, createdAt, signature),
    tx.query(prune),
  ]);
  return rows[0]?.deleted ?? 0;
}

/** Updates the row that commands lock last, so it must be the last query of its transaction. */
export async function notePruned(tx: TenantTx, position: number): Promise<void> {
  await tx.query(countPruned, tx.tenantId, position);
}

const selectBaseline = statement<{ through: number | null }, [tenantId: string]>(
  "audit.baseline_through",
  `SELECT max((after ->> 'historyThrough')::bigint) AS through FROM audit_events
   WHERE tenant_id = $1 AND operation IN ('sealAccessHistory', 'pruneEvents') AND actor_type = 'system'`,
);

/** The generation through which one entry covers all effects and facts; -1: seals cover all of them. */
export async function baselineThrough(tx: TenantTx): Promise<number> {
  return (await tx.query(selectBaseline, tx.tenantId))[0]?.through ?? -1;
}
