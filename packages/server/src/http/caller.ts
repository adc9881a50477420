/** Who is calling: from the `apikey` header, or the console's cookie, to an actor with permissions. */
import type { IncomingHttpHeaders } from "node:http";
import type { Permission } from "@gatehouse/contract/permissions";
import { AppError } from "../platform/app-error.ts";
import type { KeyLimits } from "../platform/call.ts";
import type { Actor } from "../platform/change.ts";
import { sessionTokenOf } from "./session-cookie.ts";

/** A caller who proved who they are. */
export interface Caller {
  readonly actor: Actor;
  readonly permissions: ReadonlySet<Permission>;
  /** Undefined for the operator, whom nothing limits. */
  readonly limits: KeyLimits | undefined;
  /** Undefined for the operator. */
  readonly tenantId: string | undefined;
}

/** Finds out who presents a key or a session. All fail with a 401, or with source_address_not_allowed. */
export interface Authenticator {
  /** @throws AppError */
  tenantKey(key: string, sourceAddress: string): Promise<Caller> | Caller;
  /** @throws AppError */
  operatorKey(key: string): Promise<Caller> | Caller;
  /** @throws AppError */
  session(token: string, sourceAddress: string): Promise<Caller>;
}

/** What the console is told of its session. */
export interface SessionInfo {
  readonly apiKey: { readonly id: string; readonly name: string };
  readonly tenant: { readonly id: string; readonly name: string };
  readonly permissions: readonly Permission[];
  readonly createdAt: string;
  /** At the latest; it ends sooner when it is not used for `idleSeconds`. */
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

/** What a request proves by who calls. */
export interface Credential {
  readonly kind: "key" | "session";
  readonly text: string;
}

/** Longest key that is looked at: bootstrap keys have 200 characters at most. */
const maximumKeyLength = 200;

/**
 * The key, or else the console's session: who sends a key means the key, also where a cookie goes along.
 *
 * @throws AppError missing_api_key, invalid_api_key
 */
export function presentedCredential(headers: IncomingHttpHeaders): Credential {
  const token = headers.apikey === undefined ? sessionTokenOf(headers.cookie) : undefined;
  if (token !== undefined) return { kind: "session", text: token };
  return { kind: "key", text: presentedKey(headers.apikey) };
}

/**
 * @param header the `apikey` header as received
 * @throws AppError missing_api_key, invalid_api_key
 */
export function presentedKey(header: string | readonly string[] | undefined): string {
  if (header === undefined || header === "") throw new AppError("missing_api_key");
  if (typeof header !== "string" || header.length > maximumKeyLength) throw new AppError("invalid_api_key");
  return header;
}
