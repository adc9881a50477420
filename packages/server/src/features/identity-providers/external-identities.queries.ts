/** Accounts of people at providers, and the users that they belong to. */
import { statement } from "../../platform/db/statement.ts";
import { newId } from "../../platform/ids.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface LinkedUser {
  readonly id: string;
  readonly email: string;
  readonly status: "active" | "pending" | "inactive";
  readonly invitationExpiresAt: string | null;
  /** Whether this sign-in created the user. */
  readonly isNew?: true;
}

const user = `item.id, item.email, item.status, item.invitation_expires_at AS "invitationExpiresAt"`;

const selectLinked = statement<LinkedUser, [tenantId: string, providerId: string, issuer: string, subject: string]>(
  "external_identities.lock_user",
  `SELECT ${user} FROM external_identities AS identity
   JOIN users AS item ON item.tenant_id = identity.tenant_id AND item.id = identity.user_id
   WHERE identity.tenant_id = $1 AND identity.provider_id = $2 AND identity.issuer = $3 AND identity.subject = $4
   FOR UPDATE OF item`,
);
const selectByEmail = statement<LinkedUser, [tenantId: string, email: string]>(
  "external_identities.lock_user_by_email",
  // The collation C limits lower() to letters of ASCII. Otherwise the Kelvin sign would equal the letter k, and
  // the account of another address would be linked.
  `SELECT ${user} FROM users AS item
   WHERE item.tenant_id = $1 AND item.email_key = lower($2)
     AND lower(item.email COLLATE "C") = lower($2 COLLATE "C") FOR UPDATE`,
);
const insert = statement<
  never,
  [tenantId: string, id: string, at: Date, providerId: string, issuer: string, subject: string, userId: string]
>(
  "external_identities.insert",
  `INSERT INTO external_identities
     (tenant_id, id, created_at, provider_id, issuer, subject, user_id, last_used_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $3)`,
);
const touch = statement<never, [tenantId: string, providerId: string, issuer: string, subject: string, at: Date]>(
  "external_identities.touch",
  `UPDATE external_identities SET last_used_at = $5
   WHERE tenant_id = $1 AND provider_id = $2 AND issuer = $3 AND subject = $4`,
);
/** Pruned entries prove nothing: their accounts are older than the stub. */
const selectUnaudited = statement<UnauditedAccountRow, [tenantId: string]>(
  "external_identities.unaudited",
  `SELECT known.provider_id AS "providerId", known.user_id AS "userId"
   FROM external_identities AS known
   LEFT JOIN (
     SELECT target_id, after ->> 'linkedUserId' AS user_id, after ->> 'issuer' AS issuer, after ->> 'subject' AS subject
     FROM audit_events
     WHERE tenant_id = $1 AND target_type = 'identity-provider' AND after ->> 'linkedUserId' IS NOT NULL
   ) AS linked
     ON linked.target_id = known.provider_id AND linked.user_id = known.user_id::text
       AND linked.issuer = known.issuer AND linked.subject = known.subject
   WHERE known.tenant_id = $1 AND linked.target_id IS NULL
     AND NOT EXISTS (SELECT FROM audit_stubs AS stub WHERE stub.tenant_id = $1 AND stub.created_at >= known.created_at)
   ORDER BY known.provider_id, known.user_id LIMIT 1000`,
);

/** An account that no entry linked to its user. */
export interface UnauditedAccountRow {
  readonly providerId: string;
  readonly userId: string;
}

export interface AccountKey {
  readonly providerId: string;
  readonly issuer: string;
  readonly subject: string;
}

/** Reads the user of an account. Nobody else can change the user before the transaction ends. */
export async function lockLinkedUser(tx: TenantTx, account: AccountKey): Promise<LinkedUser | undefined> {
  const { providerId, issuer, subject } = account;
  return (await tx.query(selectLinked, tx.tenantId, providerId, issuer, subject))[0];
}

export async function lockUserByEmail(tx: TenantTx, email: string): Promise<LinkedUser | undefined> {
  return (await tx.query(selectByEmail, tx.tenantId, email))[0];
}

export async function linkAccount(
  tx: TenantTx,
  { providerId, issuer, subject }: AccountKey,
  userId: string,
  at: Date,
): Promise<void> {
  await tx.query(insert, tx.tenantId, newId(), at, providerId, issuer, subject, userId);
}

export async function touchAccount(tx: TenantTx, { providerId, issuer, subject }: AccountKey, at: Date): Promise<void> {
  await tx.query(touch, tx.tenantId, providerId, issuer, subject, at);
}

/** Finds accounts that no entry linked to their users. */
export function unauditedAccounts(tx: TenantTx): Promise<UnauditedAccountRow[]> {
  return tx.query(selectUnaudited, tx.tenantId);
}
