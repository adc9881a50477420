import { type Permission, permissions, type RoleType, rolePermissions } from "@gatehouse/contract/permissions";

/** The permissions that roles of these types grant and that are not among those held, in their documented order. */
export function permissionsBeyond(types: Iterable<RoleType>, held: ReadonlySet<Permission>): readonly Permission[] {
  const granted = new Set([...types].flatMap((type) => rolePermissions[type]));
  return permissions.filter((permission) => granted.has(permission) && !held.has(permission));
}

/** Whether nothing at all could be beyond what is held. */
export function holdsEverything(held: ReadonlySet<Permission>): boolean {
  return permissions.every((permission) => held.has(permission));
}
