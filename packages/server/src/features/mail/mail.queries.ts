/** The queue of emails. An email contains no content, except that its link's row holds the encrypted token. */
import type { Database } from "../../platform/db/database.ts";
import { jsonObject } from "../../platform/db/json-object.ts";
import { statement } from "../../platform/db/statement.ts";
import { newId } from "../../platform/ids.ts";
import { hasCome } from "../../platform/stored-times.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { countMails } from "./mail-limits.queries.ts";
import { type MailResult, maxDelayMs } from "./mail-schedule.rules.ts";

export interface QueuedMail {
  readonly userId: string;
  readonly email: string;
  /** Null for an email that names the page of sign-in. */
  readonly linkId: string | null;
}

/** An email that this replica sends, with the records that its content is derived from. */
export interface ClaimedMail {
  readonly id: string;
  readonly created_at: string;
  readonly failures: number;
  readonly link_id: string | null;
  readonly email: string;
  readonly status: "active" | "pending" | "inactive";
  readonly tenantName: string;
  readonly linkExpiresAt: string | null;
  readonly linkUsedAt: string | null;
  /** The token of the link, encrypted; null if the email has no link. */
  readonly token_ciphertext: Buffer | null;
}

/** The emails of a tenant that one replica sends at the same time. */
export interface Claim {
  readonly attemptId: string;
  readonly now: Date;
  /** When another replica may try again if this one dies. */
  readonly until: Date;
  readonly limit: number;
}

/**
 * SQL for the latest email about a record, as one json value.
 *
 * @param column the column of `mails` that names the record
 * @param id the expression of the record's id; its row is `item`
 */
export function mailOf(column: "user_id" | "link_id", id: string): string {
  return `(SELECT ${jsonObject("mail", ["status", "updated_at", "error"])} FROM mails AS mail
           WHERE mail.tenant_id = item.tenant_id AND mail.${column} = ${id} ORDER BY mail.id DESC LIMIT 1)`;
}

/** Precedes `removeFormer`: every transaction locks links before emails, so that none deadlock. */
const clearFormerTokens = statement<
  never,
  [tenantId: string, userIds: readonly string[], newLinkIds: readonly string[]]
>(
  "mail.clear_former_tokens",
  `UPDATE enrolment_links SET mailed_token_ciphertext = NULL
   WHERE tenant_id = $1 AND user_id = ANY ($2::uuid[]) AND mailed_token_ciphertext IS NOT NULL
     AND NOT id = ANY ($3::uuid[])`,
);
const removeFormer = statement<never, [tenantId: string, userIds: readonly string[]]>(
  "mail.delete_former",
  "DELETE FROM mails WHERE tenant_id = $1 AND user_id = ANY ($2::uuid[])",
);
const insert = statement<
  never,
  [tenantId: string, at: Date, ids: readonly string[], userIds: readonly string[], linkIds: readonly (string | null)[]]
>(
  "mail.queue",
  `INSERT INTO mails (tenant_id, created_at, updated_at, next_attempt_at, id, user_id, link_id)
   SELECT $1, $2, $2, $2, made.* FROM unnest($3::uuid[], $4::uuid[], $5::uuid[]) AS made`,
);
const selectTenants = statement<{ tenant_id: string }, [now: Date]>(
  "mail.tenants_with_due",
  `SELECT DISTINCT tenant_id FROM mails
   WHERE status = 'pending' AND ${hasCome("next_attempt_at", "$1", maxDelayMs)}`,
);
/** An array is computed once. A plan could run the subquery of `IN` for each email, and exceed the limit each time. */
const claim = statement<{ id: string }, [tenantId: string, now: Date, attemptId: string, until: Date, limit: number]>(
  "mail.claim",
  `UPDATE mails SET attempt_id = $3, next_attempt_at = $4
   WHERE tenant_id = $1 AND id = ANY (ARRAY (
     SELECT id FROM mails WHERE tenant_id = $1 AND status = 'pending' AND ${hasCome("next_attempt_at", "$2", maxDelayMs)}
     ORDER BY next_attempt_at, id LIMIT $5 FOR UPDATE SKIP LOCKED))
   RETURNING id`,
);
const selectClaimed = statement<ClaimedMail, [tenantId: string, ids: readonly string[]]>(
  "mail.read_claimed",
  `SELECT mail.id, mail.created_at, mail.failures, mail.link_id, item.email, item.status,
          (SELECT name FROM tenants WHERE id = $1) AS "tenantName", link.expires_at AS "linkExpiresAt",
          link.used_at AS "linkUsedAt", link.mailed_token_ciphertext AS token_ciphertext
   FROM mails AS mail
   JOIN users AS item ON item.tenant_id = mail.tenant_id AND item.id = mail.user_id
   LEFT JOIN enrolment_links AS link ON link.tenant_id = mail.tenant_id AND link.id = mail.link_id
   WHERE mail.tenant_id = $1 AND mail.id = ANY ($2::uuid[]) ORDER BY mail.id`,
);
/** Precedes `settle`, for the same order of locks as that of `queueMails`. */
const lockLink = statement<never, [tenantId: string, id: string]>(
  "mail.lock_link",
  `SELECT FROM enrolment_links
   WHERE tenant_id = $1 AND id = (SELECT link_id FROM mails WHERE tenant_id = $1 AND id = $2) FOR UPDATE`,
);
const settle = statement<
  never,
  [
    tenantId: string,
    id: string,
    attemptId: string,
    at: Date,
    status: string,
    failures: number,
    error: string | null,
    nextAttemptAt: Date | null,
  ]
>(
  "mail.settle",
  `WITH settled AS (
     UPDATE mails SET updated_at = $4, status = $5, failures = $6, error = $7, next_attempt_at = $8, attempt_id = NULL
     WHERE tenant_id = $1 AND id = $2 AND attempt_id = $3
     RETURNING link_id, status
   )
   UPDATE enrolment_links AS link SET mailed_token_ciphertext = NULL FROM settled
   WHERE link.tenant_id = $1 AND link.id = settled.link_id AND settled.status <> 'pending'`,
);

/**
 * Queues emails. Each replaces the previous one of its user, whether it was sent or is pending. The link of the
 * previous one stays valid.
 *
 * @param limits.perTenant the emails of the tenant per day
 * @throws AppError mail_limit_reached
 */
export async function queueMails(
  tx: TenantTx,
  mails: readonly QueuedMail[],
  limits: { readonly perTenant: number; readonly at: Date },
): Promise<void> {
  const { at } = limits;
  const userIds = mails.map(({ userId }) => userId);
  await countMails(
    tx,
    mails.map(({ email }) => email),
    limits,
  );
  const linkIds = mails.flatMap(({ linkId }) => linkId ?? []);
  await tx.query(clearFormerTokens, tx.tenantId, userIds, linkIds);
  await tx.query(removeFormer, tx.tenantId, userIds);
  await tx.query(
    insert,
    tx.tenantId,
    at,
    mails.map(() => newId()),
    userIds,
    mails.map(({ linkId }) => linkId),
  );
}

/** The tenants with emails that are due. */
export async function tenantsWithDueMails(database: Database, now: Date): Promise<readonly string[]> {
  const rows = await database.snapshot({ kind: "operator" }, (tx) => tx.query(selectTenants, now));
  return rows.map(({ tenant_id: id }) => id);
}

/** Claims emails that are due. No other replica sends them before `until`. */
export async function claimMails(
  tx: TenantTx,
  { now, attemptId, until, limit }: Claim,
): Promise<readonly ClaimedMail[]> {
  const claimed = await tx.query(claim, tx.tenantId, now, attemptId, until, limit);
  if (claimed.length === 0) return [];
  return tx.query(
    selectClaimed,
    tx.tenantId,
    claimed.map(({ id }) => id),
  );
}

/** Stores the result of an attempt, unless another replica sends the email by now. */
export async function settleMail(
  tx: TenantTx,
  { id, attemptId }: { readonly id: string; readonly attemptId: string },
  { status, failures, error, nextAttemptAt }: MailResult,
  at: Date,
): Promise<void> {
  await tx.query(lockLink, tx.tenantId, id);
  await tx.query(settle, tx.tenantId, id, attemptId, at, status, failures, error, nextAttemptAt);
}
