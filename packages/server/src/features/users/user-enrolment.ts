/** The part of enrolling a device that concerns its user. */
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import { newId } from "../../platform/ids.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import * as queries from "./users.queries.ts";
import { hasExpired } from "./users.rules.ts";
import { userView } from "./users.view.ts";

export type EnrollingUser = Pick<queries.UserRow, "id" | "email" | "status" | "max_devices" | "invitation_expires_at">;

/** Locks the user. Enrolments of one user wait here, so that none misses a device that a concurrent one adds. */
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

/** Activates a pending user, and records the change. */
export async function activateUser(
  tx: CommandTx,
  granted: Granted<"devices:write">,
  id: string,
  at: Date,
): Promise<void> {
  const before = await queries.readUser(tx, id);
  await queries.updateUserStatus(tx, granted, id, { status: "active", status_before: null }, at);
  const after = await queries.readUser(tx, id);
  if (before === undefined || after === undefined) throw new Error(`the user ${id} is missing although it was locked`);
  tx.record({
    type: "user",
    id,
    name: after.user.email,
    before: userView(before, at),
    after: userView(after, at),
  });
}

/** The user of a person who signs in for the first time, whom nobody invited. */
export interface SignedInPerson {
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly groupIds: readonly string[];
}

/**
 * Creates an active user, and records that.
 *
 * @returns the id, or undefined if a user with the address was created concurrently
 */
export async function createSignedInUser(
  tx: CommandTx,
  granted: Granted<"users:write">,
  person: SignedInPerson,
  at: Date,
): Promise<string | undefined> {
  const id = newId();
  const user = { ...person, id, maxDevices: null, attributes: {}, roleIds: [] };
  const inserted = await queries.insertUsers(tx, granted, [user], at);
  if (!inserted.has(id)) return undefined;
  await queries.updateUserStatus(tx, granted, id, { status: "active", status_before: null }, at);
  const after = await queries.readUser(tx, id);
  if (after === undefined) throw new Error(`the user ${id} is missing although it was created`);
  tx.record({ type: "user", id, name: person.email, after: userView(after, at) });
  return id;
}
