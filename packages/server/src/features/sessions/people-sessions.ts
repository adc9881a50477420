/**
 * Sessions of people (docs/decisions/0088-people-sign-in.md). Each request reads the session, the user and the user's
 * roles. Nothing is cached, so a change of any of them takes effect on every replica at once.
 */
import { type Permission, type RoleType, rolePermissions } from "@gatehouse/contract/permissions";
import type { Caller } from "../../http/caller.ts";
import { AppError } from "../../platform/app-error.ts";
import { RolePermissions } from "../../platform/authorization/granted.ts";
import type { Database } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import { generateToken, hashToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { endDeviceSessionsOfUser, type SessionEnd } from "../devices/devices.api.ts";
import * as queries from "./people-sessions.queries.ts";
import { defaultLifetimes, isOver, wantsTouch } from "./sessions.rules.ts";
import { readSignedInUser, type SignedInUser } from "./signed-in-user.queries.ts";

/** The number of sessions per user at most. A new session replaces the oldest. */
export const sessionsOfUser = 100;
export const maxUserAgentLength = 300;

export interface NewSession {
  readonly userId: string;
  readonly method: queries.SignInMethod;
  /** The address from which the person signed in. */
  readonly address: string;
  readonly userAgent: string | undefined;
  /** When the person authenticated, which can be before the session if a provider says so. */
  readonly authTime: Date;
  /** Authentication methods (RFC 8176). */
  readonly amr: readonly string[];
  readonly acr?: string | undefined;
  readonly provider?: {
    readonly id: string;
    /** The provider's own session, for back-channel logout. */
    readonly session?: string | undefined;
    /** The latest end of the session, according to the provider. */
    readonly expiresAt?: Date | undefined;
  };
}

/** A session that has just begun. The token is shown once. */
export interface BegunSession {
  readonly id: string;
  readonly token: string;
  readonly expiresAt: Date;
  readonly idleSeconds: number;
}

/** Begins a session in the console. The caller has authenticated the user in this transaction. */
export async function beginSession(tx: TenantTx, session: NewSession, now: Date): Promise<BegunSession> {
  const { lifetimeSeconds, idleSeconds } = (await queries.readSessionLifetimes(tx)) ?? defaultLifetimes;
  const endsMs = Math.min(
    now.getTime() + lifetimeSeconds * 1000,
    session.provider?.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY,
  );
  const token = generateToken(tokenPrefixes.session);
  const begun = { id: newId(), expiresAt: new Date(endsMs), idleSeconds };
  await queries.insertPersonSession(
    tx,
    {
      ...begun,
      tokenHash: hashToken(token),
      userId: session.userId,
      client: "console",
      method: session.method,
      providerId: session.provider?.id ?? null,
      providerSession: session.provider?.session ?? null,
      address: session.address,
      userAgent: (session.userAgent ?? "").slice(0, maxUserAgentLength),
      authTime: session.authTime,
      acr: session.acr ?? null,
      amr: session.amr,
    },
    { now, maxSessions: sessionsOfUser },
  );
  return { ...begun, token };
}

/**
 * Ends everything that lets a user act: deactivation, deletion, "sign out everywhere" and back-channel logout call it.
 * Every replica refuses the user's next request. The sessions of the user's devices end too.
 *
 * @returns the sessions that ended, without those of devices
 */
export async function endUserSessions(
  tx: CommandTx,
  userId: string,
  end: SessionEnd,
): Promise<readonly queries.PersonSessionRow[]> {
  // A device that is being approved holds its person's session. It is committed once that session can be deleted.
  const ended = await queries.deleteSessionsOfUser(tx, userId);
  await endDeviceSessionsOfUser(tx, userId, end);
  return ended;
}

/**
 * Requires that a session was not ended since it was read: what a stolen session adds must not outlast the session.
 * Locks nothing. A command calls this once it holds the user or the generation, as everything that ends sessions does.
 *
 * @throws AppError session_ended
 */
export async function requireOpenSession(tx: TenantTx, { id }: { readonly id: string }): Promise<void> {
  if (!(await queries.personSessionExists(tx, id))) throw new AppError("session_ended");
}

/** The permissions that roles give together. */
export function permissionsOf(roles: readonly RoleType[]): ReadonlySet<Permission> {
  return new RolePermissions(roles.flatMap((role) => rolePermissions[role]));
}

/** A person's session, and the caller that it identifies. */
export interface PersonCaller {
  readonly caller: Caller;
  readonly user: SignedInUser;
}

/**
 * Resolves the caller of a person's session that was read from the database.
 *
 * @throws AppError session_ended, database_unavailable
 */
export async function callerOfSession(
  database: Database,
  row: queries.PersonSessionRow,
  now: Date,
): Promise<PersonCaller> {
  const times = { lastUsedAt: row.last_used_at, expiresAt: row.expires_at };
  if (isOver(times, now, row.idle_seconds * 1000)) throw new AppError("session_ended");
  const { tenant_id: tenantId } = row;
  const user = await database.snapshot({ kind: "tenant", tenantId }, (transaction) =>
    readSignedInUser({ tenantId, query: transaction.query }, row.user_id),
  );
  if (user?.status !== "active") throw new AppError("session_ended");
  if (wantsTouch(times, now)) await queries.touchPersonSession(database, tenantId, row.id, now);
  return {
    user,
    caller: {
      actor: { type: "user", id: user.id, name: user.email },
      permissions: permissionsOf(user.roles),
      limits: { expiresAt: null, sourceIps: [] },
      tenantId,
      session: { id: row.id, userId: user.id, client: row.client, authenticatedAt: new Date(row.auth_time) },
    },
  };
}
