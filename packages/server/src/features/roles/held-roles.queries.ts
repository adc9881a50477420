/** SQL for the roles that users hold. */

export const heldDirectly = (user: string) =>
  `EXISTS (SELECT FROM user_roles AS given
           WHERE given.tenant_id = ${user}.tenant_id AND given.user_id = ${user}.id AND given.role_id = role.id)`;

/** SQL for the groups that give a user a role: FROM and WHERE of a query. The row of the group is `giver`. */
export const giversOf = (user: string) =>
  `FROM group_members AS joined
   JOIN group_roles AS given ON given.tenant_id = joined.tenant_id AND given.group_id = joined.group_id
   JOIN groups AS giver ON giver.tenant_id = joined.tenant_id AND giver.id = joined.group_id
   WHERE joined.tenant_id = ${user}.tenant_id AND joined.user_id = ${user}.id AND given.role_id = role.id`;

/**
 * SQL for the condition that a user holds a role, directly or through a group. The row of `roles` is named `role`.
 *
 * @param user the name of the row of `users`
 */
export function roleHeldBy(user: string): string {
  return `(${heldDirectly(user)} OR EXISTS (SELECT ${giversOf(user)}))`;
}
