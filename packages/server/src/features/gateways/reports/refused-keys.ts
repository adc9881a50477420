import { heartbeatTimeoutMs } from "@gatehouse/agent-protocol/link/frames";
import { type CommandRunner, runCommand } from "../../../platform/command.ts";
import { newId } from "../../../platform/ids.ts";
import { empty } from "../../../platform/outcome.ts";
import { readGatewaysById } from "../gateways.queries.ts";
import { gatewayView, noTokens } from "../gateways.view.ts";
import * as queries from "./gateway-reports.queries.ts";

/** An agent that was refused because of the key that it reported. */
export interface RefusedKey {
  readonly gatewayId: string;
  readonly connectionId: string;
  /** The reason, with the key. */
  readonly error: string;
  readonly heardAt: Date;
}

/**
 * Records the refusals of agents while another agent of the gateway is connected. The record of the gateway does not
 * change: otherwise, a thief of the token could take the gateway out of service.
 *
 * @param isNew whether a refusal is to be recorded
 * @returns the gateways without another connected agent, which are in error
 */
export async function storeRefusedKeys(
  runner: CommandRunner,
  tenantId: string,
  refusals: readonly RefusedKey[],
  isNew: (refusal: RefusedKey) => boolean,
  at: Date,
): Promise<readonly string[]> {
  const scope = { kind: "tenant", tenantId } as const;
  const since = new Date(runner.sharedTime.now().getTime() - heartbeatTimeoutMs);
  const connected = await runner.database.snapshot(scope, ({ query }) =>
    queries.connectedElsewhere({ tenantId, query }, refusals, since),
  );
  for (const refusal of refusals) {
    const { gatewayId, error } = refusal;
    if (!connected.has(gatewayId) || !isNew(refusal)) continue;
    const origin = {
      actor: { type: "system", name: "Gatehouse" },
      operation: "refuseGatewayKey",
      requestId: newId(),
      reason: error,
      at,
    } as const;
    await runCommand(runner, { scope, tenantId, origin, idempotency: undefined, changesAccess: true }, async (tx) => {
      const [row] = await readGatewaysById(tx, [gatewayId]);
      if (row === undefined) return empty();
      const view = gatewayView(row, noTokens);
      tx.record({ type: "gateway", id: gatewayId, name: row.gateway.name, before: view, after: view });
      return empty();
    });
  }
  return refusals.flatMap(({ gatewayId }) => (connected.has(gatewayId) ? [] : [gatewayId]));
}
