import { maxCodeAttempts } from "@gatehouse/contract/records/enrolment-link";
import type { ActorType } from "@gatehouse/contract/records/event";
import type { Actor } from "../../platform/change.ts";
import type { Database } from "../../platform/db/database.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { type MailJson, mailOf } from "../mail/mail.api.ts";

export interface EnrolmentLinkRow {
  readonly tenant_id: string;
  readonly id: string;
  readonly user_id: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly used_at: string | null;
  readonly failed_attempts: number;
  /** The second half of the code, encrypted; null if the link has no code. */
  readonly code_ciphertext: Buffer | null;
  /** Null if the creator is unknown. */
  readonly created_by_type: ActorType | null;
  readonly created_by_id: string | null;
}

/** A link with the mail that was sent for it. */
export interface ListedLinkRow extends EnrolmentLinkRow {
  readonly mail: MailJson | null;
}

export interface NewLinkRow {
  readonly id: string;
  readonly userId: string;
  readonly tokenHash: Buffer;
  readonly codeLocatorHash: Buffer;
  readonly codeCiphertext: Buffer;
  /** The token, encrypted; null for a link that is not sent by mail. */
  readonly mailedTokenCiphertext: Buffer | null;
}

const columns = `item.tenant_id, item.id, item.user_id, item.created_at, item.expires_at, item.used_at,
  item.failed_attempts, item.code_ciphertext, item.created_by_type, item.created_by_id`;

const selectByToken = statement<EnrolmentLinkRow, [tokenHash: Buffer]>(
  "enrolment_links.presented_token",
  `SELECT ${columns} FROM enrolment_links AS item WHERE item.token_hash = $1`,
);
const selectByCode = statement<EnrolmentLinkRow, [locatorHash: Buffer]>(
  "enrolment_links.presented_code",
  `SELECT ${columns} FROM enrolment_links AS item WHERE item.code_locator_hash = $1`,
);
const takeAttempt = statement<{ taken: boolean }, [tenantId: string, id: string, max: number]>(
  "enrolment_links.take_attempt",
  `UPDATE enrolment_links SET failed_attempts = failed_attempts + 1
   WHERE tenant_id = $1 AND id = $2 AND failed_attempts < $3 RETURNING true AS taken`,
);
const returnAttempt = statement<never, [tenantId: string, id: string]>(
  "enrolment_links.return_attempt",
  `UPDATE enrolment_links SET failed_attempts = greatest(0, failed_attempts - 1) WHERE tenant_id = $1 AND id = $2`,
);
const lockOfUser = statement<EnrolmentLinkRow, [tenantId: string, userId: string]>(
  "enrolment_links.lock_of_user",
  `SELECT ${columns} FROM enrolment_links AS item WHERE item.tenant_id = $1 AND item.user_id = $2
   ORDER BY item.id FOR UPDATE`,
);
const selectOfUser = statement<ListedLinkRow, [tenantId: string, userId: string]>(
  "enrolment_links.of_user",
  `SELECT ${columns}, ${mailOf("link_id", "item.id")} AS mail
   FROM enrolment_links AS item WHERE item.tenant_id = $1 AND item.user_id = $2 ORDER BY item.id`,
);
const use = statement<never, [tenantId: string, id: string, at: Date]>(
  "enrolment_links.use",
  `UPDATE enrolment_links SET used_at = $3, code_ciphertext = NULL, mailed_token_ciphertext = NULL
   WHERE tenant_id = $1 AND id = $2`,
);
const insert = statement<
  never,
  [
    tenantId: string,
    at: Date,
    expiresAt: Date,
    ids: readonly string[],
    userIds: readonly string[],
    tokenHashes: readonly Buffer[],
    locatorHashes: readonly Buffer[],
    codes: readonly Buffer[],
    mailedTokens: readonly (Buffer | null)[],
    creatorType: ActorType,
    creatorId: string | null,
  ]
>(
  "enrolment_links.insert",
  `INSERT INTO enrolment_links (tenant_id, created_at, expires_at, created_by_type, created_by_id, id, user_id,
                                token_hash, code_locator_hash, code_ciphertext, mailed_token_ciphertext)
   SELECT $1, $2, $3, $10, $11, made.*
   FROM unnest($4::uuid[], $5::uuid[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bytea[]) AS made`,
);
const remove = statement<never, [tenantId: string, ids: readonly string[]]>(
  "enrolment_links.delete",
  "DELETE FROM enrolment_links WHERE tenant_id = $1 AND id = ANY ($2::uuid[])",
);
const selectSsoOnly = statement<{ only: boolean }, [tenantId: string]>(
  "enrolment_links.single_sign_on_only",
  "SELECT single_sign_on_only AS only FROM sign_in_settings WHERE tenant_id = $1",
);
const lockUser = statement<{ version: number }, [tenantId: string, id: string]>(
  "enrolment_links.lock_user",
  "SELECT version FROM users WHERE tenant_id = $1 AND id = $2 FOR UPDATE",
);

/** Finds the link with a token's hash in any tenant. Row-level security shows only this row. */
export async function findLinkByToken(database: Database, tokenHash: Buffer): Promise<EnrolmentLinkRow | undefined> {
  const scope = { kind: "presented-key", keyHash: tokenHash.toString("hex") } as const;
  return (await database.snapshot(scope, ({ query }) => query(selectByToken, tokenHash)))[0];
}

/** Finds the link with the hash of a code's first half in any tenant. Row-level security shows only this row. */
export async function findLinkByCode(database: Database, locatorHash: Buffer): Promise<EnrolmentLinkRow | undefined> {
  const scope = { kind: "presented-key", keyHash: locatorHash.toString("hex") } as const;
  return (await database.snapshot(scope, ({ query }) => query(selectByCode, locatorHash)))[0];
}

/**
 * Counts an attempt before the code is compared, so that concurrent guesses cannot exceed the limit.
 *
 * @returns whether the attempt may be made
 */
export async function takeCodeAttempt(tx: TenantTx, id: string): Promise<boolean> {
  return (await tx.query(takeAttempt, tx.tenantId, id, maxCodeAttempts)).length > 0;
}

/** Uncounts the attempt of a right code. */
export async function returnCodeAttempt(tx: TenantTx, id: string): Promise<void> {
  await tx.query(returnAttempt, tx.tenantId, id);
}

/** Reads and locks the links of a user, the oldest first. */
export function lockLinksOfUser(tx: TenantTx, userId: string): Promise<EnrolmentLinkRow[]> {
  return tx.query(lockOfUser, tx.tenantId, userId);
}

/** The links of a user, the oldest first. */
export function readLinksOfUser(tx: TenantTx, userId: string): Promise<ListedLinkRow[]> {
  return tx.query(selectOfUser, tx.tenantId, userId);
}

/** Stores that a link was used. Its other secrets are deleted. */
export async function markLinkUsed(tx: TenantTx, id: string, at: Date): Promise<void> {
  await tx.query(use, tx.tenantId, id, at);
}

export async function insertLinks(
  tx: TenantTx,
  links: readonly NewLinkRow[],
  { at, expiresAt, creator }: { readonly at: Date; readonly expiresAt: Date; readonly creator: Actor },
): Promise<void> {
  await tx.query(
    insert,
    tx.tenantId,
    at,
    expiresAt,
    links.map(({ id }) => id),
    links.map(({ userId }) => userId),
    links.map(({ tokenHash }) => tokenHash),
    links.map(({ codeLocatorHash }) => codeLocatorHash),
    links.map(({ codeCiphertext }) => codeCiphertext),
    links.map(({ mailedTokenCiphertext }) => mailedTokenCiphertext),
    creator.type,
    creator.id ?? null,
  );
}

/** Deletes links, and the mails about them. */
export async function deleteLinks(tx: TenantTx, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await tx.query(remove, tx.tenantId, ids);
}

/** Whether the tenant accepts only identity providers and recovery codes. */
export async function requiresSingleSignOn(tx: TenantTx): Promise<boolean> {
  return (await tx.query(selectSsoOnly, tx.tenantId))[0]?.only === true;
}

/** Locks a user. Nobody else can change the user before the transaction ends. */
export async function lockLinkedUser(tx: TenantTx, id: string): Promise<{ readonly version: number } | undefined> {
  return (await tx.query(lockUser, tx.tenantId, id))[0];
}
