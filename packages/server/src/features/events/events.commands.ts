import type * as operations from "@gatehouse/contract/operations/events.operations";
import type { Call } from "../../platform/call.ts";
import { pageOfItems } from "../../platform/db/list-statement.ts";
import type { Outcome } from "../../platform/outcome.ts";
import * as queries from "./events.queries.ts";

export async function listEvents(call: Call<typeof operations.listEvents>): Promise<Outcome> {
  const { events, total } = await call.read((tx) => queries.listEvents(tx, call.listQuery));
  return { kind: "page", page: pageOfItems(call.listQuery, events, total) };
}
