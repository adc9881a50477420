import { AppError } from "./app-error.ts";
import type { Database, Transaction } from "./db/database.ts";
import { statement } from "./db/statement.ts";
import type { Outcome } from "./outcome.ts";
import type { SecretBox } from "./secrets/master-key.ts";

/** A request that can be repeated without being performed again. */
export interface IdempotencyRequest {
  /** The tenant that the reply belongs to; the nil UUID for the operator. */
  readonly tenantId: string;
  readonly callerId: string;
  readonly keyHash: Buffer;
  /** Hash of operation, path and body. The same key with another hash is rejected. */
  readonly requestHash: Buffer;
}

/** How long replies are stored, in milliseconds: 24 hours (contract). */
const retentionMs = 24 * 60 * 60 * 1000;

/** Waits for a running request with the same key, whose row is locked until its transaction ends. */
const claim = statement<
  { claimed: boolean },
  [tenantId: string, callerId: string, keyHash: Buffer, requestHash: Buffer, expiresAt: Date, now: Date]
>(
  "idempotency.claim",
  `INSERT INTO idempotent_replies AS stored (tenant_id, caller_id, key_hash, request_hash, expires_at)
   VALUES ($1, $2, $3, $4, $5)
   ON CONFLICT (tenant_id, caller_id, key_hash) DO UPDATE
     SET request_hash = excluded.request_hash, reply_ciphertext = NULL, expires_at = excluded.expires_at
     WHERE stored.expires_at <= $6
   RETURNING true AS claimed`,
);

const read = statement<
  { request_hash: Buffer; reply_ciphertext: Buffer | null },
  [tenantId: string, callerId: string, keyHash: Buffer]
>(
  "idempotency.read",
  "SELECT request_hash, reply_ciphertext FROM idempotent_replies WHERE tenant_id = $1 AND caller_id = $2 AND key_hash = $3",
);

const store = statement<never, [tenantId: string, callerId: string, keyHash: Buffer, ciphertext: Buffer]>(
  "idempotency.store",
  "UPDATE idempotent_replies SET reply_ciphertext = $4 WHERE tenant_id = $1 AND caller_id = $2 AND key_hash = $3",
);

const clearExpired = statement<never, []>(
  "idempotency.clear_expired",
  "DELETE FROM idempotent_replies WHERE expires_at < now()",
);

function contextOf(request: IdempotencyRequest): string {
  return `${request.tenantId}:${request.callerId}:${request.keyHash.toString("hex")}`;
}

/**
 * Claims the key for this request, or finds the reply of the earlier request.
 *
 * @returns the earlier outcome, or undefined if the request must be performed
 * @throws AppError idempotency_key_reused
 */
export async function claimReply(
  transaction: Transaction,
  replies: SecretBox,
  request: IdempotencyRequest,
  now: Date,
): Promise<Outcome | undefined> {
  const key = [request.tenantId, request.callerId, request.keyHash] as const;
  const expiresAt = new Date(now.getTime() + retentionMs);
  const claimed = await transaction.query(claim, ...key, request.requestHash, expiresAt, now);
  if (claimed.length > 0) return undefined;
  const earlier = (await transaction.query(read, ...key))[0];
  if (earlier === undefined || !earlier.request_hash.equals(request.requestHash)) {
    throw new AppError("idempotency_key_reused");
  }
  if (earlier.reply_ciphertext === null) return undefined;
  return JSON.parse(replies.open(earlier.reply_ciphertext, contextOf(request))) as Outcome; // as stored below
}

/** Stores the reply encrypted, because it can contain a secret that is shown only once. */
export function storeReply(
  transaction: Transaction,
  replies: SecretBox,
  request: IdempotencyRequest,
  outcome: Outcome,
): Promise<unknown> {
  const ciphertext = replies.seal(JSON.stringify(outcome), contextOf(request));
  return transaction.query(store, request.tenantId, request.callerId, request.keyHash, ciphertext);
}

/** Deletes the expired replies of all tenants. */
export async function clearExpiredReplies(database: Database): Promise<void> {
  await database.transaction({ kind: "operator" }, (transaction) => transaction.query(clearExpired));
}
