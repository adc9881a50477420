/** Who is calling: from the `apikey` header to an actor with permissions. */
import type { Permission } from "@gatehouse/contract/permissions";
import { AppError } from "../platform/app-error.ts";
import type { Actor } from "../platform/audit/change.ts";
import type { KeyLimits } from "../platform/call.ts";

/** A caller who proved who they are. */
export interface Caller {
  readonly actor: Actor;
  readonly permissions: ReadonlySet<Permission>;
  /** Undefined for the operator, whom nothing limits. */
  readonly limits: KeyLimits | undefined;
  /** Undefined for the operator. */
  readonly tenantId: string | undefined;
}

/** Finds out who presents a key. Both fail with invalid_api_key or source_address_not_allowed. */
export interface Authenticator {
  /** @throws AppError */
  tenantKey(key: string, sourceAddress: string): Promise<Caller> | Caller;
  /** @throws AppError */
  operatorKey(key: string): Promise<Caller> | Caller;
}

/** Longest key that is looked at: bootstrap keys have 200 characters at most. */
const maximumKeyLength = 200;

/**
 * @param header the `apikey` header as received
 * @throws AppError missing_api_key, invalid_api_key
 */
export function presentedKey(header: string | readonly string[] | undefined): string {
  if (header === undefined || header === "") throw new AppError("missing_api_key");
  if (typeof header !== "string" || header.length > maximumKeyLength) throw new AppError("invalid_api_key");
  return header;
}
