/** Memberships that follow the groups of an identity provider (docs/decisions/0110-groups-of-providers.md). */
import { maxGroupsOfUser } from "@gatehouse/contract/records/user";
import { AppError } from "../../../platform/app-error.ts";
import type { Granted } from "../../../platform/authorization/granted.ts";
import type { CommandTx } from "../../../platform/tenancy/tenant-tx.ts";
import { defaultGroupId } from "../../groups/groups.api.ts";
import { changeLockedUser, lockUser } from "../change-user.ts";
import { touchUser } from "../users.queries.ts";
import * as mapped from "./mapped-groups.queries.ts";
import * as queries from "./user-groups.queries.ts";

/**
 * Adds the user to the groups, and ends the memberships that the provider gave earlier and no longer gives. Direct
 * memberships, and those of other providers, remain.
 *
 * @throws AppError group_limit_reached
 */
export async function applyMappedGroups(
  tx: CommandTx,
  granted: Granted<"users:write">,
  { userId, providerId, groupIds }: mapped.MappedGroups,
  now: Date,
): Promise<void> {
  const row = await lockUser(tx, userId);
  const present = await queries.groupIdsOf(tx, userId);
  const held = await mapped.readMappedMemberships(tx, userId);
  const own = new Set(held.filter((each) => each.providerId === providerId).map((each) => each.groupId));
  const others = new Set(held.filter((each) => each.providerId !== providerId).map((each) => each.groupId));
  const wanted = new Set(groupIds);
  const joined = groupIds.filter((id) => !present.has(id));
  const released = [...own].filter((id) => !wanted.has(id));
  const left = released.filter((id) => !others.has(id));
  // A direct membership is nobody else's to hold.
  const gained = groupIds.filter((id) => !own.has(id) && (!present.has(id) || others.has(id)));
  if (gained.length + released.length === 0) return;
  const count = present.size + joined.length - left.length;
  if (count > maxGroupsOfUser) throw new AppError("group_limit_reached");
  // A user is always in a group.
  const fallback = count === 0 ? [await defaultGroupId(tx)] : [];
  const stays = new Set(fallback);
  await changeLockedUser({ now, requireVersion: () => undefined }, tx, row, async () => {
    await mapped.releaseMappedMemberships(tx, granted, { userId, providerId, groupIds: released });
    const leaves = left.filter((id) => !stays.has(id));
    const joins = [...joined, ...fallback.filter((id) => !present.has(id))];
    await queries.leaveGroups(tx, granted, userId, leaves);
    await queries.joinGroups(tx, granted, userId, joins);
    await mapped.holdMappedMemberships(tx, granted, { userId, providerId, groupIds: gained });
    if (leaves.length + joins.length === 0) return false;
    await touchUser(tx, granted, userId, now);
    return true;
  });
}
