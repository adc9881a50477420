import type { Operation } from "@gatehouse/contract/operation";
import type * as operations from "@gatehouse/contract/operations/previews.operations";
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
    if (invitationsAccepted) await acceptAllInvitations(call, batch);
    return readAccessPreview(batch);
  });
  const body = await preview(call, circumstances, page);
  // Another command may hold the last database connection, so compute the answer before the command starts.
  return call.idempotency === undefined ? report(body) : call.command(async () => report(body));
}

/** Activates the users that the changes created. */
async function acceptAllInvitations({ permissions }: Pick<Call<Operation>, "permissions">, batch: CommandBatch) {
  const created = batch.changes.filter(({ type, before }) => type === "user" && before === undefined);
  if (created.length === 0) return;
  // The caller holds the permission, because the caller's changes created the users.
  const granted = authorize(permissions, "users:write");
  await acceptInvitations(
    batch.tx,
    granted,
    created.map(({ id }) => id),
  );
}
