import type { Permission } from "@gatehouse/contract/permissions";
import type { ActorType } from "@gatehouse/contract/records/event";
import type { Granted } from "../../platform/authorization/granted.ts";
import type { Actor } from "../../platform/change.ts";
import type { Database, Transaction } from "../../platform/db/database.ts";
import type { TenantScope } from "../../platform/db/scope.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface ApiKeyRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
  readonly name: string;
  readonly prefix: string;
  readonly permissions: Permission[];
  readonly source_ips: string[];
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
  readonly replaced_by: string | null;
  readonly created_by_type: ActorType | null;
  readonly created_by_id: string | null;
  readonly created_by_name: string | null;
}

const columns = `id, created_at, updated_at, version, name, prefix, permissions, source_ips, expires_at, last_used_at,
  replaced_by, created_by_type, created_by_id, created_by_name`;

const selectAll = statement<ApiKeyRow, [tenantId: string, afterId: string, limit: number]>(
  "api_keys.list",
  `SELECT ${columns} FROM api_keys WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3`,
);
const selectOne = statement<ApiKeyRow, [tenantId: string, id: string]>(
  "api_keys.read",
  `SELECT ${columns} FROM api_keys WHERE tenant_id = $1 AND id = $2`,
);
const selectForChange = statement<ApiKeyRow, [tenantId: string, id: string]>(
  "api_keys.lock",
  `SELECT ${columns} FROM api_keys WHERE tenant_id = $1 AND id = $2 FOR UPDATE`,
);
const insert = statement<
  ApiKeyRow,
  [
    tenantId: string,
    id: string,
    at: Date,
    name: string,
    prefix: string,
    keyHash: Buffer,
    permissions: readonly string[],
    sourceIps: readonly string[],
    expiresAt: string | null,
    creatorType: string,
    creatorId: string | null,
    creatorName: string,
  ]
>(
  "api_keys.insert",
  `INSERT INTO api_keys (tenant_id, id, created_at, updated_at, name, prefix, key_hash, permissions, source_ips,
                         expires_at, created_by_type, created_by_id, created_by_name)
   VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING ${columns}`,
);
const replace = statement<ApiKeyRow, [tenantId: string, id: string, at: Date, replacedBy: string, expiresAt: string]>(
  "api_keys.replace",
  `UPDATE api_keys SET updated_at = $3, version = version + 1, replaced_by = $4, expires_at = least(expires_at, $5)
   WHERE tenant_id = $1 AND id = $2 RETURNING ${columns}`,
);
const selectOfUser = statement<ApiKeyRow, [tenantId: string, userId: string]>(
  "api_keys.of_user",
  `SELECT ${columns} FROM api_keys WHERE tenant_id = $1 AND created_by_id = $2 AND created_by_type = 'user' ORDER BY id`,
);
const removeOfUser = statement<ApiKeyRow, [tenantId: string, userId: string]>(
  "api_keys.delete_of_user",
  `DELETE FROM api_keys WHERE tenant_id = $1 AND created_by_id = $2 AND created_by_type = 'user' RETURNING ${columns}`,
);
const lockCreator = statement<{ version: number }, [tenantId: string, id: string]>(
  "api_keys.lock_creator",
  "SELECT version FROM users WHERE tenant_id = $1 AND id = $2 FOR UPDATE",
);
const selectCreator = statement<{ version: number }, [tenantId: string, id: string]>(
  "api_keys.read_creator",
  "SELECT version FROM users WHERE tenant_id = $1 AND id = $2",
);
const remove = statement<never, [tenantId: string, id: string]>(
  "api_keys.delete",
  "DELETE FROM api_keys WHERE tenant_id = $1 AND id = $2",
);
const touch = statement<never, [ids: readonly string[], moments: readonly Date[]]>(
  "api_keys.touch",
  `UPDATE api_keys SET last_used_at = used.at
   FROM unnest($1::uuid[], $2::timestamptz[]) AS used (id, at)
   WHERE tenant_id = current_tenant() AND api_keys.id = used.id AND (last_used_at IS NULL OR last_used_at < used.at)`,
);

/** The row of a presented key, and its tenant. */
export interface PresentedKeyRow {
  readonly tenant_id: string;
  readonly id: string;
  readonly name: string;
  readonly permissions: Permission[];
  readonly source_ips: string[];
  readonly expires_at: string | null;
}

const selectPresented = statement<PresentedKeyRow, [keyHash: Buffer]>(
  "api_keys.presented",
  "SELECT tenant_id, id, name, permissions, source_ips, expires_at FROM api_keys WHERE key_hash = $1",
);

export interface NewApiKeyRow {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly keyHash: Buffer;
  readonly permissions: readonly Permission[];
  readonly sourceIps: readonly string[];
  readonly expiresAt: string | null;
  readonly creator: Actor;
}

export function listApiKeys(tx: TenantTx, afterId: string, limit: number): Promise<ApiKeyRow[]> {
  return tx.query(selectAll, tx.tenantId, afterId, limit);
}

export async function readApiKey(tx: TenantTx, id: string): Promise<ApiKeyRow | undefined> {
  return (await tx.query(selectOne, tx.tenantId, id))[0];
}

/** The permissions of a key; none if the key was deleted or has expired. */
export async function permissionsOfKey(tx: TenantTx, id: string, now: Date): Promise<ReadonlySet<Permission>> {
  const key = await readApiKey(tx, id);
  return new Set(key !== undefined && !hasExpired(key, now) ? key.permissions : []);
}

export function hasExpired({ expires_at: expiresAt }: Pick<ApiKeyRow, "expires_at">, now: Date): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= now.getTime();
}

/** Reads the key. Nobody else can change it before the transaction ends. */
export async function lockApiKey(tx: TenantTx, id: string): Promise<ApiKeyRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, id))[0];
}

export async function insertApiKey(
  tx: TenantTx,
  _granted: Granted<"api-keys:write">,
  key: NewApiKeyRow,
  at: Date,
): Promise<ApiKeyRow> {
  const { id, name, prefix, keyHash, permissions, sourceIps, expiresAt, creator } = key;
  const rows = await tx.query(
    insert,
    tx.tenantId,
    id,
    at,
    name,
    prefix,
    keyHash,
    permissions,
    sourceIps,
    expiresAt,
    creator.type,
    creator.id ?? null,
    creator.name,
  );
  return rows[0] as ApiKeyRow; // an INSERT that did not throw returns its row
}

/** Replaces a key by another one. The key expires at `expiresAt`, or at its own expiry if that is earlier. */
export async function replaceApiKey(
  tx: TenantTx,
  _granted: Granted<"api-keys:write">,
  id: string,
  replacedBy: string,
  expiresAt: Date,
  at: Date,
): Promise<ApiKeyRow> {
  const rows = await tx.query(replace, tx.tenantId, id, at, replacedBy, expiresAt.toISOString());
  return rows[0] as ApiKeyRow; // the caller holds the lock of the row
}

export async function deleteApiKey(tx: TenantTx, _granted: Granted<"api-keys:write">, id: string): Promise<void> {
  await tx.query(remove, tx.tenantId, id);
}

/** The keys that a user created; undefined if the user does not exist. */
export async function readApiKeysOfUser(tx: TenantTx, userId: string): Promise<readonly ApiKeyRow[] | undefined> {
  const [creators, rows] = await Promise.all([
    tx.query(selectCreator, tx.tenantId, userId),
    tx.query(selectOfUser, tx.tenantId, userId),
  ]);
  return creators.length === 0 ? undefined : rows;
}

/** Locks the user whose keys are to be revoked. */
export async function lockCreatorOfKeys(
  tx: TenantTx,
  userId: string,
): Promise<{ readonly version: number } | undefined> {
  return (await tx.query(lockCreator, tx.tenantId, userId))[0];
}

/** @returns the keys that existed */
export function deleteApiKeysOfUser(
  tx: TenantTx,
  _granted: Granted<"api-keys:write">,
  userId: string,
): Promise<ApiKeyRow[]> {
  return tx.query(removeOfUser, tx.tenantId, userId);
}

/** Finds the key with a hash in any tenant. Row-level security shows the caller only this row. */
export async function findPresentedKey(database: Database, keyHash: Buffer): Promise<PresentedKeyRow | undefined> {
  const scope = { kind: "presented-key", keyHash: keyHash.toString("hex") } as const;
  return (await database.snapshot(scope, (transaction: Transaction) => transaction.query(selectPresented, keyHash)))[0];
}

/** Stores when keys were last used. This is derived data, so versions do not change. */
export async function touchApiKeys(
  database: Database,
  scope: TenantScope,
  uses: ReadonlyMap<string, Date>,
): Promise<void> {
  await database.transaction(scope, (transaction) => transaction.query(touch, [...uses.keys()], [...uses.values()]));
}
