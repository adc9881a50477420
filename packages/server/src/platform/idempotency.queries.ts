import { deflateRawSync, inflateRawSync } from "node:zlib";
import { AppError } from "./app-error.ts";
import type { Transaction } from "./db/database.ts";
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
  /**
   * Whether the reply is stored. A request that only asks a question can be performed again, so only its hashes are
   * stored.
   */
  readonly storesReply: boolean;
}

/** How long replies are stored, in milliseconds: 24 hours (contract). */
const retentionMs = 24 * 60 * 60 * 1000;

/** The largest stored reply after compression, in bytes. */
const maxReplyBytes = 64 * 1024;
/** Longer replies are not compressed, because compression blocks the process. In characters. */
const maxReplyLength = 1024 * 1024;
/** Shorter replies are stored without compression. In characters. */
const minCompressedLength = 4 * 1024;
/** The limits of a tenant, in bytes. New replies are rejected above the limit; questions are no longer noted. */
const maxTotalBytes = { reply: 64 * 1024 * 1024, question: 1024 * 1024 };
/** The size of a row without its reply, in bytes; the migration counts the same. */
const rowBytes = 256;
/** How long to wait before the next attempt if the tenant's replies fill their space, in seconds. */
const fullRetrySeconds = 3_600;

const readTotal = statement<{ size: number }, [tenantId: string, kind: "reply" | "question"]>(
  "idempotency.total",
  "SELECT size::float8 AS size FROM idempotent_reply_totals WHERE tenant_id = $1 AND kind = $2",
);

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

/** Locks the total of the tenant, so it belongs at the end of a transaction. */
const store = statement<
  never,
  [
    tenantId: string,
    callerId: string,
    keyHash: Buffer,
    ciphertext: Buffer | null,
    size: number,
    kind: "reply" | "question",
  ]
>(
  "idempotency.store",
  `WITH earlier AS (
     SELECT size FROM idempotent_replies WHERE tenant_id = $1 AND caller_id = $2 AND key_hash = $3
   ), stored AS (
     UPDATE idempotent_replies SET reply_ciphertext = $4, size = $5
     WHERE tenant_id = $1 AND caller_id = $2 AND key_hash = $3
   )
   INSERT INTO idempotent_reply_totals AS total (tenant_id, kind, size)
   SELECT $1, $6, $5 - earlier.size FROM earlier
   ON CONFLICT (tenant_id, kind) DO UPDATE SET size = total.size + excluded.size`,
);

const selectExpired = statement<{ tenant_id: string }, []>(
  "idempotency.tenants_with_expired",
  "SELECT DISTINCT tenant_id FROM idempotent_replies WHERE expires_at < now()",
);
const clearExpired = statement<never, [tenantId: string]>(
  "idempotency.clear_expired",
  "DELETE FROM idempotent_replies WHERE tenant_id = $1 AND expires_at < now()",
);

function contextOf(request: IdempotencyRequest): string {
  return `${request.tenantId}:${request.callerId}:${request.keyHash.toString("hex")}`;
}

/**
 * Claims the key for this request, or finds the reply of the earlier request.
 *
 * @returns the earlier outcome, or undefined if the request must be performed
 * @throws AppError idempotency_key_reused, stored_replies_full
 */
export async function claimReply(
  transaction: Transaction,
  replies: SecretBox,
  request: IdempotencyRequest,
  now: Date,
): Promise<Outcome | undefined> {
  const key = [request.tenantId, request.callerId, request.keyHash] as const;
  const expiresAt = new Date(now.getTime() + retentionMs);
  // Questions must not fail because too many were noted. Therefore they are not noted above their limit.
  if (!request.storesReply && (await isFull(transaction, request.tenantId, "question"))) return undefined;
  const [claimed, full] = await Promise.all([
    transaction.query(claim, ...key, request.requestHash, expiresAt, now),
    request.storesReply && isFull(transaction, request.tenantId, "reply"),
  ]);
  if (claimed.length > 0) {
    if (full) throw new AppError("stored_replies_full", { retryAfterSeconds: fullRetrySeconds });
    return undefined;
  }
  const earlier = (await transaction.query(read, ...key))[0];
  if (earlier === undefined || !earlier.request_hash.equals(request.requestHash)) {
    throw new AppError("idempotency_key_reused");
  }
  if (earlier.reply_ciphertext === null) return undefined;
  return JSON.parse(unpacked(replies.open(earlier.reply_ciphertext, contextOf(request)))) as Outcome; // as stored below
}

async function isFull(transaction: Transaction, tenantId: string, kind: "reply" | "question"): Promise<boolean> {
  const [total] = await transaction.query(readTotal, tenantId, kind);
  return total !== undefined && total.size >= maxTotalBytes[kind];
}

/**
 * Stores the reply encrypted, because it can contain a secret that is shown only once.
 *
 * @throws AppError reply_too_large
 */
export function storeReply(
  transaction: Transaction,
  replies: SecretBox,
  request: IdempotencyRequest,
  outcome: Outcome,
): Promise<unknown> {
  const key = [request.tenantId, request.callerId, request.keyHash] as const;
  if (!request.storesReply) return transaction.query(store, ...key, null, rowBytes, "question");
  const text = replyText(outcome);
  const packed = text.length > maxReplyLength ? undefined : packedText(text);
  if (packed === undefined || packed.length > maxReplyBytes) {
    throw new AppError("reply_too_large");
  }
  const ciphertext = replies.seal(packed, contextOf(request));
  return transaction.query(store, ...key, ciphertext, ciphertext.length + rowBytes, "reply");
}

/** @throws AppError reply_too_large */
function replyText(outcome: Outcome): string {
  if (outcome.kind !== "record" || outcome.bytes === undefined) return JSON.stringify(outcome);
  const { bytes, ...rest } = outcome;
  // Serializing it again would block the process.
  if (bytes.length > maxReplyLength) throw new AppError("reply_too_large");
  return JSON.stringify(rest);
}

/** Compressed replies are in base64, which no JSON object looks like. */
function packedText(text: string): string {
  return text.length < minCompressedLength ? text : deflateRawSync(text, { level: 1 }).toString("base64");
}

function unpacked(stored: string): string {
  return stored.startsWith("{") ? stored : inflateRawSync(Buffer.from(stored, "base64")).toString("utf8");
}

/** Reads the tenants that have expired replies. */
export function tenantsWithExpiredReplies(tx: Transaction): Promise<readonly { readonly tenant_id: string }[]> {
  return tx.query(selectExpired);
}

/** Deletes the expired replies of a tenant. */
export function clearExpiredReplies(tx: Transaction, tenantId: string): Promise<unknown> {
  return tx.query(clearExpired, tenantId);
}
