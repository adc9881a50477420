import type * as operations from "@gatehouse/contract/operations/gateways.operations";
import type { Call } from "../../platform/call.ts";
import { type Outcome, report } from "../../platform/outcome.ts";
import { changeGateway, type GatewayCall, requireGateway } from "./change-gateway.ts";
import * as queries from "./gateways.queries.ts";
import { statusByHeartbeat, testedState } from "./gateways.rules.ts";
import { embeddedGatewayView, noTokens } from "./gateways.view.ts";

export function enableGatewayRelay(call: Call<typeof operations.enableGatewayRelay>): Promise<Outcome> {
  return switchState(call, () => ({ relayEnabled: true }));
}

export function disableGatewayRelay(call: Call<typeof operations.disableGatewayRelay>): Promise<Outcome> {
  return switchState(call, () => ({ relayEnabled: false }));
}

export function enterGatewayMaintenance(call: Call<typeof operations.enterGatewayMaintenance>): Promise<Outcome> {
  return switchState(call, () => ({ status: "MAINTENANCE" }));
}

export function exitGatewayMaintenance(call: Call<typeof operations.exitGatewayMaintenance>): Promise<Outcome> {
  return switchState(call, (row) => ({
    // Outside of maintenance, only heartbeats change the status.
    status: row.status === "MAINTENANCE" ? statusByHeartbeat(row, call.sharedNow) : row.status,
  }));
}

type SwitchableState = Pick<queries.GatewayRow, "status" | "relayEnabled">;

function switchState(
  call: GatewayCall,
  wanted: (row: queries.GatewayRow) => Partial<SwitchableState>,
): Promise<Outcome> {
  return changeGateway(call, (tx, row) => {
    const state = { ...row, ...wanted(row) };
    if (state.status !== row.status) {
      return queries.updateGatewayStatus(tx, call.granted, row.id, state.status, call.now);
    }
    if (state.relayEnabled === row.relayEnabled) return undefined;
    return queries.updateGateways(tx, call.granted, [state], call.now);
  });
}

/** Runs as a command only because every POST accepts an Idempotency-Key. It changes and records nothing. */
export function testGatewayConfiguration(call: Call<typeof operations.testGatewayConfiguration>): Promise<Outcome> {
  return call.command(async (tx) => {
    const row = await requireGateway(tx, call.parameters.id);
    call.requireVersion(row.version);
    const { status, error = "", deployedOn, lastOnline = null } = embeddedGatewayView(row.gateway, noTokens);
    return report(testedState({ status, error, deployed_on: deployedOn, last_online: lastOnline }, call.sharedNow));
  });
}
