import type { HeldRole } from "./user-roles.queries.ts";

type Held = Pick<HeldRole, "direct" | "groups">;

export interface RoleFlags {
  readonly groupsOnly: boolean;
  readonly rolesOnly: boolean;
}

/** Each flag leaves roles out, as filters do, and both together leave out what either does. */
export function rolesShown<R extends Held>(held: readonly R[], { groupsOnly, rolesOnly }: RoleFlags): readonly R[] {
  return held.filter(({ direct, groups }) => (!groupsOnly || groups !== null) && (!rolesOnly || direct));
}

/** The indices of those roles that are to be taken off and given at once. */
export function namedTwice(added: readonly string[], removed: readonly string[]): readonly number[] {
  return removed.flatMap((id, index) => (added.includes(id) ? [index] : []));
}

/** Those of the roles to take off that the user would keep, since they come from groups alone. */
export function inheritedOnly(
  held: readonly HeldRole[],
  removed: readonly string[],
): readonly { readonly index: number; readonly groups: readonly string[] }[] {
  return removed.flatMap((id, index) => {
    const found = held.find(({ role }) => role.id === id);
    return found === undefined || found.direct ? [] : [{ index, groups: found.groups ?? [] }];
  });
}
