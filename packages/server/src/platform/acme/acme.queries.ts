/** The certificate that all replicas share, and the challenges of orders in progress. */
import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import { hasCome } from "../stored-times.ts";

/** The longest claim of an order, in milliseconds. Afterwards, the replica that ordered is considered lost. */
export const longestOrderMs = 15 * 60_000;
/** The longest time between two orders after a failure, and the shortest one after a success, in milliseconds. */
export const longestRetryMs = 24 * 60 * 60_000;

/** Names a certificate: the directory of the certificate authority, and the host. */
export interface AcmeName {
  readonly directoryUrl: string;
  readonly host: string;
}

export interface AcmeRow {
  readonly account_key_ciphertext: Buffer;
  readonly certificate: string | null;
  readonly private_key_ciphertext: Buffer | null;
  readonly not_before: string | null;
  readonly not_after: string | null;
  readonly failures: number;
}

/** A challenge of an authority, with the response that proves control of the host. */
export interface AcmeChallenge {
  readonly token: string;
  readonly keyAuthorization: string;
}

export interface IssuedCertificate {
  readonly certificate: string;
  readonly privateKey: Buffer;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

type Name = [directoryUrl: string, host: string];
const columns = "account_key_ciphertext, certificate, private_key_ciphertext, not_before, not_after, failures";

const select = statement<AcmeRow, Name>(
  "acme.read",
  `SELECT ${columns} FROM acme_certificates WHERE directory_url = $1 AND host = $2`,
);
const insert = statement<never, [...Name, accountKey: Buffer]>(
  "acme.insert",
  `INSERT INTO acme_certificates (directory_url, host, account_key_ciphertext) VALUES ($1, $2, $3)
   ON CONFLICT (directory_url, host) DO NOTHING`,
);
const claim = statement<AcmeRow, [...Name, now: Date, until: Date, replacesUnusable: boolean]>(
  "acme.claim",
  `UPDATE acme_certificates SET ordering_until = $4
   WHERE directory_url = $1 AND host = $2
     AND (ordering_until IS NULL OR ${hasCome("ordering_until", "$3", longestOrderMs)})
     AND (next_attempt_at IS NULL OR ${hasCome("next_attempt_at", "$3", longestRetryMs)}
          OR (failures = 0 AND $5::boolean))
   RETURNING ${columns}`,
);
const store = statement<
  { readonly host: string },
  [...Name, until: Date, certificate: string, privateKey: Buffer, notBefore: Date, notAfter: Date, nextAttemptAt: Date]
>(
  "acme.store",
  `UPDATE acme_certificates
   SET certificate = $4, private_key_ciphertext = $5, not_before = $6, not_after = $7, ordering_until = NULL,
       failures = 0, failed_at = NULL, error = NULL, next_attempt_at = $8
   WHERE directory_url = $1 AND host = $2 AND ordering_until = $3 RETURNING host`,
);
const fail = statement<never, [...Name, until: Date, at: Date, error: string, nextAttemptAt: Date]>(
  "acme.fail",
  `UPDATE acme_certificates
   SET ordering_until = NULL, failures = failures + 1, failed_at = $4, error = $5, next_attempt_at = $6
   WHERE directory_url = $1 AND host = $2 AND ordering_until = $3`,
);
const release = statement<never, [...Name, until: Date]>(
  "acme.release",
  "UPDATE acme_certificates SET ordering_until = NULL WHERE directory_url = $1 AND host = $2 AND ordering_until = $3",
);
const selectChallenges = statement<AcmeChallenge, [host: string, now: Date]>(
  "acme.challenges",
  `SELECT token, key_authorization AS "keyAuthorization" FROM acme_challenges WHERE host = $1 AND expires_at > $2
   ORDER BY expires_at DESC, token`,
);
const insertChallenge = statement<
  { readonly token: string },
  [...Name, until: Date, token: string, keyAuthorization: string]
>(
  "acme.present",
  `INSERT INTO acme_challenges (token, host, key_authorization, expires_at)
   SELECT $4, host, $5, ordering_until FROM acme_certificates
   WHERE directory_url = $1 AND host = $2 AND ordering_until = $3
   ON CONFLICT (token) DO UPDATE SET key_authorization = excluded.key_authorization, expires_at = excluded.expires_at
   RETURNING token`,
);
// Challenges expire with their claim. The expiry therefore identifies the order, even if another replica's clock is
// behind. Challenges of lost replicas remain for a day.
const deleteChallenges = statement<never, [host: string, until: Date]>(
  "acme.withdraw",
  "DELETE FROM acme_challenges WHERE host = $1 AND (expires_at = $2 OR expires_at < $2::timestamptz - interval '1 day')",
);

/** @returns undefined before the first start with this authority and host */
export async function readAcme(tx: Transaction, { directoryUrl, host }: AcmeName): Promise<AcmeRow | undefined> {
  return (await tx.query(select, directoryUrl, host))[0];
}

/** Stores the key of an account, unless another replica was first. */
export async function insertAcmeAccount(tx: Transaction, name: AcmeName, accountKey: Buffer): Promise<void> {
  await tx.query(insert, name.directoryUrl, name.host, accountKey);
}

/**
 * @param replacesUnusable whether the stored certificate cannot be used
 * @returns undefined if another replica orders, or the next attempt is not due
 */
export async function claimAcmeOrder(
  tx: Transaction,
  { directoryUrl, host }: AcmeName,
  { now, until, replacesUnusable }: { readonly now: Date; readonly until: Date; readonly replacesUnusable: boolean },
): Promise<AcmeRow | undefined> {
  return (await tx.query(claim, directoryUrl, host, now, until, replacesUnusable))[0];
}

/** Ends a claim without a result. @param until the end of the claim */
export async function releaseAcmeOrder(tx: Transaction, { directoryUrl, host }: AcmeName, until: Date): Promise<void> {
  await tx.query(release, directoryUrl, host, until);
  await tx.query(deleteChallenges, host, until);
}

/**
 * @param until the end of the claim
 * @param nextAttemptAt before which no other certificate is ordered
 * @returns false if another replica has taken the order over; the certificate is not stored then
 */
export async function storeAcmeCertificate(
  tx: Transaction,
  { directoryUrl, host }: AcmeName,
  until: Date,
  { certificate, privateKey, notBefore, notAfter }: IssuedCertificate,
  nextAttemptAt: Date,
): Promise<boolean> {
  const content = [certificate, privateKey, notBefore, notAfter] as const;
  const stored = await tx.query(store, directoryUrl, host, until, ...content, nextAttemptAt);
  await tx.query(deleteChallenges, host, until);
  return stored.length > 0;
}

export interface AcmeFailure {
  readonly at: Date;
  readonly error: string;
  readonly nextAttemptAt: Date;
}

/** Stores why an order failed, unless another replica has taken the order over. @param until the end of the claim */
export async function storeAcmeFailure(
  tx: Transaction,
  { directoryUrl, host }: AcmeName,
  until: Date,
  { at, error, nextAttemptAt }: AcmeFailure,
): Promise<void> {
  await tx.query(fail, directoryUrl, host, until, at, error, nextAttemptAt);
  await tx.query(deleteChallenges, host, until);
}

/** The challenges, newest first. */
export function readAcmeChallenges(tx: Transaction, host: string, now: Date): Promise<AcmeChallenge[]> {
  return tx.query(selectChallenges, host, now);
}

/**
 * Stores a challenge until the end of the claim.
 *
 * @returns false if another replica has taken the order over
 */
export async function presentAcmeChallenge(
  tx: Transaction,
  { directoryUrl, host }: AcmeName,
  until: Date,
  { token, keyAuthorization }: AcmeChallenge,
): Promise<boolean> {
  return (await tx.query(insertChallenge, directoryUrl, host, until, token, keyAuthorization)).length > 0;
}
