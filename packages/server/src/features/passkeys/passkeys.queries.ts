import { AppError } from "../../platform/app-error.ts";
import type { Database } from "../../platform/db/database.ts";
import { withConstraints } from "../../platform/db/database-errors.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface PasskeyRow {
  readonly tenant_id: string;
  readonly id: string;
  readonly created_at: string;
  readonly user_id: string;
  readonly name: string;
  readonly credential_id: Buffer;
  /** The public key in COSE format. */
  readonly public_key: Buffer;
  readonly counter: number;
  readonly transports: readonly string[];
  readonly backed_up: boolean;
  readonly last_used_at: string | null;
}

export interface NewPasskey {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  readonly credentialId: Buffer;
  readonly publicKey: Buffer;
  readonly counter: number;
  readonly transports: readonly string[];
  readonly backedUp: boolean;
}

const columns = `tenant_id, id, created_at, user_id, name, credential_id, public_key, counter::float8 AS counter, transports,
  backed_up, last_used_at`;

const selectPresented = statement<PasskeyRow, [credentialHash: Buffer]>(
  "passkeys.presented",
  `SELECT ${columns} FROM passkeys WHERE credential_hash = $1`,
);
const selectOfUser = statement<PasskeyRow, [tenantId: string, userId: string]>(
  "passkeys.of_user",
  `SELECT ${columns} FROM passkeys WHERE tenant_id = $1 AND user_id = $2 ORDER BY id`,
);
const selectMany = statement<PasskeyRow, [tenantId: string, afterId: string, limit: number]>(
  "passkeys.list",
  `SELECT ${columns} FROM passkeys WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3`,
);
const lockOfUser = statement<PasskeyRow, [tenantId: string, userId: string]>(
  "passkeys.lock_of_user",
  `SELECT ${columns} FROM passkeys WHERE tenant_id = $1 AND user_id = $2 ORDER BY id FOR UPDATE`,
);
const insert = statement<
  PasskeyRow,
  [
    tenantId: string,
    id: string,
    at: Date,
    userId: string,
    name: string,
    credentialId: Buffer,
    publicKey: Buffer,
    counter: number,
    transports: readonly string[],
    backedUp: boolean,
  ]
>(
  "passkeys.insert",
  `INSERT INTO passkeys (tenant_id, id, created_at, user_id, name, credential_id, public_key, counter, transports, backed_up)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING ${columns}`,
);
const noteUse = statement<
  { readonly id: string },
  [tenantId: string, id: string, at: Date, counter: number, backedUp: boolean]
>(
  "passkeys.note_use",
  `UPDATE passkeys SET last_used_at = $3, counter = greatest(counter, $4), backed_up = $5
   WHERE tenant_id = $1 AND id = $2 RETURNING id`,
);
const rename = statement<PasskeyRow, [tenantId: string, id: string, name: string]>(
  "passkeys.rename",
  `UPDATE passkeys SET name = $3 WHERE tenant_id = $1 AND id = $2 RETURNING ${columns}`,
);
const remove = statement<never, [tenantId: string, ids: readonly string[]]>(
  "passkeys.delete",
  "DELETE FROM passkeys WHERE tenant_id = $1 AND id = ANY ($2::uuid[])",
);

const selectHasCode = statement<{ has: boolean }, [tenantId: string, userId: string]>(
  "passkeys.has_code",
  "SELECT EXISTS (SELECT FROM recovery_codes WHERE tenant_id = $1 AND user_id = $2) AS has",
);
const selectHasIdentity = statement<{ has: boolean }, [tenantId: string, userId: string]>(
  "passkeys.has_identity",
  `SELECT EXISTS (
     SELECT FROM external_identities AS known
     JOIN identity_providers AS provider ON provider.tenant_id = known.tenant_id AND provider.id = known.provider_id
     WHERE known.tenant_id = $1 AND known.user_id = $2 AND provider.enabled) AS has`,
);
/** Finds the passkey with a credential's hash in any tenant. Row-level security shows only this row. */
export async function findPresentedPasskey(
  database: Database,
  credentialHash: Buffer,
): Promise<PasskeyRow | undefined> {
  const scope = { kind: "presented-key", keyHash: credentialHash.toString("hex") } as const;
  return (await database.snapshot(scope, ({ query }) => query(selectPresented, credentialHash)))[0];
}

export function readPasskeysOfUser(tx: TenantTx, userId: string): Promise<PasskeyRow[]> {
  return tx.query(selectOfUser, tx.tenantId, userId);
}

export function listPasskeyRows(tx: TenantTx, afterId: string, limit: number): Promise<PasskeyRow[]> {
  return tx.query(selectMany, tx.tenantId, afterId, limit);
}

/** Reads and locks all passkeys of a user, so that concurrent commands cannot each delete all but one. */
export function lockPasskeysOfUser(tx: TenantTx, userId: string): Promise<PasskeyRow[]> {
  return tx.query(lockOfUser, tx.tenantId, userId);
}

/** @throws AppError passkey_not_accepted if the passkey is registered already */
export async function insertPasskey(tx: TenantTx, passkey: NewPasskey, at: Date): Promise<PasskeyRow> {
  const { id, userId, name, credentialId, publicKey, counter, transports, backedUp } = passkey;
  const registered = () => new AppError("passkey_not_accepted", { detail: "This passkey is registered already." });
  const rows = await withConstraints(
    { passkeys_hash_unique: registered },
    tx.query(insert, tx.tenantId, id, at, userId, name, credentialId, publicKey, counter, transports, backedUp),
  );
  return rows[0] as PasskeyRow; // an INSERT that did not throw returns its row
}

/** @returns whether the passkey still exists */
export async function notePasskeyUse(
  tx: TenantTx,
  id: string,
  at: Date,
  { counter, backedUp }: { readonly counter: number; readonly backedUp: boolean },
): Promise<boolean> {
  return (await tx.query(noteUse, tx.tenantId, id, at, counter, backedUp)).length > 0;
}

export async function renamePasskey(tx: TenantTx, id: string, name: string): Promise<PasskeyRow | undefined> {
  return (await tx.query(rename, tx.tenantId, id, name))[0];
}

export async function deletePasskeys(tx: TenantTx, ids: readonly string[]): Promise<void> {
  await tx.query(remove, tx.tenantId, ids);
}

/** Whether the user can sign in without a passkey: with a recovery code, or through an enabled provider. */
export async function hasOtherWayIn(tx: TenantTx, userId: string): Promise<boolean> {
  const [code, identity] = await Promise.all([
    tx.query(selectHasCode, tx.tenantId, userId),
    tx.query(selectHasIdentity, tx.tenantId, userId),
  ]);
  return code[0]?.has === true || identity[0]?.has === true;
}
