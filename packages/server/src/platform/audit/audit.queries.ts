import type { Work } from "@gatehouse/policy/work";
import type { Origin } from "../change.ts";
import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import { lockGeneration } from "../tenancy/generation.queries.ts";
import type { TenantTx } from "../tenancy/tenant-tx.ts";
import { detailsDomain, entryHash, hashBytes } from "./chain.ts";
import type { Entry } from "./entry.ts";

/** The largest part of a record that one statement writes. The driver serializes each statement at once. */
const largestChunk = { entries: 500, characters: 256 * 1024 };
/** The cost of an entry in rule-cost units: one unit for each of these characters, and a constant. */
const charactersOfUnit = 3;
const entryCost = 250;

/** The entries of a command in the form in which they are stored. */
export interface SerializedEntries {
  /** JSON arrays of entries, in order. */
  readonly chunks: readonly { readonly json: string; readonly count: number }[];
  /** The hash of each entry, in order. */
  readonly hashes: Buffer;
  /** The outbox entry, as JSON. */
  readonly changes: string;
}

const entryRows = (parameter: string) => `ROWS FROM (json_to_recordset(${parameter}::json) AS (
       id uuid, operation text, target_type text, target_id uuid, target_name text, before json, after json,
       reason text, reverts uuid)) WITH ORDINALITY
     AS entry (id, operation, target_type, target_id, target_name, before, after, reason, reverts, place)`;

const entryColumns = `tenant_id, id, created_at, generation, position, actor_type, actor_id, actor_name, operation,
       target_type, target_id, target_name, before, after, request_id, source_address, reason, reverts`;

/** Inserts some of the entries of the next generation, whose row the transaction has locked. */
const insertEntries = statement<
  never,
  [
    tenantId: string,
    at: Date,
    actorType: string,
    actorId: string | null,
    actorName: string,
    requestId: string,
    sourceAddress: string | null,
    entries: string,
    earlier: number,
  ]
>(
  "audit.insert_entries",
  `INSERT INTO audit_events (${entryColumns})
   SELECT $1, entry.id, $2, latest.generation + 1, latest.event_count + $9::bigint + entry.place, $3, $4, $5,
          entry.operation, entry.target_type, entry.target_id, entry.target_name, entry.before, entry.after, $6, $7,
          entry.reason, entry.reverts
   FROM tenant_generations AS latest, ${entryRows("$8")}
   WHERE latest.tenant_id = $1`,
);

/**
 * Stores the last audit entries of a command, the seal of all of them, its outbox entry and the tenant's new generation
 * in one statement. It must be the last statement of its transaction: it locks the row of tenant_generations, which
 * orders the commands of a tenant. It hashes the same bytes as `sealHash` in chain.ts. The effects and facts of the
 * command must be stored before it, under the lock of that row.
 *
 * The entries travel as JSON: PostgreSQL estimates the same number of rows for every list, so it soon keeps one plan.
 */
const appendRecord = statement<
  never,
  [
    tenantId: string,
    at: Date,
    actorType: string,
    actorId: string | null,
    actorName: string,
    requestId: string,
    sourceAddress: string | null,
    entries: string,
    earlier: number,
    total: number,
    changes: string,
    atMs: number,
    entryHashes: Buffer,
    hasDetails: boolean,
  ]
>(
  "audit.append",
  `WITH details AS (
     SELECT access_record_hash($1, generation, generation + 1) AS hash
     FROM tenant_generations WHERE $14::boolean AND tenant_id = $1
   ), bumped AS (
     UPDATE tenant_generations
     SET generation = generation + 1, event_count = event_count + $10::bigint,
         chain_hash = sha256(chain_hash || uuid_send($1) || int8send(generation + 1) || int8send(event_count + 1)
                             || int8send($12::bigint) || $13::bytea
                             || coalesce('${detailsDomain}'::bytea || (SELECT hash FROM details), ''::bytea))
     WHERE tenant_id = $1
     RETURNING generation, event_count - $10::bigint AS last_position, chain_hash
   ), audited AS (
     INSERT INTO audit_events (${entryColumns})
     SELECT $1, entry.id, $2, bumped.generation, bumped.last_position + $9::bigint + entry.place, $3, $4, $5,
            entry.operation, entry.target_type, entry.target_id, entry.target_name, entry.before, entry.after, $6, $7,
            entry.reason, entry.reverts
     FROM bumped, ${entryRows("$8")}
   ), sealed AS (
     INSERT INTO audit_seals (tenant_id, generation, created_at, first_position, entry_hashes, details, hash)
     SELECT $1, generation, $2, last_position + 1, $13, (SELECT hash FROM details), chain_hash FROM bumped
   )
   INSERT INTO outbox (tenant_id, generation, created_at, changes)
   SELECT $1, generation, $2, $11::jsonb FROM bumped`,
);

function kindOf(entry: Entry): "created" | "updated" | "deleted" {
  if (entry.before === undefined) return "created";
  return entry.after === undefined ? "deleted" : "updated";
}

/** Serializes and hashes the entries of a command, one by one. */
export function* serializeEntries(entries: readonly Entry[]): Work<SerializedEntries> {
  const chunks: { json: string; count: number }[] = [];
  const changes: string[] = [];
  const hashes: Buffer[] = [];
  let rows: string[] = [];
  let characters = 0;
  for (const entry of entries) {
    const { id, operation, target, before, after, reason, reverts } = entry;
    const row = JSON.stringify({
      id,
      operation,
      target_type: target.type,
      target_id: target.id,
      target_name: target.name,
      before,
      after,
      reason,
      reverts,
    });
    rows.push(row);
    characters += row.length;
    hashes.push(entryHash(entry));
    changes.push(JSON.stringify({ type: target.type, id: target.id, change: kindOf(entry) }));
    yield entryCost + row.length / charactersOfUnit;
    if (rows.length >= largestChunk.entries || characters >= largestChunk.characters) {
      chunks.push({ json: `[${rows.join(",")}]`, count: rows.length });
      [rows, characters] = [[], 0];
    }
  }
  if (rows.length > 0) chunks.push({ json: `[${rows.join(",")}]`, count: rows.length });
  return { chunks, hashes: Buffer.concat(hashes), changes: `[${changes.join(",")}]` };
}

/**
 * Stores all entries but those of the last chunk, with one statement at a time. Locks the generation first, so the
 * transaction must not wait for other locks afterwards.
 *
 * @param origin the author and the request; the entries have operation and reason
 */
export async function storeEarlyEntries(tx: TenantTx, origin: Origin, { chunks }: SerializedEntries): Promise<void> {
  if (chunks.length < 2) return;
  await lockGeneration(tx);
  let earlier = 0;
  for (const { json, count } of chunks.slice(0, -1)) {
    await tx.query(insertEntries, ...commonOf(tx.tenantId, origin), json, earlier);
    earlier += count;
  }
}

/**
 * Appends a command's changes to the audit record, sealed, and to the outbox. `storeEarlyEntries` has stored the other
 * chunks.
 *
 * @param origin the author and the request; the entries have operation and reason
 * @param entries at least one
 * @param hasDetails whether the command has stored access effects or facts, which the seal then covers
 */
export function appendToRecord(
  transaction: Transaction,
  tenantId: string,
  origin: Origin,
  { chunks, hashes, changes }: SerializedEntries,
  hasDetails: boolean,
): Promise<unknown> {
  const total = hashes.length / hashBytes;
  const last = chunks.at(-1);
  return transaction.query(
    appendRecord,
    ...commonOf(tenantId, origin),
    last?.json ?? "[]",
    total - (last?.count ?? 0),
    total,
    changes,
    origin.at.getTime(),
    hashes,
    hasDetails,
  );
}

function commonOf(tenantId: string, { at, actor, requestId, sourceAddress }: Origin) {
  return [tenantId, at, actor.type, actor.id ?? null, actor.name, requestId, sourceAddress ?? null] as const;
}
