import type { Database } from "../../platform/db/database.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import type { SignInMethod } from "../sessions/sessions.api.ts";

export interface RecoveryCodeRow {
  readonly tenant_id: string;
  readonly user_id: string;
}

/** An attempt to sign in, for the tenant's log. */
export interface SignInAttempt {
  readonly id: string;
  readonly userId: string | null;
  /** The user's email address at that time. */
  readonly userName: string | null;
  readonly method: SignInMethod;
  readonly providerId?: string | undefined;
  readonly providerName?: string | undefined;
  readonly address: string;
  readonly userAgent: string;
  /** Why the attempt failed; null if it succeeded. */
  readonly reason: string | null;
  /** A note for administrators about an attempt that succeeded. */
  readonly note?: string | undefined;
}

/**
 * How long expired challenges are kept, in milliseconds: longer than the clocks of replicas differ. A replica whose
 * clock is behind could accept a deleted one again.
 */
const challengesKeptForMs = 60 * 60_000;
/** How long attempts are kept, in milliseconds: 90 days. */
const attemptsKeptForMs = 90 * 24 * 60 * 60_000;

const selectPresentedCode = statement<RecoveryCodeRow, [codeHash: Buffer]>(
  "sign_in.presented_code",
  "SELECT tenant_id, user_id FROM recovery_codes WHERE code_hash = $1",
);
const useCode = statement<{ used: boolean }, [tenantId: string, codeHash: Buffer]>(
  "sign_in.use_code",
  "DELETE FROM recovery_codes WHERE tenant_id = $1 AND code_hash = $2 RETURNING true AS used",
);
const replaceCode = statement<never, [tenantId: string, userId: string, at: Date, codeHash: Buffer]>(
  "sign_in.replace_code",
  `INSERT INTO recovery_codes (tenant_id, user_id, created_at, code_hash) VALUES ($1, $2, $3, $4)
   ON CONFLICT (tenant_id, user_id) DO UPDATE SET created_at = excluded.created_at, code_hash = excluded.code_hash`,
);
const selectUnauditedCodes = statement<{ userId: string }, [tenantId: string]>(
  "sign_in.unaudited_codes",
  `SELECT code.user_id AS "userId" FROM recovery_codes AS code
   WHERE code.tenant_id = $1
     AND NOT EXISTS (
       SELECT FROM audit_events AS item
       WHERE item.tenant_id = $1 AND item.target_type = 'recovery-code' AND item.target_id = code.user_id
         AND item.created_at = code.created_at)
     AND NOT EXISTS (SELECT FROM audit_stubs AS stub WHERE stub.tenant_id = $1 AND stub.created_at >= code.created_at)
   ORDER BY code.user_id LIMIT 1000`,
);
const useChallenge = statement<{ used: boolean }, [tenantId: string, hash: Buffer, expiresAt: Date]>(
  "sign_in.use_challenge",
  `INSERT INTO used_challenges (tenant_id, challenge_hash, expires_at) VALUES ($1, $2, $3)
   ON CONFLICT DO NOTHING RETURNING true AS used`,
);
const removeOldChallenges = statement<never, [tenantId: string, expiredBefore: Date]>(
  "sign_in.delete_old_challenges",
  "DELETE FROM used_challenges WHERE tenant_id = $1 AND expires_at < $2",
);
const insertAttempt = statement<
  never,
  [
    tenantId: string,
    id: string,
    at: Date,
    userId: string | null,
    userName: string | null,
    method: string,
    providerId: string | null,
    providerName: string | null,
    address: string,
    userAgent: string,
    outcome: string,
    reason: string | null,
    note: string | null,
  ]
>(
  "sign_in.insert_attempt",
  `INSERT INTO sign_in_attempts (tenant_id, id, created_at, user_id, user_name, method, provider_id, provider_name, address,
                                 user_agent, outcome, reason, note)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
);
const pruneAttempts = statement<never, [tenantId: string, createdBefore: Date]>(
  "sign_in.prune_attempts",
  "DELETE FROM sign_in_attempts WHERE tenant_id = $1 AND created_at < $2",
);
/** Finds the recovery code with a hash in any tenant. Row-level security shows only this row. */
export async function findPresentedCode(database: Database, codeHash: Buffer): Promise<RecoveryCodeRow | undefined> {
  const scope = { kind: "presented-key", keyHash: codeHash.toString("hex") } as const;
  return (await database.snapshot(scope, ({ query }) => query(selectPresentedCode, codeHash)))[0];
}

/** Deletes the recovery code. Returns false if a concurrent request has used it. */
export async function consumeRecoveryCode(tx: TenantTx, codeHash: Buffer): Promise<boolean> {
  return (await tx.query(useCode, tx.tenantId, codeHash)).length > 0;
}

/** Stores the user's recovery code in place of an earlier one. */
export async function storeRecoveryCode(tx: TenantTx, userId: string, codeHash: Buffer, at: Date): Promise<void> {
  await tx.query(replaceCode, tx.tenantId, userId, at, codeHash);
}

/** Accepts a challenge. Returns false if it was answered before. */
export async function acceptChallenge(tx: TenantTx, hash: Buffer, expiresAt: Date, now: Date): Promise<boolean> {
  await tx.query(removeOldChallenges, tx.tenantId, new Date(now.getTime() - challengesKeptForMs));
  return (await tx.query(useChallenge, tx.tenantId, hash, expiresAt)).length > 0;
}

/** Logs an attempt, and deletes the tenant's old ones. */
export async function insertSignInAttempt(tx: TenantTx, attempt: SignInAttempt, at: Date): Promise<void> {
  const { id, userId, userName, method, providerId = null, providerName = null, address, userAgent, reason } = attempt;
  await tx.query(pruneAttempts, tx.tenantId, new Date(at.getTime() - attemptsKeptForMs));
  const outcome = reason === null ? "succeeded" : "failed";
  await tx.query(
    insertAttempt,
    tx.tenantId,
    id,
    at,
    userId,
    userName,
    method,
    providerId,
    providerName,
    address,
    userAgent.slice(0, 300),
    outcome,
    reason,
    attempt.note ?? null,
  );
}

/** Finds users with recovery codes that no entry issued. */
export function usersWithUnauditedCodes(tx: TenantTx): Promise<{ readonly userId: string }[]> {
  return tx.query(selectUnauditedCodes, tx.tenantId);
}
