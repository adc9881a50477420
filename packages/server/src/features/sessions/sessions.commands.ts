import type * as operations from "@gatehouse/contract/operations/sign-in.operations";
import { AppError } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { pageOfItems } from "../../platform/db/list-statement.ts";
import { empty, type Outcome } from "../../platform/outcome.ts";
import { requireNoMorePrivileged, requireOwnOr } from "./own-or-permitted.ts";
import { deletePersonSession, lockPersonSession } from "./people-sessions.queries.ts";
import { endUserSessions } from "./people-sessions.ts";
import { sessionView } from "./sessions.view.ts";
import { listPeopleSessions } from "./sessions-list.queries.ts";
import { lockUserOfSession, lockUserWithSession } from "./signed-in-user.queries.ts";

/** Sessions have no versions, because nobody edits them. */
const onlyVersion = 1;

export async function listSessions(call: Call<typeof operations.listSessions>): Promise<Outcome> {
  const { session, permissions } = call;
  if (session === undefined) requireOwnOr(call, undefined, "users:read");
  const only = permissions.has("users:read") ? undefined : session?.userId;
  const { rows, total } = await call.read((tx) => listPeopleSessions(tx, call.listQuery, only));
  const items = rows.map((row) => sessionView(row, session?.id));
  return { kind: "page", page: pageOfItems(call.listQuery, items, total) };
}

export async function endSession(call: Call<typeof operations.endSession>): Promise<Outcome> {
  return call.command(async (tx) => {
    await lockUserWithSession(tx, call.parameters.id);
    const row = await lockPersonSession(tx, call.parameters.id);
    // A caller without the permission does not learn which sessions exist.
    requireOwnOr(call, row?.user_id, "users:write");
    if (row === undefined) throw new AppError("not_found");
    call.requireVersion(onlyVersion);
    const { email } = await requireNoMorePrivileged(tx, call, row.user_id);
    for (const ended of await deletePersonSession(tx, row.id)) {
      tx.record({ type: "session", id: ended.id, name: email, before: sessionView({ ...ended, email }, undefined) });
    }
    return empty();
  });
}

export async function endUserSessionsOf(call: Call<typeof operations.endUserSessions>): Promise<Outcome> {
  return call.command(async (tx) => {
    const { id } = call.parameters;
    requireOwnOr(call, id, "users:write");
    await lockUserOfSession(tx, id);
    const { id: userId, email } = await requireNoMorePrivileged(tx, call, id);
    call.requireVersion(onlyVersion);
    for (const row of await endUserSessions(tx, userId, { at: call.now, reason: "signed-out", by: call.actor })) {
      tx.record({ type: "session", id: row.id, name: email, before: sessionView({ ...row, email }, undefined) });
    }
    return empty();
  });
}
