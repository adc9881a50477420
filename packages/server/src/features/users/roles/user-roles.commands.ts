import type * as operations from "@gatehouse/contract/operations/users.operations";
import { AppError, bodyField } from "../../../platform/app-error.ts";
import type { Call } from "../../../platform/call.ts";
import { empty, type Outcome, wholeArray } from "../../../platform/outcome.ts";
import { requireAssignable, rolesView } from "../../roles/roles.api.ts";
import { changeUser } from "../change-user.ts";
import { readUser, touchUser } from "../users.queries.ts";
import * as queries from "./user-roles.queries.ts";
import { addedAndRemoved, inheritedOnly, rolesShown } from "./user-roles.rules.ts";

export async function listUserRoles(call: Call<typeof operations.listUserRoles>): Promise<Outcome> {
  const { id } = call.parameters;
  const [user, held] = await call.read((tx) => Promise.all([readUser(tx, id), queries.rolesHeldBy(tx, id)]));
  if (user === undefined) throw new AppError("not_found");
  const shown = rolesShown(held, { groupsOnly: call.isSet("groupsOnly"), rolesOnly: call.isSet("rolesOnly") });
  // A tenant has one role per role type.
  return wholeArray(rolesView(shown.map(({ role }) => role)));
}

export async function updateUserRoles(call: Call<typeof operations.updateUserRoles>): Promise<Outcome> {
  const added = (call.body.addedRoles ?? []).map((role) => role.toLowerCase());
  const removed = (call.body.removedRoles ?? []).map((role) => role.toLowerCase());
  return call.command(async (tx) => {
    const { version } = await changeUser(call, tx, call.parameters.id, async ({ id, email }) => {
      const held = await queries.rolesHeldBy(tx, id);
      const direct = new Set(held.filter((role) => role.direct).map(({ role }) => role.id));
      const asked = [
        { pointer: "/addedRoles", ids: added, present: direct },
        // Removing a role that the user does not hold directly changes nothing.
        { pointer: "/removedRoles", ids: removed, present: new Set(removed.filter((role) => !direct.has(role))) },
      ];
      await requireAssignable(tx, asked, call.permissions);
      const twice = addedAndRemoved(added, removed);
      if (twice.length > 0) {
        const errors = twice.map((index) => bodyField(`/removedRoles/${index}`, "is also in addedRoles"));
        throw new AppError("invalid_combination", { errors });
      }
      const inherited = inheritedOnly(held, removed);
      if (inherited.length > 0) {
        throw new AppError("role_inherited", {
          errors: inherited.map(({ index, groups }) =>
            bodyField(`/removedRoles/${index}`, `${email} holds the role through ${groups.join(", ")} only`),
          ),
        });
      }
      const missing = added.filter((role) => !direct.has(role));
      const present = removed.filter((role) => direct.has(role));
      if (missing.length + present.length === 0) return false;
      await queries.addRoles(tx, call.granted, id, missing);
      await queries.removeRoles(tx, call.granted, id, present);
      await touchUser(tx, call.granted, id, call.now);
      return true;
    });
    return empty(version);
  });
}
