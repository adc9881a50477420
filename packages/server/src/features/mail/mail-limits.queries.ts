/** Limits emails per day, in UTC (docs/decisions/0262-shares-and-limits-of-mails.md). */
import { createHash } from "node:crypto";
import { domainToASCII } from "node:url";
import { AppError } from "../../platform/app-error.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

/** The emails that a tenant can send to one address per day. */
const mailsPerRecipient = 10;
const dayMs = 24 * 60 * 60_000;
/** Names the count of all mails of the tenant. */
const everybody = Buffer.alloc(0);

interface CountRow {
  readonly recipient: Buffer;
  readonly mails: number;
}

/** The tenant's own row is locked first, so commands of one tenant do not deadlock. */
const count = statement<
  CountRow,
  [tenantId: string, day: string, recipients: readonly Buffer[], mails: readonly number[]]
>(
  "mail.count",
  `INSERT INTO mail_counts AS counted (tenant_id, day, recipient, mails)
   SELECT $1, $2, added.recipient, added.mails
   FROM unnest($3::bytea[], $4::integer[]) WITH ORDINALITY AS added (recipient, mails, position) ORDER BY position
   ON CONFLICT (tenant_id, day, recipient) DO UPDATE SET mails = counted.mails + excluded.mails
   RETURNING recipient, mails`,
);
const selectFormer = statement<{ tenant_id: string }, [today: string]>(
  "mail.tenants_with_former_counts",
  "SELECT DISTINCT tenant_id FROM mail_counts WHERE day < $1",
);
const clearFormer = statement<never, [tenantId: string, today: string]>(
  "mail.clear_former_counts",
  "DELETE FROM mail_counts WHERE tenant_id = $1 AND day < $2",
);

/** Reads the tenants that have counts of the days before `now`. */
export function tenantsWithFormerMailCounts(
  tx: Transaction,
  now: Date,
): Promise<readonly { readonly tenant_id: string }[]> {
  return tx.query(selectFormer, dayOf(now));
}

/** Deletes the counts of a tenant for the days before `now`. */
export function clearFormerMailCounts(tx: Transaction, tenantId: string, now: Date): Promise<unknown> {
  return tx.query(clearFormer, tenantId, dayOf(now));
}

/**
 * Counts mails that are queued.
 *
 * @param perTenant the mails of the tenant per day
 * @throws AppError mail_limit_reached
 */
export async function countMails(
  tx: TenantTx,
  emails: readonly string[],
  { perTenant, at }: { readonly perTenant: number; readonly at: Date },
): Promise<void> {
  const known = new Map<string, { readonly email: string; mails: number }>();
  for (const email of emails) {
    const hash = createHash("sha256").update(mailboxOf(email)).digest("hex");
    const recipient = known.get(hash);
    if (recipient === undefined) known.set(hash, { email, mails: 1 });
    else recipient.mails += 1;
  }
  // The order is the same in all commands.
  const hashes = [...known.keys()].sort();
  const recipients = [everybody, ...hashes.map((hash) => Buffer.from(hash, "hex"))];
  const added = [emails.length, ...hashes.map((hash) => known.get(hash)?.mails ?? 0)];
  const counts = await tx.query(count, tx.tenantId, dayOf(at), recipients, added);
  const retryAfterSeconds = Math.ceil((dayMs - (at.getTime() % dayMs)) / 1_000);
  for (const { recipient, mails } of counts) {
    const email = known.get(recipient.toString("hex"))?.email;
    const limit = email === undefined ? perTenant : mailsPerRecipient;
    if (mails <= limit) continue;
    const sends = email === undefined ? "The tenant can send" : `The tenant can send ${email}`;
    const detail = `${sends} at most ${limit} emails per day (UTC). This request would bring the total to ${mails}.`;
    throw new AppError("mail_limit_reached", { detail, retryAfterSeconds });
  }
}

/** The same text for all spellings of a domain: mails are sent to the domain in its ASCII form. */
function mailboxOf(email: string): string {
  const at = email.lastIndexOf("@");
  const domain = email.slice(at + 1);
  // The conversion needs the original letter case. Its result is empty for an invalid domain.
  return `${email.slice(0, at).toLowerCase()}@${domainToASCII(domain) || domain.toLowerCase()}`;
}

/** The day in UTC. */
function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}
