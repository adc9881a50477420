import type * as operations from "@gatehouse/contract/operations/groups.operations";
import { AppError } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { type Outcome, record, streamed } from "../../platform/outcome.ts";
import * as queries from "./roles.queries.ts";
import { roleView } from "./roles.view.ts";

export async function listRoles(call: Call<typeof operations.listRoles>): Promise<Outcome> {
  return streamed(async (afterId, limit) =>
    (await call.read((tx) => queries.listRoles(tx, afterId, limit))).map(({ role }) => roleView(role)),
  );
}

export async function readRole(call: Call<typeof operations.readRole>): Promise<Outcome> {
  const row = await call.read((tx) => queries.readRole(tx, call.parameters.id));
  if (row === undefined) throw new AppError("not_found");
  return record(roleView(row.role), row.version);
}
