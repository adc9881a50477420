import type { Permission } from "@gatehouse/contract/permissions";
import { AppError } from "../app-error.ts";

declare const proof: unique symbol;

/**
 * Proof that the caller holds a permission. Queries that change something take one, so that code which never asked for
 * permission does not compile. Only `authorize` makes them.
 */
export interface Granted<P extends Permission> {
  readonly [proof]: P;
}

/**
 * @throws AppError permission_denied, naming the permission that is missing
 */
export function authorize<P extends Permission>(held: ReadonlySet<Permission>, permission: P): Granted<P> {
  if (!held.has(permission)) {
    throw new AppError("permission_denied", { detail: `The key does not hold the permission ${permission}.` });
  }
  // The proof is the type alone; there is nothing to carry at run time.
  return granted as Granted<P>;
}

/** For what Gatehouse itself does without a caller: making a tenant's built-in records. */
export function grantedToSystem<P extends Permission>(): Granted<P> {
  return granted as Granted<P>; // as in authorize
}

const granted: unknown = Object.freeze({});
