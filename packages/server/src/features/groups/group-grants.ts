/** A membership grants the roles of the group. To add or remove members, the caller must hold their permissions. */
import type { Permission } from "@gatehouse/contract/permissions";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { holdsEverything, refuseGrantsBeyond } from "../roles/roles.api.ts";
import { roleTypesOfGroups } from "./groups.queries.ts";

/**
 * @param held the caller's permissions
 * @throws AppError grants_exceed_caller
 */
export async function refuseGroupsBeyond(
  tx: TenantTx,
  groupIds: readonly string[],
  held: ReadonlySet<Permission>,
): Promise<void> {
  if (groupIds.length === 0 || holdsEverything(held)) return;
  for (const { name, types } of await roleTypesOfGroups(tx, groupIds)) {
    refuseGrantsBeyond(`Membership in the group ${name}`, types, held);
  }
}
