/** Authorization of what people may do for themselves, and others only with a permission. */
import type { Permission } from "@gatehouse/contract/permissions";
import { AppError } from "../../platform/app-error.ts";
import { authorize } from "../../platform/authorization/granted.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { permissionsOf } from "./people-sessions.ts";
import { readSignedInUser, type SignedInUser } from "./signed-in-user.queries.ts";

/** The caller of an operation. */
interface ActingCaller {
  readonly session: { readonly userId: string } | undefined;
  readonly permissions: ReadonlySet<Permission>;
}

/** @throws AppError permission_denied for another user's records without the permission */
export function requireOwnOr(caller: ActingCaller, userId: string | undefined, permission: Permission): void {
  if (caller.session === undefined || caller.session.userId !== userId) authorize(caller.permissions, permission);
}

/**
 * Reads the user whose account, sessions or sign-in methods the caller changes. The caller must hold every permission
 * of the user (docs/decisions/0222-callers-and-more-privileged-users.md).
 *
 * @param userId the id of a locked user, who gains no role before the transaction ends
 * @throws AppError not_found, grants_exceed_caller
 */
export async function requireNoMorePrivileged(
  tx: TenantTx,
  { session, permissions }: ActingCaller,
  userId: string,
): Promise<SignedInUser> {
  const user = await readSignedInUser(tx, userId);
  if (user === undefined) throw new AppError("not_found");
  const beyond = [...permissionsOf(user.roles)].filter((permission) => !permissions.has(permission));
  if (session?.userId !== user.id && beyond.length > 0) {
    throw new AppError("grants_exceed_caller", {
      detail: `${user.email} holds permissions that the caller does not hold: ${beyond.join(", ")}.`,
    });
  }
  return user;
}
