import type * as operations from "@gatehouse/contract/operations/gateways.operations";
import { defaultGraceSeconds } from "@gatehouse/contract/schema";
import { AppError } from "../../../platform/app-error.ts";
import type { Call } from "../../../platform/call.ts";
import type { Outcome } from "../../../platform/outcome.ts";
import { generateToken, hashToken, tokenPrefixes } from "../../../platform/secrets/tokens.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { changeGateway } from "../change-gateway.ts";
import type { GatewayRow } from "../gateways.queries.ts";
import { tokenContext } from "../gateways.view.ts";
import * as queries from "./gateway-token.queries.ts";

/** How many tokens of one gateway may work beside the present one. */
const mostFormerTokens = 10;

export function rotateGatewayToken(call: Call<typeof operations.rotateGatewayToken>): Promise<Outcome> {
  const graceMs = (call.body.graceSeconds ?? defaultGraceSeconds) * 1000;
  const endsAt = new Date(call.now.getTime() + graceMs);

  async function rotate(tx: TenantTx, row: GatewayRow): Promise<void> {
    const former = await queries.endFormerTokens(tx, call.granted, row.id, call.now, endsAt);
    if (former >= mostFormerTokens) {
      throw new AppError("too_many_tokens", {
        detail: `The gateway ${row.name} has ${former} earlier tokens that still work; it may have ${mostFormerTokens}.`,
      });
    }
    const token = generateToken(tokenPrefixes.gateway);
    const ciphertext = call.secrets.gatewayTokens.seal(token, tokenContext(tx.tenantId, row.id));
    const secrets = { tokenCiphertext: ciphertext, tokenHash: hashToken(token) };
    if (graceMs > 0) await queries.keepFormerToken(tx, call.granted, row.id, endsAt);
    await queries.replaceToken(tx, call.granted, row.id, secrets, call.now);
  }

  return changeGateway(call, rotate, { formerTokensEndAt: endsAt.toISOString() });
}
