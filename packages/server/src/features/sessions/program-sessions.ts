/**
 * Sessions of programs that act for a person (docs/decisions/0113-command-line-sign-in.md). A program has an access
 * token, which expires after a few minutes, and a refresh token, which is replaced whenever it is used.
 */
import type { Database } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import { generateToken, hashToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { insertPersonSession, type PersonSessionRow, readSessionLifetimes } from "./people-sessions.queries.ts";
import { maxUserAgentLength, sessionsOfUser } from "./people-sessions.ts";
import * as queries from "./program-sessions.queries.ts";
import { defaultLifetimes, isOver } from "./sessions.rules.ts";

/** The lifetime of an access token, in milliseconds. */
const accessTokenMs = 10 * 60_000;

/** The length of a token: its prefix, 43 random characters, and a checksum of 6 characters. */
const familyLength = tokenPrefixes.refresh.length + 49;

/** The tokens of a program. They are shown once. */
export interface ProgramTokens {
  readonly sessionId: string;
  readonly accessToken: string;
  readonly accessExpiresAt: Date;
  readonly refreshToken: string;
  readonly sessionExpiresAt: Date;
}

export interface NewProgramSession {
  /** The session of the browser in which the person approved the program. */
  readonly approver: PersonSessionRow;
  readonly oauthClient: string;
  /** The program and its machine. */
  readonly program: string;
  readonly address: string;
}

/**
 * Begins a session that ends at the latest when the approving session would have ended. It also ends when somebody ends
 * the approving session, but not when that session was idle for too long.
 */
export async function beginProgramSession(
  tx: TenantTx,
  { approver, oauthClient, program, address }: NewProgramSession,
  now: Date,
): Promise<ProgramTokens> {
  const { lifetimeSeconds, idleSeconds } = (await readSessionLifetimes(tx)) ?? defaultLifetimes;
  const sessionExpiresAt = new Date(Math.min(now.getTime() + lifetimeSeconds * 1000, Date.parse(approver.expires_at)));
  const family = generateToken(tokenPrefixes.refresh);
  const tokens = newTokens(family, sessionExpiresAt, now);
  const sessionId = newId();
  await insertPersonSession(
    tx,
    {
      id: sessionId,
      tokenHash: hashToken(tokens.accessToken),
      userId: approver.user_id,
      client: "cli",
      method: approver.method,
      providerId: approver.provider_id,
      providerSession: approver.provider_session,
      address,
      userAgent: program.slice(0, maxUserAgentLength),
      authTime: new Date(approver.auth_time),
      acr: approver.acr,
      amr: approver.amr,
      expiresAt: sessionExpiresAt,
      idleSeconds,
      program: {
        approverId: approver.id,
        accessExpiresAt: tokens.accessExpiresAt,
        refreshFamilyHash: hashToken(family),
        refreshHash: hashToken(tokens.refreshToken),
        oauthClient,
      },
    },
    { now, maxSessions: sessionsOfUser },
  );
  return { ...tokens, sessionId, sessionExpiresAt };
}

/** Finds the session whose present or former refresh token is presented, in any tenant. */
export async function findRefreshedSession(
  database: Database,
  refreshToken: string,
): Promise<PersonSessionRow | undefined> {
  if (!refreshToken.startsWith(tokenPrefixes.refresh)) return undefined;
  return queries.findByRefreshFamily(database, hashToken(refreshToken.slice(0, familyLength)));
}

/**
 * Replaces both tokens. A refresh token that was used before ends the session: either its holder or the one who used it
 * first has stolen it.
 */
export async function rotateProgramTokens(
  tx: TenantTx,
  { id }: PersonSessionRow,
  refreshToken: string,
  now: Date,
): Promise<ProgramTokens | "ended" | "reused"> {
  const row = await queries.lockProgramSession(tx, id);
  if (row === undefined) return "ended";
  if (!row.refresh_hash.equals(hashToken(refreshToken))) {
    await queries.deleteProgramSession(tx, id);
    return "reused";
  }
  const times = { lastUsedAt: row.last_used_at, expiresAt: row.expires_at };
  if (isOver(times, now, row.idle_seconds * 1000)) return "ended";
  const sessionExpiresAt = new Date(row.expires_at);
  const tokens = newTokens(refreshToken.slice(0, familyLength), sessionExpiresAt, now);
  await queries.replaceTokens(tx, id, {
    accessHash: hashToken(tokens.accessToken),
    accessExpiresAt: tokens.accessExpiresAt,
    refreshHash: hashToken(tokens.refreshToken),
    now,
  });
  return { ...tokens, sessionId: id, sessionExpiresAt };
}

/** Ends the session of a program. Does nothing if it has ended. */
export function endProgramSession(tx: TenantTx, id: string): Promise<void> {
  return queries.deleteProgramSession(tx, id);
}

/** @param family the random part with which every refresh token of the session begins */
function newTokens(family: string, sessionExpiresAt: Date, now: Date) {
  return {
    accessToken: generateToken(tokenPrefixes.access),
    accessExpiresAt: new Date(Math.min(now.getTime() + accessTokenMs, sessionExpiresAt.getTime())),
    refreshToken: generateToken(family),
  };
}
