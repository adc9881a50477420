import type { readGatewaySync as operation } from "@gatehouse/contract/operations/gateways.operations";
import { AppError } from "../../../platform/app-error.ts";
import type { Call } from "../../../platform/call.ts";
import { type Outcome, report } from "../../../platform/outcome.ts";
import { readGeneration } from "../../../platform/tenancy/generation.queries.ts";
import * as queries from "./gateway-sync.queries.ts";
import { syncView } from "./gateway-sync.rules.ts";

export async function readGatewaySync(call: Call<typeof operation>): Promise<Outcome> {
  const [generation, row] = await call.read((tx) =>
    Promise.all([readGeneration(tx), queries.readSync(tx, call.parameters.id)]),
  );
  if (row === undefined) throw new AppError("not_found");
  return report(syncView(row, generation ?? 0, { now: call.now, shared: call.sharedNow }));
}
