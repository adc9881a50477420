import type { HeldRole } from "./user-roles.queries.ts";

type Held = Pick<HeldRole, "direct" | "groups">;

export interface RoleFlags {
  readonly groupsOnly: boolean;
  readonly rolesOnly: boolean;
}

/** The roles to show. Each flag excludes roles, and both together exclude the union. */
export function rolesShown<R extends Held>(held: readonly R[], { groupsOnly, rolesOnly }: RoleFlags): readonly R[] {
  return held.filter(({ direct, groups }) => (!groupsOnly || groups !== null) && (!rolesOnly || direct));
}

/** The indices of removed roles that are also added. */
export function addedAndRemoved(added: readonly string[], removed: readonly string[]): readonly number[] {
  return removed.flatMap((id, index) => (added.includes(id) ? [index] : []));
}

/** The removed roles that the user would keep, because groups give them. */
export function inheritedOnly(
  held: readonly HeldRole[],
  removed: readonly string[],
): readonly { readonly index: number; readonly groups: readonly string[] }[] {
  return removed.flatMap((id, index) => {
    const found = held.find(({ role }) => role.id === id);
    return found === undefined || found.direct ? [] : [{ index, groups: found.groups ?? [] }];
  });
}
