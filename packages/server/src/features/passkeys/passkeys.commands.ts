import type * as operations from "@gatehouse/contract/operations/sign-in.operations";
import { AppError } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { empty, type Outcome, record, wholeArray } from "../../platform/outcome.ts";
import type { CommandTx } from "../../platform/tenancy/tenant-tx.ts";
import { hasOpenLink, revokeOpenLinks } from "../enrolment-links/enrolment-links.api.ts";
import {
  endUserSessions,
  lockUserOfSession,
  readSignedInUser,
  requireNoMorePrivileged,
  requireOwnOr,
} from "../sessions/sessions.api.ts";
import * as queries from "./passkeys.queries.ts";
import { auditedPasskey, passkeyView } from "./passkeys.view.ts";

/** Passkeys have no versions: only their names change. */
const onlyVersion = 1;

export async function listPasskeys(call: Call<typeof operations.listPasskeys>): Promise<Outcome> {
  const { id } = call.parameters;
  requireOwnOr(call, id, "users:read");
  const [user, rows] = await call.read((tx) =>
    Promise.all([readSignedInUser(tx, id), queries.readPasskeysOfUser(tx, id)]),
  );
  if (user === undefined) throw new AppError("not_found");
  return wholeArray(rows.map(passkeyView));
}

export async function renamePasskey(call: Call<typeof operations.renamePasskey>): Promise<Outcome> {
  const { id, passkeyId } = call.parameters;
  return call.command(async (tx) => {
    requireOwnOr(call, id, "users:write");
    const before = await requirePasskey(call, tx);
    if (before.name === call.body.name) return record(passkeyView(before), onlyVersion);
    const after = await queries.renamePasskey(tx, passkeyId, call.body.name);
    if (after === undefined) throw new AppError("not_found");
    const entries = { before: auditedPasskey(before), after: auditedPasskey(after) };
    tx.record({ type: "passkey", id: after.id, name: after.name, ...entries });
    return record(passkeyView(after), onlyVersion);
  });
}

export async function deletePasskey(call: Call<typeof operations.deletePasskey>): Promise<Outcome> {
  const { id } = call.parameters;
  return call.command(async (tx) => {
    requireOwnOr(call, id, "users:write");
    await lockUserOfSession(tx, id);
    const row = await requirePasskey(call, tx);
    await requireNoMorePrivileged(tx, call, id);
    const others = (await queries.lockPasskeysOfUser(tx, id)).filter((other) => other.id !== row.id);
    if (others.length === 0) await requireOtherWayIn(tx, id);
    await queries.deletePasskeys(tx, [row.id]);
    tx.record({ type: "passkey", id: row.id, name: row.name, before: auditedPasskey(row) });
    return empty();
  });
}

export async function resetPasskeys(call: Call<typeof operations.resetPasskeys>): Promise<Outcome> {
  const { id } = call.parameters;
  return call.command(async (tx) => {
    await lockUserOfSession(tx, id);
    const user = await requireNoMorePrivileged(tx, call, id);
    call.requireVersion(onlyVersion);
    const rows = await queries.lockPasskeysOfUser(tx, id);
    // Others can be given a link by the owner. Nobody can be relied on to give the owner one.
    if (user.isOwner && (rows.length > 0 || (await hasOpenLink(tx, id, call.now)))) await requireOtherWayIn(tx, id);
    await queries.deletePasskeys(
      tx,
      rows.map((row) => row.id),
    );
    for (const row of rows) tx.record({ type: "passkey", id: row.id, name: row.name, before: auditedPasskey(row) });
    // An intruder with a session of the user could have created a link, and would register a passkey again.
    await revokeOpenLinks(tx, user);
    await endUserSessions(tx, id, { at: call.now, reason: "passkeys-reset", by: call.actor });
    return empty();
  });
}

/** @throws AppError not_found, precondition_failed */
async function requirePasskey(
  call: Pick<Call<typeof operations.deletePasskey>, "parameters" | "requireVersion">,
  tx: CommandTx,
): Promise<queries.PasskeyRow> {
  const { id, passkeyId } = call.parameters;
  const row = (await queries.lockPasskeysOfUser(tx, id)).find((passkey) => passkey.id === passkeyId.toLowerCase());
  if (row === undefined) throw new AppError("not_found");
  call.requireVersion(onlyVersion);
  return row;
}

/** @throws AppError last_way_in */
async function requireOtherWayIn(tx: CommandTx, userId: string): Promise<void> {
  if (!(await queries.hasOtherWayIn(tx, userId))) throw new AppError("last_way_in");
}
