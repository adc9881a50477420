import type { Origin } from "../change.ts";
import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import { detailsDomain, entryHash } from "./chain.ts";
import type { Entry } from "./entry.ts";

type Texts = readonly (string | null)[];

/**
 * Stores the audit entries of a command, their seal, its outbox entry and the tenant's new generation in one statement.
 * It must be the last statement of its transaction: it locks the row of tenant_generations, which orders the commands
 * of a tenant. It hashes the same bytes as `sealHash` in chain.ts. The effects and facts of the command must be stored
 * before it, under the lock of that row.
 */
const appendRecord = statement<
  never,
  [
    tenantId: string,
    at: Date,
    actorType: string,
    actorId: string | null,
    actorName: string,
    operations: Texts,
    requestId: string,
    sourceAddress: string | null,
    ids: Texts,
    targetTypes: Texts,
    targetIds: Texts,
    targetNames: Texts,
    before: Texts,
    after: Texts,
    changes: string,
    atMs: number,
    entryHashes: Buffer,
    reasons: Texts,
    hasDetails: boolean,
  ]
>(
  "audit.append",
  `WITH details AS (
     SELECT access_record_hash($1, generation, generation + 1) AS hash
     FROM tenant_generations WHERE $19::boolean AND tenant_id = $1
   ), bumped AS (
     UPDATE tenant_generations
     SET generation = generation + 1, event_count = event_count + cardinality($9::uuid[]),
         chain_hash = sha256(chain_hash || uuid_send($1) || int8send(generation + 1) || int8send(event_count + 1)
                             || int8send($16::bigint) || $17::bytea
                             || coalesce('${detailsDomain}'::bytea || (SELECT hash FROM details), ''::bytea))
     WHERE tenant_id = $1
     RETURNING generation, event_count - cardinality($9::uuid[]) AS last_position, chain_hash
   ), audited AS (
     INSERT INTO audit_events (tenant_id, id, created_at, generation, position, actor_type, actor_id, actor_name,
                               operation, target_type, target_id, target_name, before, after, request_id, source_address,
                               reason)
     SELECT $1, entry.id, $2, bumped.generation, bumped.last_position + entry.place, $3, $4, $5, entry.operation,
            entry.target_type, entry.target_id, entry.target_name, entry.before::json, entry.after::json, $7, $8,
            entry.reason
     FROM bumped, unnest($9::uuid[], $6::text[], $10::text[], $11::uuid[], $12::text[], $13::text[], $14::text[],
                         $18::text[]) WITH ORDINALITY
       AS entry (id, operation, target_type, target_id, target_name, before, after, reason, place)
   ), sealed AS (
     INSERT INTO audit_seals (tenant_id, generation, created_at, first_position, entry_hashes, details, hash)
     SELECT $1, generation, $2, last_position + 1, $17, (SELECT hash FROM details), chain_hash FROM bumped
   )
   INSERT INTO outbox (tenant_id, generation, created_at, changes)
   SELECT $1, generation, $2, $15::jsonb FROM bumped`,
);

function kindOf(entry: Entry): "created" | "updated" | "deleted" {
  if (entry.before === undefined) return "created";
  return entry.after === undefined ? "deleted" : "updated";
}

/**
 * Appends a command's changes to the audit record, sealed, and to the outbox.
 *
 * @param origin the author and the request; operation and reason are those of the entries
 * @param entries at least one
 * @param hasDetails whether the command has stored access effects or facts, which the seal then covers
 */
export function appendToRecord(
  transaction: Transaction,
  tenantId: string,
  origin: Origin,
  entries: readonly Entry[],
  hasDetails: boolean,
): Promise<unknown> {
  const json = (value: object | undefined) => (value === undefined ? null : JSON.stringify(value));
  return transaction.query(
    appendRecord,
    tenantId,
    origin.at,
    origin.actor.type,
    origin.actor.id ?? null,
    origin.actor.name,
    entries.map(({ operation }) => operation),
    origin.requestId,
    origin.sourceAddress ?? null,
    entries.map(({ id }) => id),
    entries.map(({ target }) => target.type),
    entries.map(({ target }) => target.id),
    entries.map(({ target }) => target.name ?? null),
    entries.map(({ before }) => json(before)),
    entries.map(({ after }) => json(after)),
    JSON.stringify(entries.map((entry) => ({ type: entry.target.type, id: entry.target.id, change: kindOf(entry) }))),
    origin.at.getTime(),
    Buffer.concat(entries.map(entryHash)),
    entries.map(({ reason }) => reason ?? null),
    hasDetails,
  );
}
