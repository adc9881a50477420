/** Which groups users are in. */
import type { Granted } from "../../platform/authorization/granted.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

/** A user as errors and audit entries name one. */
export interface NamedUser {
  readonly id: string;
  readonly email: string;
}

const selectGroupIds = statement<{ id: string }, [tenantId: string, userId: string]>(
  "users.group_ids",
  "SELECT group_id AS id FROM group_members WHERE tenant_id = $1 AND user_id = $2",
);
const insert = statement<never, [tenantId: string, userId: string, groupId: string]>(
  "users.join_group",
  "INSERT INTO group_members (tenant_id, user_id, group_id) VALUES ($1, $2, $3)",
);
const remove = statement<never, [tenantId: string, userId: string, groupId: string]>(
  "users.leave_group",
  "DELETE FROM group_members WHERE tenant_id = $1 AND user_id = $2 AND group_id = $3",
);
const lockMembers = statement<NamedUser, [tenantId: string, groupId: string]>(
  "users.lock_members",
  `SELECT member.id, member.email
   FROM group_members AS joined JOIN users AS member ON member.tenant_id = joined.tenant_id AND member.id = joined.user_id
   WHERE joined.tenant_id = $1 AND joined.group_id = $2 ORDER BY member.id FOR NO KEY UPDATE OF member`,
);
const selectMembersOfThisAlone = statement<NamedUser, [tenantId: string, groupId: string]>(
  "users.members_of_one_group",
  `SELECT member.id, member.email
   FROM group_members AS joined JOIN users AS member ON member.tenant_id = joined.tenant_id AND member.id = joined.user_id
   WHERE joined.tenant_id = $1 AND joined.group_id = $2 AND NOT EXISTS (
     SELECT FROM group_members AS other
     WHERE other.tenant_id = $1 AND other.user_id = joined.user_id AND other.group_id <> $2
   )
   ORDER BY member.email_key LIMIT 50`,
);

/** The ids of the user's groups. */
export async function groupIdsOf(tx: TenantTx, userId: string): Promise<ReadonlySet<string>> {
  return new Set((await tx.query(selectGroupIds, tx.tenantId, userId)).map(({ id }) => id));
}

export async function joinGroup(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  userId: string,
  groupId: string,
): Promise<void> {
  await tx.query(insert, tx.tenantId, userId, groupId);
}

export async function leaveGroup(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  userId: string,
  groupId: string,
): Promise<void> {
  await tx.query(remove, tx.tenantId, userId, groupId);
}

/**
 * The group's members, in order of id, and so locked; the group is locked before. None of them can join or leave a group
 * before the transaction ends.
 */
export function lockMembersOf(tx: TenantTx, groupId: string): Promise<NamedUser[]> {
  return tx.query(lockMembers, tx.tenantId, groupId);
}

/** Members who are in no other group, the first 50 by address. */
export function membersOfThisAlone(tx: TenantTx, groupId: string): Promise<NamedUser[]> {
  return tx.query(selectMembersOfThisAlone, tx.tenantId, groupId);
}
