/** What becomes of users when a group that they are in is deleted. */
import { AppError } from "../../platform/app-error.ts";
import type { CommandTx } from "../../platform/tenancy/tenant-tx.ts";
import * as queries from "./user-groups.queries.ts";

/** Users whom one sentence names. */
const namedUsers = 5;

/**
 * Makes sure that every member of a group that is about to be deleted has another one, and records who leaves it. The
 * memberships go with the group. Users keep their versions: no command was given on them.
 *
 * An entry has only what left, since a group may have thousands of members: `{id, email, group}`, then `{id, email}`.
 *
 * @param group is locked, so that nobody joins it
 * @throws AppError last_group
 */
export async function takeMembersOutOfGroup(
  tx: CommandTx,
  group: { readonly id: string; readonly name: string },
): Promise<void> {
  const members = await queries.lockMembersOf(tx, group.id);
  const alone = members.filter((member) => member.alone);
  if (alone.length > 0) {
    const named = alone.slice(0, namedUsers).map(({ email }) => email);
    if (alone.length > namedUsers) named.push("…");
    throw new AppError("last_group", {
      detail: `${group.name} is the only group of ${named.join(", ")}.`,
      errors: alone.map(({ id, email }) => ({ pointer: `/tenants/users/${id}`, message: email })),
    });
  }
  for (const { id, email } of members) {
    tx.record({ type: "user", id, name: email, before: { id, email, group }, after: { id, email } });
  }
}
