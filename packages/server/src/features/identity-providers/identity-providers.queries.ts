import type { FirstSignIn } from "@gatehouse/contract/records/identity-provider";
import type { Granted } from "../../platform/authorization/granted.ts";
import { statement } from "../../platform/db/statement.ts";
import { nameTaken } from "../../platform/name-taken.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

/** The settings without their own column. */
export interface ProviderSettings {
  readonly scopes: readonly string[];
  readonly groupsClaim: string;
  readonly firstSignIn: FirstSignIn;
  readonly linkVerifiedEmail: boolean;
}

export interface ProviderRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
  readonly name: string;
  readonly enabled: boolean;
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret_ciphertext: Buffer | null;
  readonly settings: ProviderSettings;
  readonly tested_at: string | null;
}

const columns =
  "id, created_at, updated_at, version, name, enabled, issuer, client_id, client_secret_ciphertext, settings, tested_at";

export interface SignInOfferRow {
  readonly tenantName: string;
  readonly providerName: string;
  readonly issuer: string;
}

const selectOffer = statement<SignInOfferRow, [tenantId: string, id: string]>(
  "identity_providers.sign_in_offer",
  `SELECT (SELECT name FROM tenants WHERE id = $1) AS "tenantName", name AS "providerName", issuer
   FROM identity_providers WHERE tenant_id = $1 AND type = 'oidc' AND id = $2 AND enabled`,
);
const selectMany = statement<ProviderRow, [tenantId: string, afterId: string, limit: number]>(
  "identity_providers.list",
  `SELECT ${columns} FROM identity_providers
   WHERE tenant_id = $1 AND type = 'oidc' AND id > $2 ORDER BY id LIMIT $3`,
);
const selectOne = statement<ProviderRow, [tenantId: string, id: string]>(
  "identity_providers.read",
  `SELECT ${columns} FROM identity_providers WHERE tenant_id = $1 AND type = 'oidc' AND id = $2`,
);
const selectForChange = statement<ProviderRow, [tenantId: string, id: string]>(
  "identity_providers.lock",
  `SELECT ${columns} FROM identity_providers WHERE tenant_id = $1 AND type = 'oidc' AND id = $2 FOR UPDATE`,
);
const selectEnabled = statement<Pick<ProviderRow, "id" | "name">, [tenantId: string]>(
  "identity_providers.list_enabled",
  "SELECT id, name FROM identity_providers WHERE tenant_id = $1 AND type = 'oidc' AND enabled ORDER BY lower(name), id",
);
const countAll = statement<{ count: number }, [tenantId: string]>(
  "identity_providers.count",
  "SELECT count(*) AS count FROM identity_providers WHERE tenant_id = $1",
);
type Written = [
  tenantId: string,
  id: string,
  at: Date,
  name: string,
  enabled: boolean,
  issuer: string,
  clientId: string,
  secret: Buffer | null,
  settings: string,
  testedAt: string | null,
];
const insert = statement<ProviderRow, Written>(
  "identity_providers.insert",
  `INSERT INTO identity_providers
     (tenant_id, id, created_at, updated_at, name, type, enabled, issuer, client_id, client_secret_ciphertext, settings,
      tested_at)
   VALUES ($1, $2, $3, $3, $4, 'oidc', $5, $6, $7, $8, $9::jsonb, $10)
   ON CONFLICT (tenant_id, name) DO NOTHING RETURNING ${columns}`,
);
const update = statement<ProviderRow, Written>(
  "identity_providers.update",
  `UPDATE identity_providers
   SET updated_at = $3, version = version + 1, name = $4, enabled = $5, issuer = $6, client_id = $7,
       client_secret_ciphertext = $8, settings = $9::jsonb, tested_at = $10
   WHERE tenant_id = $1 AND id = $2 AND NOT EXISTS (
     SELECT FROM identity_providers WHERE tenant_id = $1 AND name = $4 AND id <> $2) RETURNING ${columns}`,
);
const remove = statement<never, [tenantId: string, id: string]>(
  "identity_providers.delete",
  "DELETE FROM identity_providers WHERE tenant_id = $1 AND id = $2",
);

const selectOwnersLast = statement<{ last: boolean }, [tenantId: string, id: string]>(
  "identity_providers.owners_last_way_in",
  `SELECT EXISTS (
     SELECT FROM external_identities AS known
     JOIN users AS item ON item.tenant_id = known.tenant_id AND item.id = known.user_id
     WHERE known.tenant_id = $1 AND known.provider_id = $2 AND item.is_owner
       AND (
         NOT EXISTS (SELECT FROM passkeys WHERE tenant_id = $1 AND user_id = item.id)
         OR EXISTS (SELECT FROM sign_in_settings WHERE tenant_id = $1 AND single_sign_on_only))
       AND NOT EXISTS (SELECT FROM recovery_codes WHERE tenant_id = $1 AND user_id = item.id)
       AND NOT EXISTS (
         SELECT FROM external_identities AS other
         JOIN identity_providers AS provider ON provider.tenant_id = other.tenant_id AND provider.id = other.provider_id
         WHERE other.tenant_id = $1 AND other.user_id = item.id AND other.provider_id <> $2 AND provider.enabled)
   ) AS last`,
);

/** Whether the owner can sign in with this provider, and in no other way. */
export async function isOwnersLastWayIn(tx: TenantTx, id: string): Promise<boolean> {
  return (await tx.query(selectOwnersLast, tx.tenantId, id))[0]?.last === true;
}

export function listProviders(tx: TenantTx, afterId: string, limit: number): Promise<ProviderRow[]> {
  return tx.query(selectMany, tx.tenantId, afterId, limit);
}

/** The providers with which people can sign in. */
export function listEnabledProviders(tx: TenantTx): Promise<Pick<ProviderRow, "id" | "name">[]> {
  return tx.query(selectEnabled, tx.tenantId);
}

/** Reads who signs in at an enabled provider; undefined for others. */
export async function readSignInOffer(tx: TenantTx, id: string): Promise<SignInOfferRow | undefined> {
  return (await tx.query(selectOffer, tx.tenantId, id))[0];
}

export async function readProvider(tx: TenantTx, id: string): Promise<ProviderRow | undefined> {
  return (await tx.query(selectOne, tx.tenantId, id))[0];
}

/** Reads the provider. Nobody else can change it before the transaction ends. */
export async function lockProvider(tx: TenantTx, id: string): Promise<ProviderRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, id))[0];
}

export async function countProviders(tx: TenantTx): Promise<number> {
  return (await tx.query(countAll, tx.tenantId))[0]?.count ?? 0;
}

export type StoredProvider = Omit<ProviderRow, "created_at" | "updated_at" | "version">;

/** @throws AppError name_taken */
export async function insertProvider(
  tx: TenantTx,
  _granted: Granted<"identity-providers:write">,
  provider: StoredProvider,
  at: Date,
): Promise<ProviderRow> {
  const [row] = await tx.query(insert, ...written(tx, provider, at));
  if (row === undefined) throw nameTaken("an identity provider", [provider]);
  return row;
}

/**
 * Updates a locked provider.
 *
 * @throws AppError name_taken
 */
export async function updateProvider(
  tx: TenantTx,
  _granted: Granted<"identity-providers:write">,
  provider: StoredProvider,
  at: Date,
): Promise<ProviderRow> {
  const [row] = await tx.query(update, ...written(tx, provider, at));
  if (row === undefined) throw nameTaken("an identity provider", [provider]);
  return row;
}

/** Deletes the provider with its linked accounts and its sessions. */
export async function deleteProvider(
  tx: TenantTx,
  _granted: Granted<"identity-providers:write">,
  id: string,
): Promise<void> {
  await tx.query(remove, tx.tenantId, id);
}

function written(tx: TenantTx, provider: StoredProvider, at: Date): Written {
  const { id, name, enabled, issuer, client_id: clientId, settings, tested_at: testedAt } = provider;
  const secret = provider.client_secret_ciphertext;
  return [tx.tenantId, id, at, name, enabled, issuer, clientId, secret, JSON.stringify(settings), testedAt];
}
