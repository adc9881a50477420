import type * as operations from "@gatehouse/contract/operations/users.operations";
import { AppError } from "../../../platform/app-error.ts";
import type { Call } from "../../../platform/call.ts";
import { empty, type Outcome } from "../../../platform/outcome.ts";
import { refuseGrantsBeyond } from "../../roles/roles.api.ts";
import { changeLockedUser, lockForChange, lockUser } from "../change-user.ts";
import * as queries from "./ownership.queries.ts";

export async function transferOwnership(call: Call<typeof operations.transferOwnership>): Promise<Outcome> {
  const { id } = call.parameters;
  return call.command(async (tx) => {
    // This check depends on the caller alone, so it comes before the lookup of the user.
    refuseGrantsBeyond("Ownership", ["OWNER"], call.permissions);
    const roleId = await queries.lockOwnership(tx);
    const owner = await queries.lockOwnerAnd(tx, id);
    const next = await lockForChange(call, tx, id);
    if (next.status !== "active") {
      throw new AppError("user_not_active", { detail: `The user ${next.email} is ${next.status}.` });
    }
    if (owner === id) return empty(next.version);
    if (owner !== undefined) {
      const former = await lockUser(tx, owner);
      await changeLockedUser(call, tx, former, async () => {
        await queries.takeOwnership(tx, call.granted, owner, roleId, call.now);
        return true;
      });
    }
    const { version } = await changeLockedUser(call, tx, next, async () => {
      await queries.giveOwnership(tx, call.granted, id, roleId, call.now);
      return true;
    });
    return empty(version);
  });
}
