import { isDeepStrictEqual } from "node:util";
import type * as operations from "@gatehouse/contract/operations/users.operations";
import { AppError } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { pageOfItems } from "../../platform/db/list-statement.ts";
import { earliest } from "../../platform/earliest.ts";
import { embedJson } from "../../platform/embedded-json.ts";
import { created, empty, type Outcome, record } from "../../platform/outcome.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { notifyUsers, revokeOpenLinks } from "../enrolment-links/enrolment-links.api.ts";
import { endUserSessions, requireNoMorePrivileged } from "../sessions/sessions.api.ts";
import { changeUser, lockForChange, requireUser } from "./change-user.ts";
import { type Invitation, inviteUsers } from "./invitations/invite-users.ts";
import * as queries from "./users.queries.ts";
import { deactivated, invitationLifetimeMs, reactivated } from "./users.rules.ts";
import { userChangesAt, userView } from "./users.view.ts";

export async function listUsers(call: Call<typeof operations.listUsers>): Promise<Outcome> {
  return call.reads.answer({
    load: (tx) => queries.listUsers(tx, call.listQuery),
    present({ rows, total }) {
      const items = rows.map((row) => userView(row, call.now, embedJson));
      return { body: pageOfItems(call.listQuery, items, total) };
    },
    until: ({ rows }) => earliest(rows.map((row) => userChangesAt(row, call.now))),
  });
}

export async function readUser(call: Call<typeof operations.readUser>): Promise<Outcome> {
  return call.reads.answer({
    load: (tx) => queries.readUser(tx, call.parameters.id),
    present: (row) => ({ body: userView(row, call.now, embedJson), version: row.version }),
    until: (row) => userChangesAt(row, call.now),
  });
}

export async function createUsers(call: Call<typeof operations.createUsers>): Promise<Outcome> {
  const { body } = call;
  const single = !Array.isArray(body);
  const invitations: Invitation[] = (single ? [body] : body).map(
    ({ groups = [], roles = [], attributes = {}, firstName = "", lastName = "", email, notify = false }, index) => ({
      email,
      firstName,
      lastName,
      groupIds: groups,
      roleIds: roles,
      attributes,
      notify,
      pointer: single ? "" : `/${index}`,
    }),
  );
  const perform = async (tx: CommandTx): Promise<Outcome> => {
    const rows = await inviteUsers(tx, call, invitations);
    const views = rows.map((row) => userView(row, call.now));
    for (const view of views) tx.record({ type: "user", id: view.id, name: view.email, after: view });
    const notified = rows.flatMap(({ user }, index) => (invitations[index]?.notify === true ? [user] : []));
    await notify(call, tx, notified);
    const [view] = views;
    const [row] = rows;
    if (!single || view === undefined || row === undefined) return { kind: "record", body: views };
    return created(view, row.version, `/tenants/users/${view.id}`);
  };
  // A mail needs an enrolment link, which is recorded too.
  const notifies = invitations.some(({ notify: wanted }) => wanted);
  return notifies ? call.command(perform) : call.creation(invitations.length, perform);
}

export async function updateUserProfile(call: Call<typeof operations.updateUserProfile>): Promise<Outcome> {
  return changed(call, (tx, row) => {
    const { firstName = row.first_name, lastName = row.last_name, image = row.image } = call.body;
    return storeSettings(call, tx, row, { ...row, first_name: firstName, last_name: lastName, image });
  });
}

export async function updateUserSettings(call: Call<typeof operations.updateUserSettings>): Promise<Outcome> {
  return changed(call, (tx, row) => {
    const { maxDevices = row.max_devices, attributes = row.attributes } = call.body;
    return storeSettings(call, tx, row, { ...row, max_devices: maxDevices, attributes });
  });
}

export async function deactivateUser(call: Call<typeof operations.deactivateUser>): Promise<Outcome> {
  return changed(call, async (tx, row) => {
    await requireNoMorePrivileged(tx, call, row.id);
    const state = deactivated(row);
    if (state === undefined) return false;
    await queries.updateUserStatus(tx, call.granted, row.id, state, call.now);
    await endUserSessions(tx, row.id, { at: call.now, reason: "user-deactivated", by: call.actor });
    await revokeOpenLinks(tx, row);
    return true;
  });
}

export async function reactivateUser(call: Call<typeof operations.reactivateUser>): Promise<Outcome> {
  return changed(call, async (tx, row) => {
    await requireNoMorePrivileged(tx, call, row.id);
    const state = reactivated(row);
    if (state === undefined) {
      throw new AppError("user_not_deactivated", { detail: `The user ${row.email} is ${row.status}.` });
    }
    await queries.updateUserStatus(tx, call.granted, row.id, state, call.now);
    return true;
  });
}

export async function inviteUser(call: Call<typeof operations.inviteUser>): Promise<Outcome> {
  return call.command(async (tx) => {
    const { version } = await changeUser(call, tx, call.parameters.id, async (row) => {
      if (row.status !== "pending") {
        throw new AppError("user_not_pending", { detail: `The user ${row.email} is ${row.status}.` });
      }
      const expiresAt = new Date(call.now.getTime() + invitationLifetimeMs);
      await queries.storeInvitation(tx, call.granted, row.id, expiresAt, call.now);
      if (call.body.notify === true) {
        await requireNoMorePrivileged(tx, call, row.id);
        await notify(call, tx, [row]);
      }
      return true;
    });
    return empty(version);
  });
}

export async function deleteUser(call: Call<typeof operations.deleteUser>): Promise<Outcome> {
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx, call.parameters.id);
    await requireNoMorePrivileged(tx, call, row.id);
    const before = await requireUser(tx, row.id);
    await call.references.remove(tx, call.granted, { noun: "user", id: row.id, name: row.email }, call.now);
    await queries.deleteUsers(tx, call.granted, [row.id]);
    tx.record({ type: "user", id: row.id, name: row.email, before: userView(before, call.now) });
    return empty();
  });
}

/** @throws AppError mail_not_configured, mail_limit_reached */
async function notify(
  {
    mailsPerDay,
    now,
    actor,
    secrets,
  }: Pick<Call<typeof operations.inviteUser>, "mailsPerDay" | "now" | "actor" | "secrets">,
  tx: CommandTx,
  users: readonly { readonly id: string; readonly email: string }[],
): Promise<void> {
  if (users.length === 0) return;
  if (mailsPerDay === undefined) throw new AppError("mail_not_configured");
  await notifyUsers(tx, users, { at: now, by: actor, box: secrets.enrolmentLinks, mailsPerDay });
}

type UserCall = Pick<Call<typeof operations.deactivateUser>, "parameters" | "now" | "requireVersion" | "command">;

/** Changes the user like `changeUser`, and answers with the user. */
async function changed(
  call: UserCall,
  change: (tx: CommandTx, row: queries.UserRow) => Promise<boolean>,
): Promise<Outcome> {
  return call.command(async (tx) => {
    const { view, version } = await changeUser(call, tx, call.parameters.id, (row) => change(tx, row));
    return record(view, version);
  });
}

/** Stores the settings of a user if they differ from the stored ones. */
async function storeSettings(
  call: Pick<Call<typeof operations.updateUserProfile>, "granted" | "now">,
  tx: TenantTx,
  row: queries.UserRow,
  wanted: queries.UserRow,
): Promise<boolean> {
  if (isDeepStrictEqual(wanted, row)) return false;
  const { id, email, first_name: firstName, last_name: lastName, image, max_devices: maxDevices, attributes } = wanted;
  const stored = { id, email, firstName, lastName, image, maxDevices, attributes };
  await queries.updateUsers(tx, call.granted, [stored], call.now);
  return true;
}
