import type { Permission } from "@gatehouse/contract/permissions";
import { AppError } from "../app-error.ts";

declare const proof: unique symbol;

/**
 * Proof that the caller holds a permission. Write queries require one, so that code without authorization does not
 * compile. Only `authorize` creates proofs.
 */
export interface Granted<P extends Permission> {
  readonly [proof]: P;
}

/** The permissions of a person, which follow from the person's roles. Others are permissions of keys. */
export class RolePermissions extends Set<Permission> {}

/** @throws AppError permission_denied with the missing permission */
export function authorize<P extends Permission>(held: ReadonlySet<Permission>, permission: P): Granted<P> {
  if (!held.has(permission)) {
    const detail =
      held instanceof RolePermissions
        ? `Your roles do not include the permission ${permission}. Ask an administrator for a role that includes it.`
        : `The API key lacks the permission ${permission}. Use a key that holds it.`;
    throw new AppError("permission_denied", { detail });
  }
  // The proof exists only as a type and has no value at run time.
  return granted as Granted<P>;
}

/** The proof for Gatehouse's own actions without a caller, such as creating a tenant's built-in records. */
export function grantedToSystem<P extends Permission>(): Granted<P> {
  return granted as Granted<P>; // as in authorize
}

const granted: unknown = Object.freeze({});
