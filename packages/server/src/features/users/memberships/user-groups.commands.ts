import type * as operations from "@gatehouse/contract/operations/users.operations";
import { maxGroupsOfUser } from "@gatehouse/contract/records/user";
import { AppError, bodyField } from "../../../platform/app-error.ts";
import type { Call } from "../../../platform/call.ts";
import { empty, type Outcome, record } from "../../../platform/outcome.ts";
import { lockGroupsToJoin, refuseGroupsBeyond } from "../../groups/groups.api.ts";
import { canonicalIds, missingIds, refuseMissing } from "../../references/references.api.ts";
import { changeLockedUser, changeUser, lockUser } from "../change-user.ts";
import { touchUser } from "../users.queries.ts";
import * as queries from "./user-groups.queries.ts";

export async function addUserToGroup(call: Call<typeof operations.addUserToGroup>): Promise<Outcome> {
  const groupId = call.body.groupId.toLowerCase();
  return call.command(async (tx) => {
    // Lock the group before the user: deleting a group locks in this order.
    const known = await lockGroupsToJoin(tx, [groupId]);
    const { view, version } = await changeUser(call, tx, call.parameters.id, async ({ id }) => {
      if (!known.has(groupId)) {
        const errors = [bodyField("/groupId", `no group has the id ${JSON.stringify(call.body.groupId)}`)];
        throw new AppError("unknown_reference", { errors });
      }
      const groups = await queries.groupIdsOf(tx, id);
      if (groups.has(groupId)) return false;
      if (groups.size >= maxGroupsOfUser) throw new AppError("group_limit_reached");
      await refuseGroupsBeyond(tx, [groupId], call.permissions);
      await queries.joinGroups(tx, call.granted, id, [groupId]);
      await touchUser(tx, call.granted, id, call.now);
      return true;
    });
    return record(view, version);
  });
}

export async function updateUserGroups(call: Call<typeof operations.updateUserGroups>): Promise<Outcome> {
  const { addedGroups = [], removedGroups = [] } = call.body;
  const [added, removed] = [canonicalIds(addedGroups), canonicalIds(removedGroups)];
  return call.command(async (tx) => {
    // Lock the groups before the user: deleting a group locks in this order.
    const known = await lockGroupsToJoin(tx, [...new Set([...added, ...removed])]);
    const { view, version } = await changeUser(call, tx, call.parameters.id, async ({ id, email }) => {
      refuseMissing([
        ...missingIds({ pointer: "/addedGroups", noun: "group", ids: addedGroups }, known),
        ...missingIds({ pointer: "/removedGroups", noun: "group", ids: removedGroups }, known),
      ]);
      const twice = removedGroups.flatMap((group, index) =>
        added.includes(group.toLowerCase()) ? [bodyField(`/removedGroups/${index}`, "is also in addedGroups")] : [],
      );
      if (twice.length > 0) throw new AppError("invalid_combination", { errors: twice });
      const groups = await queries.groupIdsOf(tx, id);
      const joined = added.filter((group) => !groups.has(group));
      const left = removed.filter((group) => groups.has(group));
      if (joined.length + left.length === 0) return false;
      const count = groups.size + joined.length - left.length;
      if (count > maxGroupsOfUser) throw new AppError("group_limit_reached");
      if (count === 0) {
        throw new AppError("last_group", { detail: `${email} is in no other group. Add a group to addedGroups.` });
      }
      await refuseGroupsBeyond(tx, [...joined, ...left], call.permissions);
      await queries.joinGroups(tx, call.granted, id, joined);
      await queries.leaveGroups(tx, call.granted, id, left);
      await touchUser(tx, call.granted, id, call.now);
      return true;
    });
    return record(view, version);
  });
}

export async function removeUserFromGroup(call: Call<typeof operations.removeUserFromGroup>): Promise<Outcome> {
  const { id, groupId } = call.parameters;
  return call.command(async (tx) => {
    const row = await lockUser(tx, id);
    const groups = await queries.groupIdsOf(tx, id);
    if (!groups.has(groupId)) throw new AppError("not_found");
    call.requireVersion(row.version);
    await refuseGroupsBeyond(tx, [groupId], call.permissions);
    if (groups.size === 1)
      throw new AppError("last_group", {
        detail: `${row.email} has no other group. Add the user to another group first.`,
      });
    await changeLockedUser(call, tx, row, async () => {
      await queries.leaveGroups(tx, call.granted, id, [groupId]);
      await touchUser(tx, call.granted, id, call.now);
      return true;
    });
    return empty();
  });
}
