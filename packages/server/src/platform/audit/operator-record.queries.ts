/** Reads and signs the operator's record. All queries require the operator's scope. */
import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { OperatorEntry } from "./operator-record.ts";
import type { ChainPosition, Signed } from "./signatures.ts";

const selectLast = statement<ChainPosition, []>(
  "operator_record.last",
  "SELECT position, position AS generation, encode(hash, 'hex') AS hash FROM operator_chain WHERE position > 0",
);
const selectAt = statement<ChainPosition, [position: number]>(
  "operator_record.at",
  "SELECT position, position AS generation, encode(hash, 'hex') AS hash FROM operator_events WHERE position = $1",
);
const signed = `position, position AS generation, encode(hash, 'hex') AS hash, created_at AS "createdAt",
  translate(encode(signature, 'base64'), E'\\n', '') AS signature`;
const selectCheckpoint = statement<Signed, []>(
  "operator_record.checkpoint",
  `SELECT ${signed} FROM operator_checkpoints ORDER BY position DESC LIMIT 1`,
);
const selectCheckpoints = statement<Signed, []>(
  "operator_record.checkpoints",
  `SELECT ${signed} FROM operator_checkpoints ORDER BY position`,
);
const insert = statement<never, [position: number, hash: string, createdAt: string, signature: string]>(
  "operator_record.insert_checkpoint",
  `INSERT INTO operator_checkpoints (position, hash, created_at, signature)
   VALUES ($1, decode($2, 'hex'), $3, decode($4, 'base64')) ON CONFLICT DO NOTHING`,
);
const selectEntries = statement<OperatorEntry, [after: number, limit: number]>(
  "operator_record.entries",
  `SELECT position, encode(hash, 'hex') AS hash, id, created_at AS "createdAt", actor_type AS "actorType",
     actor_name AS "actorName", operation, tenant_id AS "tenantId", before::text AS before, after::text AS after,
     request_id AS "requestId", source_address AS "sourceAddress", reason
   FROM operator_events WHERE position > $1 ORDER BY position LIMIT $2`,
);
const selectLost = statement<{ id: string }, []>(
  "operator_record.lost_tenants",
  `SELECT made.tenant_id AS id FROM operator_events AS made
   WHERE made.operation IN ('createTenant', 'setUpInstallation')
     AND NOT EXISTS (SELECT FROM operator_events AS gone WHERE gone.tenant_id = made.tenant_id AND gone.operation = 'deleteTenant')
     AND NOT EXISTS (SELECT FROM tenants WHERE tenants.id = made.tenant_id)
   ORDER BY made.position`,
);

const selectDeleted = statement<{ deleted: boolean }, [tenantId: string]>(
  "operator_record.was_deleted",
  `SELECT EXISTS (
     SELECT FROM operator_events WHERE tenant_id = $1 AND operation = 'deleteTenant'
   ) AS deleted`,
);
const entriesAtOnce = 500;

/** The end of the chain according to the row that orders the entries, or undefined. */
export async function lastOperatorPlace(transaction: Transaction): Promise<ChainPosition | undefined> {
  return (await transaction.query(selectLast))[0];
}

export async function operatorPlaceAt(transaction: Transaction, position: number): Promise<ChainPosition | undefined> {
  return (await transaction.query(selectAt, position))[0];
}

/** The newest checkpoint. */
export async function operatorCheckpoint(transaction: Transaction): Promise<Signed | undefined> {
  return (await transaction.query(selectCheckpoint))[0];
}

export function operatorCheckpoints(transaction: Transaction): Promise<readonly Signed[]> {
  return transaction.query(selectCheckpoints);
}

export async function insertOperatorCheckpoint(transaction: Transaction, checkpoint: Signed): Promise<void> {
  const { position, hash, createdAt, signature } = checkpoint;
  await transaction.query(insert, position, hash, createdAt, signature);
}

/** The entries after a position, read page by page. */
export async function* operatorEntriesAfter(transaction: Transaction, after: number): AsyncGenerator<OperatorEntry> {
  let last = after;
  for (;;) {
    const entries = await transaction.query(selectEntries, last, entriesAtOnce);
    yield* entries;
    const end = entries.at(-1);
    if (end === undefined || entries.length < entriesAtOnce) return;
    last = end.position;
  }
}

const append = statement<
  never,
  [id: string, at: Date, operation: string, tenantId: string, requestId: string, reason: string]
>(
  "operator_record.append",
  `INSERT INTO operator_events (id, created_at, actor_type, actor_name, operation, tenant_id, request_id, reason)
   VALUES ($1, $2, 'operator', 'Operator', $3, $4, $5, $6)`,
);

export interface NewOperatorEntry {
  readonly id: string;
  readonly at: Date;
  readonly operation: string;
  /** The nil UUID if the entry concerns the whole installation. */
  readonly tenantId: string;
  readonly reason: string;
}

/** Appends an entry for a command that the operator ran on the machine. */
export async function appendOperatorEntry(
  transaction: Transaction,
  { id, at, operation, tenantId, reason }: NewOperatorEntry,
): Promise<void> {
  await transaction.query(append, id, at, operation, tenantId, id, reason);
}

/** Whether the operator deleted the tenant. */
export async function wasDeleted(transaction: Transaction, tenantId: string): Promise<boolean> {
  return (await transaction.query(selectDeleted, tenantId))[0]?.deleted === true;
}

/** The tenants that were created, are gone, and were not deleted. */
export async function lostTenants(transaction: Transaction): Promise<readonly string[]> {
  return (await transaction.query(selectLost)).map(({ id }) => id);
}
