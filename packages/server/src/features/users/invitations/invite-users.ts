/** Invites any number of users, all or none, with few statements. */
import type { Permission } from "@gatehouse/contract/permissions";
import type { ProblemField } from "@gatehouse/contract/problem";
import { AppError, bodyField } from "../../../platform/app-error.ts";
import type { Granted } from "../../../platform/authorization/granted.ts";
import { fitOneChunk } from "../../../platform/db/in-chunks.ts";
import { resultAfter } from "../../../platform/db/result-after.ts";
import { newId } from "../../../platform/ids.ts";
import type { CommandTx } from "../../../platform/tenancy/tenant-tx.ts";
import { defaultGroupId, lockGroupsToJoin, refuseGroupsBeyond } from "../../groups/groups.api.ts";
import { canonicalIds } from "../../references/references.api.ts";
import { requireAssignable } from "../../roles/roles.api.ts";
import * as queries from "../users.queries.ts";

export interface Invitation {
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  /** Empty for the tenant's default group. */
  readonly groupIds: readonly string[];
  readonly roleIds: readonly string[];
  readonly attributes: queries.WholeUserRow["attributes"];
  /** Whether to send the user a mail. */
  readonly notify?: boolean;
  /** JSON Pointer of the invitation in the body. */
  readonly pointer: string;
}

interface InvitingCall {
  readonly granted: Granted<"users:write">;
  /** All permissions of the caller. */
  readonly permissions: ReadonlySet<Permission>;
  readonly now: Date;
}

/** The number of fields that one error lists at most. */
const reportedFields = 50;

/**
 * @returns the users in the order of the invitations
 *
 * @throws AppError unknown_reference, grants_exceed_caller, role_not_assignable, email_taken, listing each field
 */
export async function inviteUsers(
  tx: CommandTx,
  call: InvitingCall,
  invitations: readonly Invitation[],
): Promise<queries.WholeUserRow[]> {
  const [known, defaultGroup] = await Promise.all([
    lockGroupsToJoin(tx, canonicalIds(invitations.flatMap(({ groupIds }) => groupIds))),
    defaultGroupId(tx),
  ]);
  requireGroups(invitations, known);
  const asked = invitations.map(({ roleIds, pointer }) => ({
    pointer: `${pointer}/roles`,
    ids: roleIds,
    present: new Set<string>(),
  }));
  await requireAssignable(tx, asked, call.permissions);
  const users = invitations.map(({ email, firstName, lastName, groupIds, roleIds, attributes }) => ({
    id: newId(),
    email,
    firstName,
    lastName,
    maxDevices: null,
    attributes,
    groupIds: groupIds.length === 0 ? [defaultGroup] : canonicalIds(groupIds),
    roleIds: canonicalIds(roleIds),
  }));
  await refuseGroupsBeyond(tx, [...new Set(users.flatMap((user) => user.groupIds))], call.permissions);
  // All are sent at once, with the queries for the effect. These must see the users of all statements.
  const stores = queries.insertUsers(tx, call.granted, users, call.now);
  if (!fitOneChunk(users)) await stores;
  const reads = queries.readNewUsers(tx, users);
  // A mail needs an enrolment link, which the command records too.
  if (!invitations.some(({ notify }) => notify)) tx.announce(users.map(({ id }) => ({ type: "user", id })));
  const rows = await resultAfter(stores, reads);
  const inserted = await stores;
  const taken = invitations.filter((_invitation, index) => !inserted.has(users[index]?.id ?? ""));
  if (taken.length > 0) throw emailsTaken(taken);
  return rows;
}

function emailsTaken(invitations: readonly Invitation[]): AppError {
  const listed = invitations.slice(0, reportedFields);
  return new AppError("email_taken", {
    detail: `These addresses belong to users of the tenant, or are listed twice: ${listed.map(({ email }) => email).join(", ")}.`,
    errors: listed.map(({ pointer }) => bodyField(`${pointer}/email`, "is taken")),
  });
}

function requireGroups(invitations: readonly Invitation[], known: ReadonlySet<string>): void {
  const unknown: ProblemField[] = invitations.flatMap(({ groupIds, pointer }) =>
    groupIds.flatMap((id, index) =>
      known.has(id.toLowerCase())
        ? []
        : [bodyField(`${pointer}/groups/${index}`, `no group has the id ${JSON.stringify(id)}`)],
    ),
  );
  if (unknown.length > 0) throw new AppError("unknown_reference", { errors: unknown.slice(0, reportedFields) });
}
