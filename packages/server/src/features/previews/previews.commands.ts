import type * as operations from "@gatehouse/contract/operations/previews.operations";
import type { Permission } from "@gatehouse/contract/permissions";
import { authorize } from "../../platform/authorization/granted.ts";
import type { Call } from "../../platform/call.ts";
import type { CommandBatch } from "../../platform/command-batch.ts";
import { type Outcome, report } from "../../platform/outcome.ts";
import { circumstancesOf, readCircumstances } from "../access-tests/access-tests.api.ts";
import { performChanges, preparePreview } from "../changes/changes.api.ts";
import { acceptInvitations } from "../users/users.api.ts";
import { readAccessPreview } from "./access-preview.ts";

export async function previewAccess(call: Call<typeof operations.previewAccess>): Promise<Outcome> {
  const { context = {}, page, invitationsAccepted = false } = call.body;
  const changes = await preparePreview(call, call.body.changes);
  const circumstances = circumstancesOf(readCircumstances(context));
  // No other command of the tenant can run meanwhile, so end the transaction as soon as everything was read.
  const preview = await call.runDry(async (batch) => {
    await performChanges(call, changes, batch);
    if (invitationsAccepted) await acceptAllInvitations(call.permissions, batch);
    return readAccessPreview(batch);
  });
  const body = await preview(call, circumstances, page);
  // Another command may hold the last database connection, so compute the answer before the command starts.
  return call.idempotency === undefined ? report(body) : call.command(async () => report(body));
}

/** Activates the pending users that the changes created or changed, if the caller may change users. */
async function acceptAllInvitations(permissions: ReadonlySet<Permission>, batch: CommandBatch): Promise<void> {
  const users = batch.changes.filter(({ type, after }) => type === "user" && after !== undefined);
  // A caller without the permission can still change users, for example by deleting their group.
  if (users.length === 0 || !permissions.has("users:write")) return;
  const granted = authorize(permissions, "users:write");
  const ids = users.map(({ id }) => id);
  await batch.readInTime((tx) => acceptInvitations(tx, granted, ids));
}
