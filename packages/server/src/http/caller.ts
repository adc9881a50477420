/** Credentials of requests: a key in a header or the console's cookie, and the caller that they identify. */
import type { IncomingHttpHeaders } from "node:http";
import type { Permission } from "@gatehouse/contract/permissions";
import { AppError } from "../platform/app-error.ts";
import type { KeyLimits } from "../platform/authorization/key-limits.ts";
import type { Actor } from "../platform/change.ts";
import type { TenantTx } from "../platform/tenancy/tenant-tx.ts";
import { sessionTokenOf } from "./session-cookie.ts";

/** An authenticated caller. */
export interface Caller {
  readonly actor: Actor;
  readonly permissions: ReadonlySet<Permission>;
  /** Undefined for the operator, who has no limits. */
  readonly limits: KeyLimits | undefined;
  /** Undefined for the operator. */
  readonly tenantId: string | undefined;
  /** The person's session; undefined for keys, and for sessions that represent a key. */
  readonly session?: PersonSession;
}

/** The session in which a person acts. */
export interface PersonSession {
  readonly id: string;
  readonly userId: string;
  /** Whether the person uses the console, or a program that the person approved. */
  readonly client: "console" | "cli";
  /** The time of the latest authentication. */
  readonly authenticatedAt: Date;
}

/** Identifies the caller from a key or a session. All methods fail with a 401 or with source_address_not_allowed. */
export interface Authenticator {
  /** @throws AppError */
  tenantKey(key: string, sourceAddress: string): Promise<Caller> | Caller;
  /** @throws AppError */
  operatorKey(key: string): Promise<Caller> | Caller;
  /** @throws AppError */
  session(token: string, sourceAddress: string): Promise<Caller>;
  /**
   * Identifies the person for whom a program acts.
   *
   * @throws AppError
   */
  accessToken(token: string): Promise<Caller>;
  /**
   * Requires that the caller's session was not ended, or that the API key is still valid.
   *
   * @throws AppError session_ended, invalid_api_key
   */
  requireValid(tx: TenantTx, caller: Caller): Promise<void>;
}

/** The console's view of its session. */
export interface SessionInfo {
  /** The key that the session represents; undefined for a person's session. */
  readonly apiKey?: { readonly id: string; readonly name: string };
  /** The person; undefined for a session that represents a key. */
  readonly user?: { readonly id: string; readonly email: string; readonly name: string; readonly isOwner: boolean };
  /** The id of a person's session. */
  readonly id?: string;
  /** The way in which the person signed in. */
  readonly method?: string;
  /** The path of sign-ins with the provider of the session; undefined for sessions without a provider. */
  readonly providerPath?: string;
  /** The time of the person's latest authentication. */
  readonly authenticatedAt?: string;
  /** The slug is the short name by which people find the sign-in. */
  readonly tenant: { readonly id: string; readonly name: string; readonly slug: string };
  readonly permissions: readonly Permission[];
  readonly createdAt: string;
  /** The latest end of the session. It ends earlier if it is idle for `idleSeconds`. */
  readonly expiresAt: string;
  readonly idleSeconds: number;
}

/** The console's sessions. */
export interface Sessions {
  /** @throws AppError */
  begin(caller: Caller, key: string): Promise<{ readonly token: string; readonly info: SessionInfo }>;
  /** @throws AppError */
  describe(token: string, sourceAddress: string): Promise<SessionInfo>;
  end(token: string): Promise<void>;
}

/** The credential of a request. */
export interface Credential {
  readonly kind: "key" | "session";
  readonly text: string;
}

/** Longer keys are rejected unread. Bootstrap keys have at most 200 characters. */
const maxKeyLength = 200;

/**
 * The key, or else the console's session. A key takes precedence over a cookie.
 *
 * @param overTls whether the page was loaded over TLS
 * @throws AppError missing_api_key, invalid_api_key, invalid_parameter
 */
export function presentedCredential(headers: IncomingHttpHeaders, overTls: boolean): Credential {
  const hasKey = headers.apikey !== undefined || bearerToken(headers.authorization) !== undefined;
  const token = hasKey ? undefined : sessionTokenOf(headers.cookie, overTls);
  if (token !== undefined) return { kind: "session", text: token };
  return { kind: "key", text: presentedKey(headers) };
}

/**
 * The key of the headers `apikey` and `Authorization: Bearer`. If both are sent, they must be equal: the server must
 * not choose between two callers.
 *
 * @throws AppError missing_api_key, invalid_api_key, invalid_parameter
 */
export function presentedKey({ apikey, authorization }: IncomingHttpHeaders): string {
  // The usual form: one key in one header.
  if (typeof apikey === "string" && apikey !== "" && authorization === undefined && !apikey.includes(", ")) {
    return requireShort(apikey);
  }
  const keys = new Set(typeof apikey === "string" && apikey !== "" ? apikey.split(", ") : apikey);
  const bearer = bearerToken(authorization);
  if (bearer !== undefined) keys.add(bearer);
  const [key] = keys;
  if (key === undefined) throw new AppError("missing_api_key");
  if (keys.size > 1) {
    throw new AppError("invalid_parameter", {
      detail: "The request has two different keys. Send one key, in the header apikey or in Authorization: Bearer.",
    });
  }
  return requireShort(key);
}

/** @throws AppError invalid_api_key */
function requireShort(key: string): string {
  if (key.length > maxKeyLength) throw new AppError("invalid_api_key");
  return key;
}

/** The token of an `Authorization: Bearer` header; undefined for none, and for other schemes. */
function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^Bearer +(\S+) *$/i.exec(header)?.[1];
}
