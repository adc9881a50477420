/**
 * An enrolment link grants at most the permissions that its creator holds when it is used
 * (docs/decisions/0258-worth-of-enrolment-links.md).
 */
import type { Permission } from "@gatehouse/contract/permissions";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { permissionsOfKey } from "../api-keys/api-keys.api.ts";
import { permissionsOf, readSignedInUser, type SignedInUser } from "../sessions/sessions.api.ts";
import type { EnrolmentLinkRow } from "./enrolment-links.queries.ts";

type Creator = Pick<EnrolmentLinkRow, "created_by_type" | "created_by_id">;

/** Whether the user holds a permission that the creator of the user's link does not hold. */
export async function isOutgrown(
  tx: TenantTx,
  creator: Creator,
  user: Pick<SignedInUser, "id" | "roles">,
  now: Date,
): Promise<boolean> {
  const { created_by_type: type, created_by_id: id } = creator;
  // The system creates the link of the first owner.
  if (type === "system" || (type === "user" && id === user.id)) return false;
  const needed = permissionsOf(user.roles);
  const held = await permissionsOfCreator(tx, creator, now);
  return [...needed].some((permission) => !held.has(permission));
}

/** The current permissions of a creator. None if the creator is unknown, deleted, deactivated or expired. */
async function permissionsOfCreator(
  tx: TenantTx,
  { created_by_type: type, created_by_id: id }: Creator,
  now: Date,
): Promise<ReadonlySet<Permission>> {
  if (id === null) return new Set();
  if (type === "api-key") return permissionsOfKey(tx, id, now);
  const user = type === "user" ? await readSignedInUser(tx, id) : undefined;
  return user?.status === "active" ? permissionsOf(user.roles) : new Set();
}
