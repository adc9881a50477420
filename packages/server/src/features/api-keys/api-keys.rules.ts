import { type Permission, permissions, type RoleType, rolePermissions } from "@gatehouse/contract/permissions";
import type { ProblemField } from "@gatehouse/contract/problem";

export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly errors: readonly ProblemField[] };

/** The permissions that a request for a key asks for, in their documented order. */
export function requestedPermissions(request: {
  readonly permissions?: readonly Permission[];
  readonly role?: RoleType;
}): Result<readonly Permission[]> {
  const { permissions: listed, role } = request;
  if ((listed === undefined) === (role === undefined)) {
    return { ok: false, errors: [{ pointer: "/permissions", message: "give either permissions or role" }] };
  }
  const asked = new Set(listed ?? (role === undefined ? [] : rolePermissions[role]));
  if (asked.size === 0) {
    return { ok: false, errors: [{ pointer: "/role", message: `the role ${role} grants no permission` }] };
  }
  return { ok: true, value: permissions.filter((permission) => asked.has(permission)) };
}

/** What a key would grant beyond what its maker holds. */
export function grantsBeyond(asked: readonly Permission[], held: ReadonlySet<Permission>): readonly Permission[] {
  return asked.filter((permission) => !held.has(permission));
}

/** A key that is to expire must do so in the future. */
export function expiryProblem(expiresAt: string | undefined, now: Date): ProblemField | undefined {
  return expiresAt !== undefined && Date.parse(expiresAt) <= now.getTime()
    ? { pointer: "/expiresAt", message: `${expiresAt} is not in the future` }
    : undefined;
}
