import type { Database } from "../../platform/db/database.ts";
import { statement } from "../../platform/db/statement.ts";
import { laterTime } from "../../platform/stored-times.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

/** The way in which a person signed in. */
export type SignInMethod = "passkey" | "enrolment-link" | "recovery-code" | "oidc" | "saml";

/** The row of a person's session. */
export interface PersonSessionRow {
  readonly tenant_id: string;
  readonly id: string;
  readonly user_id: string;
  readonly client: "console" | "cli";
  readonly method: SignInMethod;
  readonly provider_id: string | null;
  /** The provider's own session. */
  readonly provider_session: string | null;
  readonly created_at: string;
  readonly last_used_at: string;
  readonly address: string;
  readonly user_agent: string;
  readonly auth_time: string;
  readonly acr: string | null;
  readonly amr: readonly string[];
  readonly expires_at: string;
  readonly idle_seconds: number;
  /** The expiry of a program's access token; null for the console. */
  readonly access_expires_at: string | null;
  /** The program; null for the console. */
  readonly oauth_client: string | null;
}

/** The part of a session that only sessions of programs have. */
export interface ProgramPart {
  /** The session of the browser in which the person approved the program. */
  readonly approverId: string;
  readonly accessExpiresAt: Date;
  readonly refreshFamilyHash: Buffer;
  readonly refreshHash: Buffer;
  readonly oauthClient: string;
}

export interface NewPersonSession {
  readonly id: string;
  readonly tokenHash: Buffer;
  readonly userId: string;
  readonly client: PersonSessionRow["client"];
  readonly method: SignInMethod;
  readonly providerId: string | null;
  readonly providerSession: string | null;
  readonly address: string;
  readonly userAgent: string;
  readonly authTime: Date;
  readonly acr: string | null;
  readonly amr: readonly string[];
  readonly expiresAt: Date;
  readonly idleSeconds: number;
  /** Undefined for the console. */
  readonly program?: ProgramPart | undefined;
}

/** The lifetimes of a tenant's sessions. */
export interface SessionLifetimes {
  readonly lifetimeSeconds: number;
  readonly idleSeconds: number;
}

export const personSessionColumns = `tenant_id, id, user_id, client, method, provider_id, provider_session, created_at, last_used_at, address,
  user_agent, auth_time, acr, amr, expires_at, idle_seconds, access_expires_at, oauth_client`;

export const selectPresentedPerson = statement<PersonSessionRow, [tokenHash: Buffer]>(
  "sessions.presented_person",
  `SELECT ${personSessionColumns} FROM sessions WHERE token_hash = $1`,
);
const insert = statement<
  never,
  [
    tenantId: string,
    id: string,
    userId: string,
    tokenHash: Buffer,
    client: string,
    method: string,
    providerId: string | null,
    providerSession: string | null,
    at: Date,
    address: string,
    userAgent: string,
    authTime: Date,
    acr: string | null,
    amr: readonly string[],
    expiresAt: Date,
    idleSeconds: number,
    accessExpiresAt: Date | null,
    refreshFamilyHash: Buffer | null,
    refreshHash: Buffer | null,
    oauthClient: string | null,
    approverId: string | null,
  ]
>(
  "sessions.insert_person",
  `INSERT INTO sessions (tenant_id, id, user_id, token_hash, client, method, provider_id, provider_session, created_at,
                         last_used_at, address, user_agent, auth_time, acr, amr, expires_at, idle_seconds,
                         access_expires_at, refresh_family_hash, refresh_hash, oauth_client,
                         approver_id)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`,
);
const removeOver = statement<never, [tenantId: string, now: Date]>(
  "sessions.delete_over_people",
  `DELETE FROM sessions
   WHERE tenant_id = $1 AND (expires_at <= $2 OR last_used_at + idle_seconds * interval '1 second' <= $2)`,
);
const removeOldest = statement<never, [tenantId: string, userId: string, maxSessions: number]>(
  "sessions.delete_oldest_of_person",
  `DELETE FROM sessions WHERE tenant_id = $1 AND id IN (
     SELECT id FROM sessions WHERE tenant_id = $1 AND user_id = $2 ORDER BY id DESC OFFSET $3)`,
);
const touch = statement<never, [tenantId: string, id: string, at: Date]>(
  "sessions.touch_person",
  "UPDATE sessions SET last_used_at = greatest(last_used_at, $3) WHERE tenant_id = $1 AND id = $2",
);
const updateAuthentication = statement<
  never,
  [tenantId: string, id: string, at: Date, acr: string | null, amr: readonly string[], endsBy: Date | null, now: Date]
>(
  "sessions.reauthenticate",
  `UPDATE sessions SET auth_time = ${laterTime("auth_time", "$3", "$7")}, acr = $4, amr = $5,
     expires_at = least(expires_at, $6)
   WHERE tenant_id = $1 AND id = $2`,
);
const lockOne = statement<PersonSessionRow, [tenantId: string, id: string]>(
  "sessions.lock_person",
  `SELECT ${personSessionColumns} FROM sessions WHERE tenant_id = $1 AND id = $2 FOR UPDATE`,
);
const existsOne = statement<{ readonly exists: boolean }, [tenantId: string, id: string]>(
  "sessions.exists_person",
  "SELECT true AS exists FROM sessions WHERE tenant_id = $1 AND id = $2",
);
const removeWithPrograms = statement<PersonSessionRow, [tenantId: string, id: string]>(
  "sessions.delete_person",
  `DELETE FROM sessions WHERE tenant_id = $1 AND (id = $2 OR approver_id = $2) RETURNING ${personSessionColumns}`,
);
const lockOfUser = statement<{ readonly id: string }, [tenantId: string, userId: string]>(
  "sessions.lock_of_person",
  "SELECT id FROM sessions WHERE tenant_id = $1 AND user_id = $2 ORDER BY id FOR UPDATE",
);
const removeOfUser = statement<PersonSessionRow, [tenantId: string, userId: string]>(
  "sessions.delete_of_person",
  `DELETE FROM sessions WHERE tenant_id = $1 AND user_id = $2 RETURNING ${personSessionColumns}`,
);
const removeOfProvider = statement<
  PersonSessionRow,
  [tenantId: string, providerId: string, providerSession: string, userId: string | null]
>(
  "sessions.delete_of_provider",
  `DELETE FROM sessions
   WHERE tenant_id = $1 AND provider_id = $2 AND provider_session = $3 AND ($4::uuid IS NULL OR user_id = $4)
   RETURNING ${personSessionColumns}`,
);
const selectLifetimes = statement<SessionLifetimes, [tenantId: string]>(
  "sessions.lifetimes",
  `SELECT session_lifetime_seconds AS "lifetimeSeconds", session_idle_seconds AS "idleSeconds"
   FROM sign_in_settings WHERE tenant_id = $1`,
);

/** The lifetimes that the tenant has set; undefined for the defaults. */
export async function readSessionLifetimes(tx: TenantTx): Promise<SessionLifetimes | undefined> {
  return (await tx.query(selectLifetimes, tx.tenantId))[0];
}

/** Inserts a session. Deletes the tenant's ended sessions, and the oldest sessions of the user beyond `maxSessions`. */
export async function insertPersonSession(
  tx: TenantTx,
  session: NewPersonSession,
  { now, maxSessions }: { readonly now: Date; readonly maxSessions: number },
): Promise<void> {
  await tx.query(removeOver, tx.tenantId, now);
  await tx.query(
    insert,
    tx.tenantId,
    session.id,
    session.userId,
    session.tokenHash,
    session.client,
    session.method,
    session.providerId,
    session.providerSession,
    now,
    session.address,
    session.userAgent,
    session.authTime,
    session.acr,
    session.amr,
    session.expiresAt,
    session.idleSeconds,
    session.program?.accessExpiresAt ?? null,
    session.program?.refreshFamilyHash ?? null,
    session.program?.refreshHash ?? null,
    session.program?.oauthClient ?? null,
    session.program?.approverId ?? null,
  );
  await tx.query(removeOldest, tx.tenantId, session.userId, maxSessions);
}

export async function touchPersonSession(database: Database, tenantId: string, id: string, at: Date): Promise<void> {
  await database.transaction({ kind: "tenant", tenantId }, (transaction) => transaction.query(touch, tenantId, id, at));
}

/**
 * Stores that the person authenticated again.
 *
 * @param times the time of the authentication, and the current time
 * @param endsBy the latest end of the session; undefined if the authentication does not limit it
 */
export async function reauthenticateSession(
  tx: TenantTx,
  id: string,
  { at, now }: { readonly at: Date; readonly now: Date },
  { acr, amr }: Pick<PersonSessionRow, "acr" | "amr">,
  endsBy?: Date,
): Promise<void> {
  await tx.query(updateAuthentication, tx.tenantId, id, at, acr, amr, endsBy ?? null, now);
}

export async function lockPersonSession(tx: TenantTx, id: string): Promise<PersonSessionRow | undefined> {
  return (await tx.query(lockOne, tx.tenantId, id))[0];
}

export async function personSessionExists(tx: TenantTx, id: string): Promise<boolean> {
  return (await tx.query(existsOne, tx.tenantId, id)).length > 0;
}

/**
 * Deletes a session, with those of the programs that were approved in it. The caller must hold the lock of the session,
 * as the approval of a program does.
 *
 * @returns the sessions that existed
 */
export function deletePersonSession(tx: TenantTx, id: string): Promise<PersonSessionRow[]> {
  return tx.query(removeWithPrograms, tx.tenantId, id);
}

/**
 * Deletes the sessions of a user. A program that is being approved holds its person's session; once the session is
 * locked, the program's own session is committed, and deleted too.
 *
 * @returns the sessions that the user had
 */
export async function deleteSessionsOfUser(tx: TenantTx, userId: string): Promise<PersonSessionRow[]> {
  await tx.query(lockOfUser, tx.tenantId, userId);
  return tx.query(removeOfUser, tx.tenantId, userId);
}

/**
 * Deletes the sessions that began with a session at a provider.
 *
 * @param userId whose sessions they must be; null for anyone's
 * @returns the sessions that existed
 */
export function deleteSessionsOfProvider(
  tx: TenantTx,
  providerId: string,
  providerSession: string,
  userId: string | null,
): Promise<PersonSessionRow[]> {
  return tx.query(removeOfProvider, tx.tenantId, providerId, providerSession, userId);
}
