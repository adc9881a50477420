import { AppError } from "../../../platform/app-error.ts";
import type { NamedRecord } from "../../../platform/record-references.ts";
import type { CommandTx } from "../../../platform/tenancy/tenant-tx.ts";
import type { ReferenceHolder } from "../../references/references.api.ts";
import * as queries from "./user-groups.queries.ts";

/** The number of users that one error detail lists. */
const listedUsers = 5;

/** References that users hold: memberships disappear with their group. */
export const membershipReferences: ReferenceHolder = {
  group: { remove: (tx, _granted, group) => removeMembers(tx, group) },
};

/**
 * Requires that every member of a group that is about to be deleted has another group, and records who leaves the
 * group. The database deletes the memberships together with the group. The users keep their versions, because no
 * command addressed them.
 *
 * An audit entry holds only the removed group, `{id, email, group}` before and `{id, email}` after, because a group may
 * have thousands of members.
 *
 * @param group locked, so that nobody joins it
 * @throws AppError last_group
 */
async function removeMembers(tx: CommandTx, group: NamedRecord): Promise<void> {
  const members = await queries.lockMembersOf(tx, group.id);
  const alone = members.filter((member) => member.alone);
  if (alone.length > 0) {
    const listed = alone.slice(0, listedUsers).map(({ email }) => email);
    if (alone.length > listedUsers) listed.push("…");
    throw new AppError("last_group", {
      detail: `${group.name} is the only group of ${listed.join(", ")}. Add these users to another group first.`,
      errors: alone.map(({ id, email }) => ({ pointer: `/tenants/users/${id}`, message: email })),
    });
  }
  for (const { id, email } of members) {
    tx.record({ type: "user", id, name: email, before: { id, email, group }, after: { id, email } });
  }
}
