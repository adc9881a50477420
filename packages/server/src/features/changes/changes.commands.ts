import type * as operations from "@gatehouse/contract/operations/changes.operations";
import type { Call } from "../../platform/call.ts";
import type { Outcome } from "../../platform/outcome.ts";
import { applySet, prepareSet } from "./apply-changes.ts";

export async function applyChanges(call: Call<typeof operations.applyChanges>): Promise<Outcome> {
  return applySet(call, await prepareSet(call, call.body.changes));
}
