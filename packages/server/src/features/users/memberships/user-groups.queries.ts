/** The groups of users. */
import type { Granted } from "../../../platform/authorization/granted.ts";
import { statement } from "../../../platform/db/statement.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { lockMembers } from "../../groups/groups.api.ts";

/** A member of a group. */
export interface Member {
  readonly id: string;
  readonly email: string;
  /** Whether the user is in no other group. */
  readonly alone: boolean;
}

const selectGroupIds = statement<{ id: string }, [tenantId: string, userId: string]>(
  "users.group_ids",
  "SELECT group_id AS id FROM group_members WHERE tenant_id = $1 AND user_id = $2",
);
const insert = statement<never, [tenantId: string, userId: string, groupIds: readonly string[]]>(
  "users.join_groups",
  `INSERT INTO group_members (tenant_id, user_id, group_id)
   SELECT $1, $2, group_id FROM unnest($3::uuid[]) AS joined (group_id)`,
);
const remove = statement<never, [tenantId: string, userId: string, groupIds: readonly string[]]>(
  "users.leave_groups",
  "DELETE FROM group_members WHERE tenant_id = $1 AND user_id = $2 AND group_id = ANY ($3::uuid[])",
);
const selectMembers = statement<Member, [tenantId: string, groupId: string]>(
  "users.members",
  `SELECT member.id, member.email, NOT EXISTS (
     SELECT FROM group_members AS other
     WHERE other.tenant_id = $1 AND other.user_id = joined.user_id AND other.group_id <> $2
   ) AS alone
   FROM group_members AS joined
   JOIN users AS member ON member.tenant_id = joined.tenant_id AND member.id = joined.user_id
   WHERE joined.tenant_id = $1 AND joined.group_id = $2 ORDER BY member.email_key`,
);

/** The ids of the user's groups. */
export async function groupIdsOf(tx: TenantTx, userId: string): Promise<ReadonlySet<string>> {
  return new Set((await tx.query(selectGroupIds, tx.tenantId, userId)).map(({ id }) => id));
}

/** Adds the user to groups that the user is not in. */
export async function joinGroups(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  userId: string,
  groupIds: readonly string[],
): Promise<void> {
  if (groupIds.length > 0) await tx.query(insert, tx.tenantId, userId, groupIds);
}

export async function leaveGroups(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  userId: string,
  groupIds: readonly string[],
): Promise<void> {
  if (groupIds.length > 0) await tx.query(remove, tx.tenantId, userId, groupIds);
}

/**
 * The group's members, ordered by address. None of them can join or leave a group before the transaction ends. The
 * group must be locked, so that nobody joins it.
 *
 * Members are locked in order of id and read afterwards, so that users who left while this waited are not listed.
 */
export async function lockMembersOf(tx: TenantTx, groupId: string): Promise<Member[]> {
  const [, members] = await Promise.all([lockMembers(tx, groupId), tx.query(selectMembers, tx.tenantId, groupId)]);
  return members;
}
