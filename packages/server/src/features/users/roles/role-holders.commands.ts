import type * as operations from "@gatehouse/contract/operations/groups.operations";
import { AppError } from "../../../platform/app-error.ts";
import type { Call } from "../../../platform/call.ts";
import { embedJson } from "../../../platform/embedded-json.ts";
import { empty, type Outcome, streamed } from "../../../platform/outcome.ts";
import { readRole, refuseGrantsBeyond } from "../../roles/roles.api.ts";
import { changeLockedUser, lockUser } from "../change-user.ts";
import { touchUser } from "../users.queries.ts";
import { userView } from "../users.view.ts";
import { usersWithRole } from "./role-holders.queries.ts";
import * as roles from "./user-roles.queries.ts";

export async function listRoleUsers(call: Call<typeof operations.listRoleUsers>): Promise<Outcome> {
  const { id } = call.parameters;
  const throughGroups = call.isSet("groups");
  if ((await call.read((tx) => readRole(tx, id))) === undefined) throw new AppError("not_found");
  return streamed(async (afterId, limit) => {
    const rows = await call.read((tx) => usersWithRole(tx, id, throughGroups, afterId, limit));
    return rows.map((row) => userView(row, call.now, embedJson));
  });
}

export async function removeRoleFromUser(call: Call<typeof operations.removeRoleFromUser>): Promise<Outcome> {
  const { id, userId } = call.parameters;
  return call.command(async (tx) => {
    const row = await lockUser(tx, userId);
    const held = (await roles.rolesHeldBy(tx, userId)).find(({ role }) => role.id === id);
    if (held === undefined) throw new AppError("not_found");
    call.requireVersion(row.version);
    const { role, direct, groups } = held;
    refuseGrantsBeyond(`The role ${role.type}`, [role.type], call.permissions);
    if (role.type === "OWNER") throw new AppError("owner_role_stays", { detail: `${row.email} is the owner.` });
    if (!direct) {
      const detail = `${row.email} holds the role ${role.name} through ${(groups ?? []).join(", ")} only.`;
      throw new AppError("role_inherited", { detail });
    }
    await changeLockedUser(call, tx, row, async () => {
      await roles.removeRoles(tx, call.granted, userId, [id]);
      await touchUser(tx, call.granted, userId, call.now);
      return true;
    });
    return empty();
  });
}
