/** Reads the audit record in batches, in the order of its positions. */
import type { Event } from "@gatehouse/contract/records/event";
import { filterCondition, type ListSource } from "../db/list-statement.ts";
import { statement, unprepared } from "../db/statement.ts";
import type { Filter } from "../list-query.ts";
import type { TenantTx } from "../tenancy/tenant-tx.ts";
import { hashBytes, type Seal } from "./chain.ts";
import { type EntryRow, entryColumns, eventView } from "./entry.ts";
import type { ChainPosition, Signed } from "./signatures.ts";
import type { ExpectedHead } from "./verify-record.ts";

/** The columns of an entry's fields, for lists and all other filters. */
export const eventSource: ListSource = {
  table: "audit_events",
  select: entryColumns,
  tieBreak: "item.position",
  columns: {
    id: { value: "item.id" },
    position: { value: "item.position" },
    createdAt: { value: "item.created_at" },
    generation: { value: "item.generation" },
    operation: { value: "item.operation" },
    requestId: { value: "item.request_id" },
    sourceAddress: { value: "item.source_address" },
    "actor.id": { value: "item.actor_id" },
    "actor.type": { value: "item.actor_type" },
    "actor.name": { value: "item.actor_name" },
    "target.id": { value: "item.target_id" },
    "target.type": { value: "item.target_type" },
    "target.name": { value: "item.target_name" },
    reverts: { value: "item.reverts" },
  },
};

const selectHead = statement<ExpectedHead, [tenantId: string]>(
  "audit.head",
  `SELECT generation, event_count AS "eventCount", pruned_count AS "prunedCount", encode(chain_hash, 'hex') AS "chainHash"
   FROM tenant_generations WHERE tenant_id = $1`,
);

const signedColumns =
  "position, generation, encode(hash, 'hex') AS hash, created_at AS \"createdAt\", translate(encode(signature, 'base64'), E'\\n', '') AS signature";

const selectStub = statement<Signed, [tenantId: string]>(
  "audit.stub",
  `SELECT ${signedColumns} FROM audit_stubs WHERE tenant_id = $1`,
);
const selectCheckpoints = statement<Signed, [tenantId: string, after: number, through: number, limit: number]>(
  "audit.checkpoints",
  `SELECT ${signedColumns} FROM audit_checkpoints WHERE tenant_id = $1 AND position > $2 AND position <= $3
   ORDER BY position LIMIT $4`,
);

interface SealRow {
  readonly generation: number;
  readonly createdAt: string;
  readonly firstPosition: number;
  readonly entryHashes: string;
  readonly details: string | null;
  readonly hash: string;
}

const sealColumns =
  "generation, created_at AS \"createdAt\", first_position AS \"firstPosition\", encode(entry_hashes, 'hex') AS \"entryHashes\", encode(details, 'hex') AS details, encode(hash, 'hex') AS hash";

const selectSeals = statement<
  SealRow,
  [tenantId: string, afterGeneration: number, throughGeneration: number, limit: number]
>(
  "audit.seals",
  `SELECT ${sealColumns} FROM audit_seals WHERE tenant_id = $1 AND generation > $2 AND generation <= $3
   ORDER BY generation LIMIT $4`,
);
const selectSealBefore = statement<SealRow, [tenantId: string, beforeGeneration: number]>(
  "audit.seal_before",
  `SELECT ${sealColumns} FROM audit_seals WHERE tenant_id = $1 AND generation < $2 ORDER BY generation DESC LIMIT 1`,
);

/** The highest position that a query can contain. */
export const noEnd = Number.MAX_SAFE_INTEGER;

function sealOf({ generation, createdAt, firstPosition, entryHashes, details, hash }: SealRow): Seal {
  return {
    generation,
    createdAt,
    firstPosition,
    entryHashes: entryHashes.match(new RegExp(`.{${2 * hashBytes}}`, "g")) ?? [],
    ...(details === null ? {} : { details }),
    hash,
  };
}

function placeOf(row: SealRow): ChainPosition {
  const seal = sealOf(row);
  return {
    position: seal.firstPosition + seal.entryHashes.length - 1,
    generation: seal.generation,
    hash: seal.hash,
  };
}

/** The end of the record; undefined if the tenant was deleted. */
export async function readHead(tx: TenantTx): Promise<ExpectedHead | undefined> {
  return (await tx.query(selectHead, tx.tenantId))[0];
}

/** The stub of the pruned entries; undefined if nothing was pruned. */
export async function readStub(tx: TenantTx): Promise<Signed | undefined> {
  return (await tx.query(selectStub, tx.tenantId))[0];
}

/** The place of the last seal before a generation; undefined at the start of the chain. */
export async function readPositionBefore(tx: TenantTx, generation: number): Promise<ChainPosition | undefined> {
  const [row] = await tx.query(selectSealBefore, tx.tenantId, generation);
  return row === undefined ? undefined : placeOf(row);
}

export async function readSeals(
  tx: TenantTx,
  afterGeneration: number,
  throughGeneration: number,
  limit: number,
): Promise<readonly Seal[]> {
  return (await tx.query(selectSeals, tx.tenantId, afterGeneration, throughGeneration, limit)).map(sealOf);
}

export function readCheckpoints(
  tx: TenantTx,
  after: number,
  through: number,
  limit: number,
): Promise<readonly Signed[]> {
  return tx.query(selectCheckpoints, tx.tenantId, after, through, limit);
}

/** The matching entries after one position and through another, ordered by position. */
export async function readEntries(
  tx: TenantTx,
  filters: readonly Filter[],
  after: number,
  through: number,
  limit: number,
): Promise<readonly Event[]> {
  const parameters: unknown[] = [tx.tenantId, after, through, limit];
  const where = filterCondition(eventSource, filters, parameters);
  const select = unprepared<EntryRow, readonly unknown[]>(
    `SELECT ${entryColumns} FROM audit_events AS item
     WHERE item.tenant_id = $1 AND item.position > $2 AND item.position <= $3 AND ${where}
     ORDER BY item.position LIMIT $4`,
  );
  return (await tx.query(select, ...parameters)).map(eventView);
}

/** The generations of the first and the last matching entry; undefined if no entry matches. */
export async function readGenerations(
  tx: TenantTx,
  filters: readonly Filter[],
): Promise<{ readonly first: number; readonly last: number } | undefined> {
  const parameters: unknown[] = [tx.tenantId];
  const where = filterCondition(eventSource, filters, parameters);
  const select = unprepared<{ first: number | null; last: number | null }, readonly unknown[]>(
    `SELECT min(item.generation) AS first, max(item.generation) AS last FROM audit_events AS item
     WHERE item.tenant_id = $1 AND ${where}`,
  );
  const [row] = await tx.query(select, ...parameters);
  return row === undefined || row.first === null || row.last === null
    ? undefined
    : { first: row.first, last: row.last };
}
