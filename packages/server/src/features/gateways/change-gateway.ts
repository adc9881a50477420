/** The shared part of commands that change one gateway: the lock, If-Match, the audit entry and the answer. */
import type { updateGateway } from "@gatehouse/contract/operations/gateways.operations";
import { AppError } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { type Outcome, record } from "../../platform/outcome.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import * as queries from "./gateways.queries.ts";
import { gatewayView, noTokens, tokenViewer } from "./gateways.view.ts";

export type GatewayCall = Pick<
  Call<typeof updateGateway>,
  "granted" | "parameters" | "now" | "requireVersion" | "command" | "shownPermissions" | "tenantId" | "secrets"
>;

/**
 * @param change changes the locked row; returns undefined if nothing is to be changed
 *
 * @param remarks further fields of the audit entry's new state
 * @throws AppError not_found, precondition_failed
 */
export async function changeGateway(
  call: GatewayCall,
  change: (tx: TenantTx, row: queries.GatewayRow) => Promise<void> | undefined,
  remarks: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const { id } = call.parameters;
  const tokens = tokenViewer(call);
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx, id);
    const before = await requireGateway(tx, id, tokens.maySee);
    const changing = change(tx, row);
    if (changing === undefined) return record(gatewayView(before, tokens), before.version);
    await changing;
    const after = await requireGateway(tx, id, tokens.maySee);
    tx.record({
      type: "gateway",
      id,
      name: after.gateway.name,
      before: gatewayView(before, noTokens),
      after: { ...gatewayView(after, noTokens), ...remarks },
    });
    return record(gatewayView(after, tokens), after.version);
  });
}

/** @throws AppError not_found, precondition_failed */
export async function lockForChange(
  call: { requireVersion(version: number): void },
  tx: TenantTx,
  id: string,
): Promise<queries.GatewayRow> {
  const row = await queries.lockGateway(tx, id);
  if (row === undefined) throw new AppError("not_found");
  call.requireVersion(row.version);
  return row;
}

/** @throws AppError not_found */
export async function requireGateway(tx: TenantTx, id: string, withToken = false): Promise<queries.WholeGatewayRow> {
  const row = await queries.readGateway(tx, id, withToken);
  if (row === undefined) throw new AppError("not_found");
  return row;
}
