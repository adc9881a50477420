/** The roles of a group grant permissions to its members. Callers give and take only permissions that they hold. */
import type { Permission, RoleType } from "@gatehouse/contract/permissions";
import { changedItems } from "../../platform/changed-items.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { holdsEverything, refuseGrantsBeyond } from "../roles/roles.api.ts";
import { roleTypesOfGroups } from "./groups.queries.ts";

/**
 * Refuses to add or remove members of a group with roles that exceed the caller.
 *
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

/** The settings of a group that decide which permissions it grants, and to whom. */
export interface GroupGrants {
  readonly name: string;
  readonly roles: readonly RoleType[];
  readonly isSamlDefaultGroup: boolean;
  readonly idpMapping: readonly string[];
}

/**
 * Refuses a change of a group that gives or takes permissions that the caller lacks. Single sign-on adds and removes
 * members by the mapping of the group, and adds new users to the SAML default group. A group without members is treated
 * like any other (docs/decisions/0245-roles-of-groups.md).
 *
 * @param before undefined for a new group
 *
 * @param after undefined for a deleted group
 *
 * @param held the caller's permissions
 * @throws AppError grants_exceed_caller
 */
export function refuseGroupChangeBeyond(
  before: GroupGrants | undefined,
  after: GroupGrants | undefined,
  held: ReadonlySet<Permission>,
): void {
  for (const role of changedItems(before?.roles ?? [], after?.roles ?? [])) {
    refuseGrantsBeyond(`The role ${role}`, [role], held);
  }
  if (before === undefined || after === undefined) return;
  const marks = after.isSamlDefaultGroup && !before.isSamlDefaultGroup;
  const maps = changedItems(before.idpMapping, after.idpMapping).length > 0;
  if (marks || maps) refuseGrantsBeyond(`Membership in the group ${before.name}`, after.roles, held);
}
