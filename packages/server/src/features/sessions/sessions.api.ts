/** Public API of this feature: sessions of the console, which represent an API key or a person. */
import type { Caller, SessionInfo, Sessions } from "../../http/caller.ts";
import { AppError } from "../../platform/app-error.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import { generateToken, hashToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import type { ApiKeyAuthenticator } from "../api-keys/api-keys.api.ts";
import { deletePersonSession, lockPersonSession, type PersonSessionRow } from "./people-sessions.queries.ts";
import { callerOfSession } from "./people-sessions.ts";
import * as queries from "./sessions.queries.ts";
import { idleMs, isOver, sessionExpiry, wantsTouch } from "./sessions.rules.ts";
import type { SignedInUser } from "./signed-in-user.queries.ts";

export { requireNoMorePrivileged, requireOwnOr } from "./own-or-permitted.ts";
export {
  deleteSessionsOfProvider,
  lockPersonSession,
  type PersonSessionRow,
  reauthenticateSession,
  type SignInMethod,
} from "./people-sessions.queries.ts";
export {
  beginSession,
  callerOfSession,
  endUserSessions,
  permissionsOf,
  requireOpenSession,
} from "./people-sessions.ts";
export {
  beginProgramSession,
  endProgramSession,
  findRefreshedSession,
  type ProgramTokens,
  rotateProgramTokens,
} from "./program-sessions.ts";
export { sessionView } from "./sessions.view.ts";
export {
  lockUserOfSession,
  lockUserWithSession,
  readSignedInUser,
  type SignedInUser,
} from "./signed-in-user.queries.ts";

/** The number of sessions per key at most. A new session replaces the oldest. */
const sessionsOfKey = 100;

export interface ConsoleSessionsOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly apiKeys: ApiKeyAuthenticator;
}

/**
 * Sessions of the console. A session represents a key or a person: each request reads the session, and authorizes its
 * key or its user again. Nothing is cached, so signing out takes effect on every replica at once.
 */
export class ConsoleSessions implements Sessions {
  readonly #options: ConsoleSessionsOptions;

  constructor(options: ConsoleSessionsOptions) {
    this.#options = options;
  }

  /**
   * @param key the tenant's key that `caller` authenticated with
   *
   * @returns the content of the cookie, which is shown once
   */
  async begin(caller: Caller, key: string): Promise<{ readonly token: string; readonly info: SessionInfo }> {
    const { database, clock } = this.#options;
    const { tenantId, actor } = caller;
    if (tenantId === undefined || actor.id === undefined) throw new AppError("invalid_api_key");
    const now = clock.now();
    const token = generateToken(tokenPrefixes.session);
    const expiresAt = sessionExpiry(now, caller.limits?.expiresAt ?? null);
    const session = {
      id: newId(),
      tokenHash: hashToken(token),
      apiKeyId: actor.id,
      keyHash: hashToken(key),
      expiresAt,
    };
    const idleSince = new Date(now.getTime() - idleMs);
    await queries.storeSession(database, tenantId, session, { now, idleSince, maxSessions: sessionsOfKey });
    return { token, info: await this.#describe(caller, tenantId, { createdAt: now, expiresAt }) };
  }

  /**
   * Resolves the caller of a session.
   *
   * @throws AppError session_ended; source_address_not_allowed, database_unavailable
   */
  async authenticate(token: string, sourceAddress: string): Promise<Caller> {
    return (await this.#find(token, sourceAddress)).caller;
  }

  /**
   * Resolves the person for whom a program acts.
   *
   * @throws AppError session_ended, database_unavailable
   */
  async authenticateProgram(accessToken: string): Promise<Caller> {
    const { database, clock } = this.#options;
    const found = await queries.findPresentedSession(database, hashToken(accessToken));
    if (found?.kind !== "person" || found.row.access_expires_at === null) throw new AppError("session_ended");
    const now = clock.now();
    if (Date.parse(found.row.access_expires_at) <= now.getTime()) throw new AppError("session_ended");
    return (await callerOfSession(database, found.row, now)).caller;
  }

  /** @throws AppError like `authenticate` */
  async describe(token: string, sourceAddress: string): Promise<SessionInfo> {
    return (await this.#find(token, sourceAddress)).describe();
  }

  /** Ends the session on all replicas. Does nothing if it has ended. */
  async end(token: string): Promise<void> {
    const { database } = this.#options;
    const found = await queries.findPresentedSession(database, hashToken(token));
    if (found === undefined) return;
    const { tenant_id: tenantId, id } = found.row;
    if (found.kind === "key") return queries.deleteSession(database, tenantId, id);
    await database.transaction({ kind: "tenant", tenantId }, async ({ query }) => {
      const tx = { tenantId, query };
      await lockPersonSession(tx, id);
      await deletePersonSession(tx, id);
    });
  }

  async #find(
    token: string,
    sourceAddress: string,
  ): Promise<{ readonly caller: Caller; readonly describe: () => SessionInfo | Promise<SessionInfo> }> {
    const { database, clock } = this.#options;
    const found = await queries.findPresentedSession(database, hashToken(token));
    if (found === undefined) throw new AppError("session_ended");
    const { row } = found;
    if (found.kind === "key") {
      const caller = await this.#callerOfKey(found.row, sourceAddress);
      const times = { createdAt: new Date(row.created_at), expiresAt: new Date(row.expires_at) };
      return { caller, describe: () => this.#describe(caller, row.tenant_id, times) };
    }
    // A cookie with the token of a program would make the program's session one of the console.
    if (found.row.client !== "console") throw new AppError("session_ended");
    const { caller, user } = await callerOfSession(database, found.row, clock.now());
    return { caller, describe: () => describePerson(found.row, caller, user) };
  }

  async #callerOfKey(row: queries.SessionRow, sourceAddress: string): Promise<Caller> {
    const { database, clock, apiKeys } = this.#options;
    const now = clock.now();
    if (isOver({ lastUsedAt: row.last_used_at, expiresAt: row.expires_at }, now)) throw new AppError("session_ended");
    const caller = await apiKeys.authenticateByHash(row.key_hash, sourceAddress).catch((error: unknown) => {
      // Do not reveal to the holder of a session whether its key was revoked or expired.
      if (error instanceof AppError && error.code === "invalid_api_key") throw new AppError("session_ended");
      throw error;
    });
    if (wantsTouch({ lastUsedAt: row.last_used_at }, now)) {
      await queries.touchSession(database, row.tenant_id, row.id, now);
    }
    return caller;
  }

  async #describe(
    { actor, permissions }: Caller,
    tenantId: string,
    { createdAt, expiresAt }: { readonly createdAt: Date; readonly expiresAt: Date },
  ): Promise<SessionInfo> {
    const { name = "", slug = "" } = (await queries.readTenant(this.#options.database, tenantId)) ?? {};
    return {
      apiKey: { id: actor.id ?? "", name: actor.name },
      tenant: { id: tenantId, name, slug },
      permissions: [...permissions],
      createdAt: createdAt.toISOString(),
      expiresAt: expiresAt.toISOString(),
      idleSeconds: idleMs / 1000,
    };
  }
}

function describePerson(
  row: PersonSessionRow,
  { permissions }: Caller,
  { id, email, firstName, lastName, isOwner, tenantName, tenantSlug }: SignedInUser,
): SessionInfo {
  const fullName = `${firstName} ${lastName}`.trim();
  return {
    id: row.id,
    user: { id, email, name: fullName === "" ? email : fullName, isOwner },
    method: row.method,
    ...(row.provider_id === null ? {} : { providerPath: `/console/oidc/${row.tenant_id}/${row.provider_id}` }),
    authenticatedAt: row.auth_time,
    tenant: { id: row.tenant_id, name: tenantName, slug: tenantSlug },
    permissions: [...permissions],
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    idleSeconds: row.idle_seconds,
  };
}
