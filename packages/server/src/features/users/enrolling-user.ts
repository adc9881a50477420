/** What enrolling a device asks of the user whom it is for. */
import type { Granted } from "../../platform/authorization/granted.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import * as queries from "./users.queries.ts";
import { userView } from "./users.view.ts";

export type EnrollingUser = Pick<queries.UserRow, "id" | "email" | "status" | "max_devices">;

/** Enrolments of one user wait for each other here, so that none of them counts devices that another is about to add. */
export function lockUserForEnrolment(tx: TenantTx, id: string): Promise<EnrollingUser | undefined> {
  return queries.lockUser(tx, id);
}

/** Makes a pending user active, and records it. */
export async function activateUser(
  tx: CommandTx,
  granted: Granted<"devices:write">,
  id: string,
  at: Date,
): Promise<void> {
  const [before] = await queries.readUsers(tx, [id]);
  await queries.updateUserStatus(tx, granted, id, { status: "active", status_before: null }, at);
  const [after] = await queries.readUsers(tx, [id]);
  if (before === undefined || after === undefined) throw new Error(`the user ${id} is gone although it was locked`);
  tx.record({
    type: "user",
    id,
    name: after.user.email,
    before: userView(before, at),
    after: userView(after, at),
  });
}
