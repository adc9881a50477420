/** The face of this feature: the console's sessions. */
import type { Caller, SessionInfo, Sessions } from "../../http/caller.ts";
import { AppError } from "../../platform/app-error.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import { generateToken, hashToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import type { ApiKeyAuthenticator } from "../api-keys/api-keys.api.ts";
import * as queries from "./sessions.queries.ts";
import { idleMs, isOver, sessionExpiry, wantsTouch } from "./sessions.rules.ts";

/** The number of sessions per key at most. A new session replaces the oldest. */
const sessionsOfKey = 100;

export interface ConsoleSessionsOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly apiKeys: ApiKeyAuthenticator;
}

/**
 * Sessions of the console. A session represents a key: each request reads the session and authorizes its key again.
 * Nothing is cached, so signing out takes effect on every replica at once.
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
    await queries.storeSession(database, tenantId, session, { now, idleSince, kept: sessionsOfKey });
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

  /** @throws AppError like `authenticate` */
  async describe(token: string, sourceAddress: string): Promise<SessionInfo> {
    const { caller, row } = await this.#find(token, sourceAddress);
    const times = { createdAt: new Date(row.created_at), expiresAt: new Date(row.expires_at) };
    return this.#describe(caller, row.tenant_id, times);
  }

  /** Ends the session on all replicas. Does nothing if it has ended. */
  async end(token: string): Promise<void> {
    const { database } = this.#options;
    const row = await queries.findPresentedSession(database, hashToken(token));
    if (row !== undefined) await queries.deleteSession(database, row.tenant_id, row.id);
  }

  async #find(token: string, sourceAddress: string) {
    const { database, clock, apiKeys } = this.#options;
    const row = await queries.findPresentedSession(database, hashToken(token));
    const now = clock.now();
    if (row === undefined || isOver({ lastUsedAt: row.last_used_at, expiresAt: row.expires_at }, now)) {
      throw new AppError("session_ended");
    }
    const caller = await apiKeys.authenticateByHash(row.key_hash, sourceAddress).catch((error: unknown) => {
      // Do not reveal to the holder of a session whether its key was revoked or expired.
      if (error instanceof AppError && error.code === "invalid_api_key") throw new AppError("session_ended");
      throw error;
    });
    if (wantsTouch({ lastUsedAt: row.last_used_at }, now)) {
      await queries.touchSession(database, row.tenant_id, row.id, now);
    }
    return { row, caller };
  }

  async #describe(
    { actor, permissions }: Caller,
    tenantId: string,
    { createdAt, expiresAt }: { readonly createdAt: Date; readonly expiresAt: Date },
  ): Promise<SessionInfo> {
    const tenantName = await queries.readTenantName(this.#options.database, tenantId);
    return {
      apiKey: { id: actor.id ?? "", name: actor.name },
      tenant: { id: tenantId, name: tenantName ?? "" },
      permissions: [...permissions],
      createdAt: createdAt.toISOString(),
      expiresAt: expiresAt.toISOString(),
      idleSeconds: idleMs / 1000,
    };
  }
}
