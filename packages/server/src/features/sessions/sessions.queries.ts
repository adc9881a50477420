import type { Database, Transaction } from "../../platform/db/database.ts";
import { statement } from "../../platform/db/statement.ts";
import { type PersonSessionRow, selectPresentedPerson } from "./people-sessions.queries.ts";

/** The row of a presented session that represents an API key, and its tenant. */
export interface SessionRow {
  readonly tenant_id: string;
  readonly id: string;
  readonly key_hash: Buffer;
  readonly created_at: string;
  readonly last_used_at: string;
  readonly expires_at: string;
}

export interface NewSessionRow {
  readonly id: string;
  readonly tokenHash: Buffer;
  readonly apiKeyId: string;
  readonly keyHash: Buffer;
  readonly expiresAt: Date;
}

const selectPresented = statement<SessionRow, [tokenHash: Buffer]>(
  "sessions.presented",
  `SELECT tenant_id, id, key_hash, created_at, last_used_at, expires_at FROM console_sessions WHERE token_hash = $1`,
);
const insert = statement<
  never,
  [tenantId: string, id: string, tokenHash: Buffer, apiKeyId: string, keyHash: Buffer, at: Date, expiresAt: Date]
>(
  "sessions.insert",
  `INSERT INTO console_sessions (tenant_id, id, token_hash, api_key_id, key_hash, created_at, last_used_at, expires_at)
   SELECT $1, $2, $3, $4, $5, $6, $6, $7 FROM api_keys WHERE tenant_id = $1 AND id = $4`,
);
const removeOver = statement<never, [tenantId: string, now: Date, idleSince: Date]>(
  "sessions.delete_over",
  "DELETE FROM console_sessions WHERE tenant_id = $1 AND (expires_at <= $2 OR last_used_at <= $3)",
);
const removeOldest = statement<never, [tenantId: string, apiKeyId: string, maxSessions: number]>(
  "sessions.delete_oldest",
  `DELETE FROM console_sessions WHERE tenant_id = $1 AND id IN (
     SELECT id FROM console_sessions WHERE tenant_id = $1 AND api_key_id = $2 ORDER BY id DESC OFFSET $3)`,
);
const remove = statement<never, [tenantId: string, id: string]>(
  "sessions.delete",
  "DELETE FROM console_sessions WHERE tenant_id = $1 AND id = $2",
);
const touch = statement<never, [tenantId: string, id: string, at: Date]>(
  "sessions.touch",
  "UPDATE console_sessions SET last_used_at = greatest(last_used_at, $3) WHERE tenant_id = $1 AND id = $2",
);
const selectTenant = statement<{ name: string; slug: string }, [tenantId: string]>(
  "sessions.tenant",
  "SELECT name, slug FROM tenants WHERE id = $1",
);

/** A presented session: of an API key, or of a person. */
export type PresentedSession =
  | { readonly kind: "key"; readonly row: SessionRow }
  | { readonly kind: "person"; readonly row: PersonSessionRow };

/** Finds the session with a hash in any tenant. Row-level security shows the caller only this row. */
export async function findPresentedSession(
  database: Database,
  tokenHash: Buffer,
): Promise<PresentedSession | undefined> {
  const scope = { kind: "presented-session", tokenHash: tokenHash.toString("hex") } as const;
  const [[ofKey], [ofPerson]] = await database.snapshot(scope, (transaction: Transaction) =>
    Promise.all([transaction.query(selectPresented, tokenHash), transaction.query(selectPresentedPerson, tokenHash)]),
  );
  if (ofKey !== undefined) return { kind: "key", row: ofKey };
  return ofPerson === undefined ? undefined : { kind: "person", row: ofPerson };
}

/** Stores a session. Deletes the tenant's ended sessions, and sessions of the key beyond `maxSessions`. */
export async function storeSession(
  database: Database,
  tenantId: string,
  session: NewSessionRow,
  { now, idleSince, maxSessions }: { readonly now: Date; readonly idleSince: Date; readonly maxSessions: number },
): Promise<void> {
  const { id, tokenHash, apiKeyId, keyHash, expiresAt } = session;
  await database.transaction({ kind: "tenant", tenantId }, async (transaction) => {
    await transaction.query(removeOver, tenantId, now, idleSince);
    await transaction.query(insert, tenantId, id, tokenHash, apiKeyId, keyHash, now, expiresAt);
    await transaction.query(removeOldest, tenantId, apiKeyId, maxSessions);
  });
}

export async function deleteSession(database: Database, tenantId: string, id: string): Promise<void> {
  await database.transaction({ kind: "tenant", tenantId }, (transaction) => transaction.query(remove, tenantId, id));
}

export async function touchSession(database: Database, tenantId: string, id: string, at: Date): Promise<void> {
  await database.transaction({ kind: "tenant", tenantId }, (transaction) => transaction.query(touch, tenantId, id, at));
}

export async function readTenant(
  database: Database,
  tenantId: string,
): Promise<{ readonly name: string; readonly slug: string } | undefined> {
  const scope = { kind: "tenant", tenantId } as const;
  return (await database.snapshot(scope, (transaction) => transaction.query(selectTenant, tenantId)))[0];
}
