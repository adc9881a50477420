import type * as operations from "@gatehouse/contract/operations/gateways.operations";
import type { Call } from "../../../platform/call.ts";
import { keyResetUntil } from "../../../platform/known-keys.ts";
import type { Outcome } from "../../../platform/outcome.ts";
import { changeGateway } from "../change-gateway.ts";
import { allowKeyReset } from "./gateway-token.queries.ts";

/** Allows the gateway's agent to replace its key once (docs/decisions/0104). */
export function resetGatewayKey(call: Call<typeof operations.resetGatewayKey>): Promise<Outcome> {
  return changeGateway(call, (tx, { id }) => allowKeyReset(tx, call.granted, id, keyResetUntil(call.now), call.now));
}
