/** What enrolling a device asks of the user whom it is for. */
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import * as queries from "./users.queries.ts";
import { hasExpired } from "./users.rules.ts";
import { userView } from "./users.view.ts";

export type EnrollingUser = Pick<queries.UserRow, "id" | "email" | "status" | "max_devices" | "invitation_expires_at">;

/** Enrolments of one user wait for each other here, so that none of them counts devices that another is about to add. */
export function lockUserForEnrolment(tx: TenantTx, id: string): Promise<EnrollingUser | undefined> {
  return queries.lockUser(tx, id);
}

/** @throws AppError user_deactivated, invitation_expired */
export function requireEnrollable({ email, status, invitation_expires_at: expiresAt }: EnrollingUser, at: Date): void {
  if (status === "inactive") {
    throw new AppError("user_deactivated", { errors: [bodyField("/userId", `${email} is deactivated`)] });
  }
  if (status === "pending" && hasExpired(expiresAt, at)) {
    const errors = [bodyField("/userId", `the invitation of ${email} expired at ${expiresAt}`)];
    throw new AppError("invitation_expired", { errors });
  }
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
