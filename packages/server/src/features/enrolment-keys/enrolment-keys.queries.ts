import { AppError, bodyField } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import type { Database } from "../../platform/db/database.ts";
import { withConstraints } from "../../platform/db/database-errors.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface EnrolmentKeyRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
  readonly name: string;
  readonly prefix: string;
  readonly user_id: string;
  readonly user_email: string;
  readonly tags: string[];
  readonly max_uses: number;
  readonly uses: number;
  readonly expires_at: string;
  readonly last_used_at: string | null;
  readonly revoked_at: string | null;
}

const columns = `item.id, item.created_at, item.updated_at, item.version, item.name, item.prefix, item.user_id,
  (SELECT users.email FROM users WHERE users.tenant_id = item.tenant_id AND users.id = item.user_id) AS user_email,
  item.tags, item.max_uses, item.uses, item.expires_at, item.last_used_at, item.revoked_at`;

const selectAll = statement<EnrolmentKeyRow, [tenantId: string, afterId: string, limit: number]>(
  "enrolment_keys.list",
  `SELECT ${columns} FROM enrolment_keys AS item WHERE item.tenant_id = $1 AND item.id > $2 ORDER BY item.id LIMIT $3`,
);
const selectOne = statement<EnrolmentKeyRow, [tenantId: string, id: string]>(
  "enrolment_keys.read",
  `SELECT ${columns} FROM enrolment_keys AS item WHERE item.tenant_id = $1 AND item.id = $2`,
);
const selectForChange = statement<EnrolmentKeyRow, [tenantId: string, id: string]>(
  "enrolment_keys.lock",
  `SELECT ${columns} FROM enrolment_keys AS item WHERE item.tenant_id = $1 AND item.id = $2 FOR UPDATE`,
);
const insert = statement<
  EnrolmentKeyRow,
  [
    tenantId: string,
    id: string,
    at: Date,
    name: string,
    prefix: string,
    keyHash: Buffer,
    userId: string,
    tags: readonly string[],
    maxUses: number,
    expiresAt: Date,
  ]
>(
  "enrolment_keys.insert",
  `INSERT INTO enrolment_keys AS item
     (tenant_id, id, created_at, updated_at, name, prefix, key_hash, user_id, tags, max_uses, expires_at)
   VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING ${columns}`,
);
const update = statement<EnrolmentKeyRow, [tenantId: string, id: string, at: Date, name: string, expiresAt: Date]>(
  "enrolment_keys.update",
  `UPDATE enrolment_keys AS item SET updated_at = $3, version = version + 1, name = $4, expires_at = $5
   WHERE item.tenant_id = $1 AND item.id = $2 RETURNING ${columns}`,
);
const revoke = statement<EnrolmentKeyRow, [tenantId: string, id: string, at: Date]>(
  "enrolment_keys.revoke",
  `UPDATE enrolment_keys AS item SET updated_at = $3, version = version + 1, revoked_at = $3
   WHERE item.tenant_id = $1 AND item.id = $2 RETURNING ${columns}`,
);
const countUse = statement<EnrolmentKeyRow, [tenantId: string, id: string, at: Date]>(
  "enrolment_keys.use",
  `UPDATE enrolment_keys AS item SET updated_at = $3, version = version + 1, uses = uses + 1, last_used_at = $3
   WHERE item.tenant_id = $1 AND item.id = $2 RETURNING ${columns}`,
);
const remove = statement<never, [tenantId: string, id: string]>(
  "enrolment_keys.delete",
  "DELETE FROM enrolment_keys WHERE tenant_id = $1 AND id = $2",
);
const removeOfUsers = statement<EnrolmentKeyRow, [tenantId: string, userIds: readonly string[]]>(
  "enrolment_keys.delete_of_users",
  `DELETE FROM enrolment_keys AS item WHERE item.tenant_id = $1 AND item.user_id = ANY ($2::uuid[])
   RETURNING ${columns}`,
);
const selectUserStatus = statement<{ status: string }, [tenantId: string, id: string]>(
  "enrolment_keys.user_status",
  "SELECT status FROM users WHERE tenant_id = $1 AND id = $2 FOR KEY SHARE",
);
const selectUnconnected = statement<
  { id: string },
  [tenantId: string, keyId: string, publicKey: string, hardwareId: string, since: Date]
>(
  "enrolment_keys.unconnected_device",
  `SELECT id FROM devices WHERE tenant_id = $1 AND enrolment_key_id = $2 AND public_key = $3 AND hardware_id = $4
     AND created_at >= $5 AND last_connection IS NULL FOR UPDATE`,
);

export interface PresentedEnrolmentKey {
  readonly tenant_id: string;
  readonly id: string;
  readonly name: string;
}

const selectPresented = statement<PresentedEnrolmentKey, [hash: Buffer]>(
  "enrolment_keys.presented",
  "SELECT tenant_id, id, name FROM enrolment_keys WHERE key_hash = $1",
);

/** The key with a hash in any tenant. Row-level security shows only this row. */
export async function findPresentedEnrolmentKey(
  database: Database,
  hash: Buffer,
): Promise<PresentedEnrolmentKey | undefined> {
  const scope = { kind: "presented-key", keyHash: hash.toString("hex") } as const;
  return (await database.snapshot(scope, ({ query }) => query(selectPresented, hash)))[0];
}

export function listEnrolmentKeys(tx: TenantTx, afterId: string, limit: number): Promise<EnrolmentKeyRow[]> {
  return tx.query(selectAll, tx.tenantId, afterId, limit);
}

export async function readEnrolmentKey(tx: TenantTx, id: string): Promise<EnrolmentKeyRow | undefined> {
  return (await tx.query(selectOne, tx.tenantId, id))[0];
}

/** Reads the key. Nobody else can use or change it before the transaction ends. */
export async function lockEnrolmentKey(tx: TenantTx, id: string): Promise<EnrolmentKeyRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, id))[0];
}

/** The status of a user, or undefined. The user cannot be deleted before the transaction ends. */
export async function statusOfUser(tx: TenantTx, id: string): Promise<string | undefined> {
  return (await tx.query(selectUserStatus, tx.tenantId, id))[0]?.status;
}

export interface NewEnrolmentKeyRow {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly keyHash: Buffer;
  readonly userId: string;
  readonly tags: readonly string[];
  readonly maxUses: number;
  readonly expiresAt: Date;
}

/** @throws AppError unknown_reference */
export async function insertEnrolmentKey(
  tx: TenantTx,
  _granted: Granted<"devices:write">,
  key: NewEnrolmentKeyRow,
  at: Date,
): Promise<EnrolmentKeyRow> {
  const { id, name, prefix, keyHash, userId, tags, maxUses, expiresAt } = key;
  const noUser = () =>
    new AppError("unknown_reference", {
      errors: [bodyField("/userId", `no user has the id ${JSON.stringify(userId)}`)],
    });
  const rows = tx.query(insert, tx.tenantId, id, at, name, prefix, keyHash, userId, tags, maxUses, expiresAt);
  return one(await withConstraints({ enrolment_keys_tenant_id_user_id_fkey: noUser }, rows));
}

export async function updateEnrolmentKey(
  tx: TenantTx,
  _granted: Granted<"devices:write">,
  id: string,
  { name, expiresAt }: { readonly name: string; readonly expiresAt: Date },
  at: Date,
): Promise<EnrolmentKeyRow> {
  return one(await tx.query(update, tx.tenantId, id, at, name, expiresAt));
}

export async function revokeEnrolmentKey(
  tx: TenantTx,
  _granted: Granted<"devices:write">,
  id: string,
  at: Date,
): Promise<EnrolmentKeyRow> {
  return one(await tx.query(revoke, tx.tenantId, id, at));
}

/** Counts a use of a locked key that has uses left. */
export async function countUseOfKey(tx: TenantTx, id: string, at: Date): Promise<EnrolmentKeyRow> {
  return one(await tx.query(countUse, tx.tenantId, id, at));
}

export async function deleteEnrolmentKey(tx: TenantTx, _granted: Granted<"devices:write">, id: string): Promise<void> {
  await tx.query(remove, tx.tenantId, id);
}

/** Deletes the keys of a user who is about to be deleted. */
export function deleteEnrolmentKeysOfUsers(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  userIds: readonly string[],
): Promise<EnrolmentKeyRow[]> {
  return tx.query(removeOfUsers, tx.tenantId, userIds);
}

/** Locks a device that the key enrolled since a time and that has never connected. Returns its id. */
export async function lockUnconnectedDevice(
  tx: TenantTx,
  keyId: string,
  { publicKey, hardwareId }: { readonly publicKey: string; readonly hardwareId: string },
  since: Date,
): Promise<string | undefined> {
  return (await tx.query(selectUnconnected, tx.tenantId, keyId, publicKey, hardwareId, since))[0]?.id;
}

function one(rows: readonly EnrolmentKeyRow[]): EnrolmentKeyRow {
  const [row] = rows;
  if (row === undefined) throw new Error("an enrolment key is missing although it was locked");
  return row;
}
