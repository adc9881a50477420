import type { Database } from "../../platform/db/database.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { type PersonSessionRow, personSessionColumns } from "./people-sessions.queries.ts";

/** The session of a program, locked. */
export interface ProgramSessionRow extends PersonSessionRow {
  readonly refresh_hash: Buffer;
}

export interface ReplacedTokens {
  readonly accessHash: Buffer;
  readonly accessExpiresAt: Date;
  readonly refreshHash: Buffer;
  readonly now: Date;
}

const selectByFamily = statement<PersonSessionRow, [familyHash: Buffer]>(
  "sessions.by_refresh_family",
  `SELECT ${personSessionColumns} FROM sessions WHERE refresh_family_hash = $1`,
);
const lock = statement<ProgramSessionRow, [tenantId: string, id: string]>(
  "sessions.lock_program",
  `SELECT ${personSessionColumns}, refresh_hash FROM sessions
   WHERE tenant_id = $1 AND id = $2 AND client = 'cli' FOR UPDATE`,
);
const replace = statement<
  never,
  [tenantId: string, id: string, accessHash: Buffer, accessExpiresAt: Date, refreshHash: Buffer, now: Date]
>(
  "sessions.replace_tokens",
  `UPDATE sessions SET token_hash = $3, access_expires_at = $4, refresh_hash = $5,
     last_used_at = greatest(last_used_at, $6)
   WHERE tenant_id = $1 AND id = $2`,
);
const remove = statement<never, [tenantId: string, id: string]>(
  "sessions.delete_program",
  "DELETE FROM sessions WHERE tenant_id = $1 AND id = $2 AND client = 'cli'",
);

/** Finds the session by the hash of the part that all of its refresh tokens have. */
export async function findByRefreshFamily(
  database: Database,
  familyHash: Buffer,
): Promise<PersonSessionRow | undefined> {
  const scope = { kind: "presented-session", tokenHash: familyHash.toString("hex") } as const;
  return (await database.snapshot(scope, ({ query }) => query(selectByFamily, familyHash)))[0];
}

export async function lockProgramSession(tx: TenantTx, id: string): Promise<ProgramSessionRow | undefined> {
  return (await tx.query(lock, tx.tenantId, id))[0];
}

export async function replaceTokens(
  tx: TenantTx,
  id: string,
  { accessHash, accessExpiresAt, refreshHash, now }: ReplacedTokens,
): Promise<void> {
  await tx.query(replace, tx.tenantId, id, accessHash, accessExpiresAt, refreshHash, now);
}

export async function deleteProgramSession(tx: TenantTx, id: string): Promise<void> {
  await tx.query(remove, tx.tenantId, id);
}
