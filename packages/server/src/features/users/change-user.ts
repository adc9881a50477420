/** The shared part of commands that change one user: the lock, If-Match and the audit entry. */
import type { User } from "@gatehouse/contract/records/user";
import { AppError } from "../../platform/app-error.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import * as queries from "./users.queries.ts";
import { userView } from "./users.view.ts";

interface ChangingCall {
  readonly now: Date;
  requireVersion(version: number): void;
}

export interface ChangedUser {
  readonly view: User;
  readonly version: number;
}

/** @throws AppError not_found */
export async function lockUser(tx: TenantTx, id: string): Promise<queries.UserRow> {
  const row = await queries.lockUser(tx, id);
  if (row === undefined) throw new AppError("not_found");
  return row;
}

/** @throws AppError not_found, precondition_failed */
export async function lockForChange(call: ChangingCall, tx: TenantTx, id: string): Promise<queries.UserRow> {
  const row = await lockUser(tx, id);
  call.requireVersion(row.version);
  return row;
}

/**
 * Changes a locked user whose version was checked, and records the change.
 *
 * @param change changes the user and increments the version; returns false if nothing is to be changed
 */
export async function changeLockedUser(
  call: ChangingCall,
  tx: CommandTx,
  row: queries.UserRow,
  change: () => Promise<boolean>,
): Promise<ChangedUser> {
  const before = await requireUser(tx, row.id);
  const changed = await change();
  if (!changed) return { view: userView(before, call.now), version: before.version };
  const after = await requireUser(tx, row.id);
  const view = userView(after, call.now);
  tx.record({ type: "user", id: row.id, name: row.email, before: userView(before, call.now), after: view });
  return { view, version: after.version };
}

/**
 * Locks a user, checks If-Match, and changes the user like `changeLockedUser`.
 *
 * @throws AppError not_found, precondition_failed
 */
export async function changeUser(
  call: ChangingCall,
  tx: CommandTx,
  id: string,
  change: (row: queries.UserRow) => Promise<boolean>,
): Promise<ChangedUser> {
  const row = await lockForChange(call, tx, id);
  return changeLockedUser(call, tx, row, () => change(row));
}

/** @throws AppError not_found */
export async function requireUser(tx: TenantTx, id: string): Promise<queries.WholeUserRow> {
  const row = await queries.readUser(tx, id);
  if (row === undefined) throw new AppError("not_found");
  return row;
}
