import { AppError } from "../../platform/app-error.ts";
import type { Actor, Origin } from "../../platform/change.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { withConstraints } from "../../platform/db/database-errors.ts";
import { countStatement, type ListSource, pageStatement } from "../../platform/db/list-statement.ts";
import { statement } from "../../platform/db/statement.ts";
import type { ListQuery } from "../../platform/list-query.ts";
import { requireFollowed } from "../../platform/tenancy/list-page.queries.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface TenantRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
  readonly name: string;
  readonly owner_email: string;
  /** The tenant's name in addresses. */
  readonly slug: string;
}

const columns = "id, created_at, updated_at, version, name, owner_email, slug";

const source: ListSource = {
  table: "tenants",
  inTenant: false,
  select: columns,
  columns: {
    id: { value: "item.id" },
    name: { value: "item.name", key: "item.name_key" },
    createdAt: { value: "item.created_at" },
    ownerEmail: { value: "item.owner_email" },
  },
};

const insert = statement<TenantRow, [id: string, at: Date, name: string, ownerEmail: string]>(
  "tenants.insert",
  `WITH made AS (
     INSERT INTO tenants (id, created_at, updated_at, name, owner_email, slug)
     SELECT $1::uuid, $2::timestamptz, $2::timestamptz, $3::text, $4::text, CASE
       WHEN EXISTS (SELECT FROM tenants WHERE slug = tenant_slug($3::text))
       THEN tenant_slug($3::text) || '-' || right($1::uuid::text, 12)
       ELSE tenant_slug($3::text) END
     RETURNING ${columns}
   ), counted AS (
     INSERT INTO tenant_generations (tenant_id) SELECT id FROM made
   ), set_up AS (
     INSERT INTO tenant_settings (tenant_id, updated_at) SELECT id, created_at FROM made
   )
   SELECT * FROM made`,
);
const selectOne = statement<TenantRow, [id: string]>("tenants.read", `SELECT ${columns} FROM tenants WHERE id = $1`);
const selectForChange = statement<TenantRow, [id: string]>(
  "tenants.lock",
  `SELECT ${columns} FROM tenants WHERE id = $1 FOR UPDATE`,
);
// Constraints that protect single records must not block the deletion of the tenant: the database chooses the order of
// cascades.
const deferConstraints = statement<never, []>("tenants.defer_constraints", "SET CONSTRAINTS ALL DEFERRED");
const remove = statement<never, [id: string]>("tenants.delete", "DELETE FROM tenants WHERE id = $1");
const selectAny = statement<{ exists: boolean }, []>("tenants.any", "SELECT EXISTS (SELECT FROM tenants)");

const selectFirst = statement<{ id: string }, []>(
  "tenants.first",
  "SELECT id FROM tenants ORDER BY created_at, id LIMIT 1",
);

const appendEvent = statement<
  never,
  [
    id: string,
    at: Date,
    actorType: Actor["type"],
    actorName: string,
    operation: string,
    tenantId: string,
    before: string | null,
    after: string | null,
    requestId: string,
    sourceAddress: string | null,
  ]
>(
  "tenants.append_event",
  `INSERT INTO operator_events (id, created_at, actor_type, actor_name, operation, tenant_id, before, after, request_id,
                                source_address)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
);

/** @throws AppError name_taken */
export async function insertTenant(tx: TenantTx, at: Date, name: string, ownerEmail: string): Promise<TenantRow> {
  const nameTaken = () =>
    new AppError("name_taken", {
      detail: `Another tenant has the name ${JSON.stringify(name)}. Choose another name.`,
      errors: [{ pointer: "/name", message: "is taken" }],
    });
  const rows = await withConstraints(
    // Two tenants whose names have the same slug can be created at the same time.
    { tenants_name_unique: nameTaken, tenants_slug_unique: nameTaken },
    tx.query(insert, tx.tenantId, at, name, ownerEmail),
  );
  return rows[0] as TenantRow; // an INSERT that did not throw returns its row
}

export async function readTenant(transaction: Transaction, id: string): Promise<TenantRow | undefined> {
  return (await transaction.query(selectOne, id))[0];
}

export async function lockTenant(transaction: Transaction, id: string): Promise<TenantRow | undefined> {
  return (await transaction.query(selectForChange, id))[0];
}

/** Deletes the tenant. Foreign keys delete the rows in all other tables. */
export async function deleteTenant(tx: TenantTx): Promise<void> {
  await Promise.all([tx.query(deferConstraints), tx.query(remove, tx.tenantId)]);
}

export async function hasTenants(transaction: Transaction): Promise<boolean> {
  return (await transaction.query(selectAny))[0]?.exists === true;
}

/** The id of the oldest tenant. */
export async function firstTenant(transaction: Transaction): Promise<string | undefined> {
  return (await transaction.query(selectFirst))[0]?.id;
}

export async function listTenants(
  transaction: Transaction,
  query: ListQuery,
): Promise<{ readonly rows: TenantRow[]; readonly total: number }> {
  const page = pageStatement<TenantRow>(source, query);
  const count = countStatement(source, query);
  const [rows, counts] = await Promise.all([
    transaction.query(page.statement, ...page.parameters),
    transaction.query(count.statement, ...count.parameters),
    requireFollowed(transaction, source, query),
  ]);
  return { rows, total: counts[0]?.count ?? 0 };
}

const announce = statement<never, [tenantId: string, at: Date, changes: string]>(
  "tenants.announce_deletion",
  `WITH bumped AS (
     UPDATE tenant_generations SET generation = generation + 1 WHERE tenant_id = $1 RETURNING generation
   )
   INSERT INTO outbox (tenant_id, generation, created_at, changes) SELECT $1, generation, $2, $3::jsonb FROM bumped`,
);

/** Announces the deletion of the tenant to all replicas, through the outbox. */
export async function announceDeletion(tx: TenantTx, at: Date): Promise<void> {
  const changes = JSON.stringify([{ type: "tenant", id: tx.tenantId, change: "deleted" }]);
  await tx.query(announce, tx.tenantId, at, changes);
}

/** Records an action of the operator in the installation's record, which outlives the tenant. */
export async function appendOperatorEvent(
  transaction: Transaction,
  event: {
    readonly id: string;
    readonly origin: Origin;
    readonly tenantId: string;
    readonly before?: object;
    readonly after?: object;
  },
): Promise<void> {
  const json = (value: object | undefined) => (value === undefined ? null : JSON.stringify(value));
  const { id, origin, tenantId, before, after } = event;
  const { actor, operation, requestId, sourceAddress, at } = origin;
  await transaction.query(
    appendEvent,
    id,
    at,
    actor.type,
    actor.name,
    operation,
    tenantId,
    json(before),
    json(after),
    requestId,
    sourceAddress ?? null,
  );
}
