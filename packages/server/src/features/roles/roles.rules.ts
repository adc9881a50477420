import { type Permission, permissions, type RoleType, rolePermissions } from "@gatehouse/contract/permissions";

/** The permissions of these role types that are not held, in their documented order. */
export function permissionsBeyond(types: Iterable<RoleType>, held: ReadonlySet<Permission>): readonly Permission[] {
  const granted = new Set([...types].flatMap((type) => rolePermissions[type]));
  return permissions.filter((permission) => granted.has(permission) && !held.has(permission));
}

/** Whether all permissions are held, so that no grant can exceed them. */
export function holdsEverything(held: ReadonlySet<Permission>): boolean {
  return permissions.every((permission) => held.has(permission));
}
