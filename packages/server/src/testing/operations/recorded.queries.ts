/** Effects of requests in the database that the API does not show. */
import type { TargetType } from "@gatehouse/contract/event-types";
import { statement } from "../../platform/db/statement.ts";
import type { TestServer } from "../test-server.ts";

export interface RecordedEvent {
  readonly id: string;
  readonly operation: string;
  readonly generation: number;
  readonly actor_type: string;
  readonly source_address: string | null;
  readonly before: object | null;
  readonly after: object | null;
}

export interface OutboxRow {
  readonly generation: number;
  readonly changes: readonly { readonly type: TargetType }[];
}

export interface OperatorEvent {
  readonly id: string;
  readonly operation: string;
  readonly actor_type: string;
  readonly actor_name: string;
  readonly before: object | null;
  readonly after: object | null;
}

export interface StoredReply {
  readonly caller_id: string;
  /** Null for requests that only ask a question. */
  readonly reply_ciphertext: Buffer | null;
}

const selectEvents = statement<RecordedEvent, [tenantId: string, requestId: string]>(
  "testing.events_of_request",
  `SELECT id, operation, generation, actor_type, source_address, before, after FROM audit_events
   WHERE tenant_id = $1 AND request_id = $2`,
);
const selectOutbox = statement<OutboxRow, [tenantId: string, generation: number]>(
  "testing.outbox_of_generation",
  "SELECT generation, changes FROM outbox WHERE tenant_id = $1 AND generation = $2",
);
const selectOperatorEvents = statement<OperatorEvent, [requestId: string]>(
  "testing.operator_events_of_request",
  "SELECT id, operation, actor_type, actor_name, before, after FROM operator_events WHERE request_id = $1",
);
const selectGeneration = statement<{ generation: number }, [tenantId: string]>(
  "testing.generation",
  "SELECT generation FROM tenant_generations WHERE tenant_id = $1",
);
const selectReplies = statement<StoredReply, [tenantId: string, keyHash: Buffer]>(
  "testing.stored_replies",
  "SELECT caller_id, reply_ciphertext FROM idempotent_replies WHERE tenant_id = $1 AND key_hash = $2",
);
const countTenants = statement<{ count: number }, [name: string]>(
  "testing.count_tenants",
  "SELECT count(*) AS count FROM tenants WHERE name = $1",
);

type Database = TestServer["database"];

const inside = (tenantId: string) => ({ kind: "tenant", tenantId }) as const;

/** The audit entries of a request in a tenant. */
export function eventsOf(database: Database, tenantId: string, requestId: string): Promise<RecordedEvent[]> {
  return database.snapshot(inside(tenantId), (tx) => tx.query(selectEvents, tenantId, requestId));
}

/** The outbox entries of one generation of a tenant; one is expected. */
export function outboxOf(database: Database, tenantId: string, generation: number): Promise<OutboxRow[]> {
  return database.snapshot(inside(tenantId), (tx) => tx.query(selectOutbox, tenantId, generation));
}

/** The entries of a request in the operator's audit record. */
export function operatorEventsOf(database: Database, requestId: string): Promise<OperatorEvent[]> {
  return database.snapshot({ kind: "operator" }, (tx) => tx.query(selectOperatorEvents, requestId));
}

/** The number of commands that have changed a tenant. */
export async function generationOf(database: Database, tenantId: string): Promise<number> {
  const rows = await database.snapshot(inside(tenantId), (tx) => tx.query(selectGeneration, tenantId));
  return rows[0]?.generation ?? 0;
}

/** The stored replies of an Idempotency-Key by its SHA-256; the operator's have the nil UUID. */
export function repliesTo(
  database: Database,
  tenantId: string | undefined,
  keyHash: Buffer,
  nilUuid: string,
): Promise<StoredReply[]> {
  const scope = tenantId === undefined ? ({ kind: "operator" } as const) : inside(tenantId);
  return database.snapshot(scope, (tx) => tx.query(selectReplies, tenantId ?? nilUuid, keyHash));
}

/** The number of tenants with a name. */
export async function tenantsCalled(database: Database, name: string): Promise<number> {
  const rows = await database.snapshot({ kind: "operator" }, (tx) => tx.query(countTenants, name));
  return rows[0]?.count ?? 0;
}
