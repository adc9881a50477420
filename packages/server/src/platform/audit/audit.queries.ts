import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import { newId } from "../ids.ts";
import type { Change, Origin } from "./change.ts";

type Texts = readonly (string | null)[];

/**
 * The audit entries and the outbox entry of a command, and the tenant's new generation, in one statement. It is the last
 * of its transaction: the row of tenant_generations that it locks is what orders the commands of a tenant.
 */
const appendRecord = statement<
  never,
  [
    tenantId: string,
    at: Date,
    actorType: string,
    actorId: string | null,
    actorName: string,
    operation: string,
    requestId: string,
    sourceAddress: string | null,
    ids: Texts,
    targetTypes: Texts,
    targetIds: Texts,
    targetNames: Texts,
    before: Texts,
    after: Texts,
    changes: string,
  ]
>(
  "audit.append",
  `WITH bumped AS (
     UPDATE tenant_generations
     SET generation = generation + 1, event_count = event_count + cardinality($9::uuid[])
     WHERE tenant_id = $1
     RETURNING generation
   ), audited AS (
     INSERT INTO audit_events (tenant_id, id, created_at, generation, actor_type, actor_id, actor_name, operation,
                               target_type, target_id, target_name, before, after, request_id, source_address)
     SELECT $1, entry.id, $2, bumped.generation, $3, $4, $5, $6,
            entry.target_type, entry.target_id, entry.target_name, entry.before::json, entry.after::json, $7, $8
     FROM bumped, unnest($9::uuid[], $10::text[], $11::uuid[], $12::text[], $13::text[], $14::text[])
       AS entry (id, target_type, target_id, target_name, before, after)
   )
   INSERT INTO outbox (tenant_id, generation, created_at, changes)
   SELECT $1, generation, $2, $15::jsonb FROM bumped`,
);

function kindOf(change: Change): "created" | "updated" | "deleted" {
  if (change.before === undefined) return "created";
  return change.after === undefined ? "deleted" : "updated";
}

/**
 * Writes what a command did into the audit record and the outbox.
 *
 * @param changes at least one
 */
export function appendToRecord(
  transaction: Transaction,
  tenantId: string,
  origin: Origin,
  changes: readonly Change[],
): Promise<unknown> {
  const json = (value: object | undefined) => (value === undefined ? null : JSON.stringify(value));
  return transaction.query(
    appendRecord,
    tenantId,
    origin.at,
    origin.actor.type,
    origin.actor.id ?? null,
    origin.actor.name,
    origin.operation,
    origin.requestId,
    origin.sourceAddress ?? null,
    changes.map(() => newId()),
    changes.map((change) => change.type),
    changes.map((change) => change.id),
    changes.map((change) => change.name ?? null),
    changes.map((change) => json(change.before)),
    changes.map((change) => json(change.after)),
    JSON.stringify(changes.map((change) => ({ type: change.type, id: change.id, change: kindOf(change) }))),
  );
}
