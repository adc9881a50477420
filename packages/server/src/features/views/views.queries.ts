import type { View } from "@gatehouse/contract/records/view";
import { withConstraints } from "../../platform/db/database-errors.ts";
import { statement } from "../../platform/db/statement.ts";
import { nameTaken } from "../../platform/name-taken.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export type ViewSettings = Omit<View, "id" | "createdAt" | "updatedAt" | "list" | "name">;

export interface ViewRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
  readonly list: string;
  readonly name: string;
  readonly settings: ViewSettings;
}

const columns = "id, created_at, updated_at, version, list, name, settings";

const selectOfUser = statement<ViewRow, [tenantId: string, userId: string]>(
  "views.of_user",
  `SELECT ${columns} FROM views WHERE tenant_id = $1 AND user_id = $2 ORDER BY list, name, id`,
);
const selectOne = statement<ViewRow, [tenantId: string, userId: string, id: string]>(
  "views.read",
  `SELECT ${columns} FROM views WHERE tenant_id = $1 AND user_id = $2 AND id = $3`,
);
const selectForChange = statement<ViewRow, [tenantId: string, userId: string, id: string]>(
  "views.lock",
  `SELECT ${columns} FROM views WHERE tenant_id = $1 AND user_id = $2 AND id = $3 FOR UPDATE`,
);
/** Locks the user, so that two requests together do not exceed the limit. */
const lockUser = statement<{ id: string }, [tenantId: string, userId: string]>(
  "views.lock_user",
  "SELECT id FROM users WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE",
);
const countOfUser = statement<{ count: number }, [tenantId: string, userId: string]>(
  "views.count_of_user",
  "SELECT count(*) AS count FROM views WHERE tenant_id = $1 AND user_id = $2",
);
const insert = statement<
  ViewRow,
  [tenantId: string, id: string, at: Date, userId: string, list: string, name: string, settings: string]
>(
  "views.insert",
  `INSERT INTO views (tenant_id, id, created_at, updated_at, user_id, list, name, settings)
   VALUES ($1, $2, $3, $3, $4, $5, $6, $7) RETURNING ${columns}`,
);
const update = statement<ViewRow, [tenantId: string, id: string, at: Date, name: string, settings: string]>(
  "views.update",
  `UPDATE views SET updated_at = $3, version = version + 1, name = $4, settings = $5
   WHERE tenant_id = $1 AND id = $2 RETURNING ${columns}`,
);
const remove = statement<never, [tenantId: string, id: string]>(
  "views.delete",
  "DELETE FROM views WHERE tenant_id = $1 AND id = $2",
);

/** The views of a user, ordered by list and name. */
export function readViewsOfUser(tx: TenantTx, userId: string): Promise<ViewRow[]> {
  return tx.query(selectOfUser, tx.tenantId, userId);
}

/** Returns undefined for a view of another user. */
export async function readView(tx: TenantTx, userId: string, id: string): Promise<ViewRow | undefined> {
  return (await tx.query(selectOne, tx.tenantId, userId, id))[0];
}

/** Returns undefined for a view of another user. */
export async function lockView(tx: TenantTx, userId: string, id: string): Promise<ViewRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, userId, id))[0];
}

/** The number of the user's views. It stays the same until the transaction ends. */
export async function countViewsForInsert(tx: TenantTx, userId: string): Promise<number> {
  await tx.query(lockUser, tx.tenantId, userId);
  return (await tx.query(countOfUser, tx.tenantId, userId))[0]?.count ?? 0;
}

interface NewView {
  readonly id: string;
  readonly userId: string;
  readonly list: string;
  readonly name: string;
  readonly settings: ViewSettings;
}

/** @throws AppError name_taken */
export async function insertView(
  tx: TenantTx,
  { id, userId, list, name, settings }: NewView,
  at: Date,
): Promise<ViewRow> {
  const inserting = tx.query(insert, tx.tenantId, id, at, userId, list, name, JSON.stringify(settings));
  return onlyRow(await withConstraints(taken(name), inserting));
}

/** @throws AppError name_taken */
export async function updateView(
  tx: TenantTx,
  id: string,
  { name, settings }: Pick<NewView, "name" | "settings">,
  at: Date,
): Promise<ViewRow> {
  const updating = tx.query(update, tx.tenantId, id, at, name, JSON.stringify(settings));
  return onlyRow(await withConstraints(taken(name), updating));
}

export async function deleteView(tx: TenantTx, id: string): Promise<void> {
  await tx.query(remove, tx.tenantId, id);
}

function taken(name: string) {
  return { views_name_unique: () => nameTaken("a view of yours", [{ name }]) };
}

function onlyRow([row]: readonly ViewRow[]): ViewRow {
  if (row === undefined) throw new Error("the written view was not returned");
  return row;
}
