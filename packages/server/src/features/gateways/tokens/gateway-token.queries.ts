/** The current token of a gateway, and former tokens that are still valid. */
import type { Granted } from "../../../platform/authorization/granted.ts";
import { statement } from "../../../platform/db/statement.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";

const deleteEnded = statement<never, [tenantId: string, gatewayId: string, now: Date, endsAt: Date]>(
  "gateways.delete_ended_tokens",
  "DELETE FROM former_gateway_tokens WHERE tenant_id = $1 AND gateway_id = $2 AND least(ends_at, $4) <= $3",
);
const shorten = statement<{ ends_at: string }, [tenantId: string, gatewayId: string, endsAt: Date]>(
  "gateways.shorten_former_tokens",
  `UPDATE former_gateway_tokens SET ends_at = least(ends_at, $3)
   WHERE tenant_id = $1 AND gateway_id = $2 RETURNING ends_at`,
);
const keepFormer = statement<never, [tenantId: string, gatewayId: string, endsAt: Date]>(
  "gateways.keep_former_token",
  `INSERT INTO former_gateway_tokens (tenant_id, gateway_id, token_hash, ends_at)
   SELECT tenant_id, id, token_hash, $3 FROM gateways WHERE tenant_id = $1 AND id = $2`,
);
const replace = statement<never, [tenantId: string, id: string, at: Date, ciphertext: Buffer, hash: Buffer]>(
  "gateways.replace_token",
  `UPDATE gateways SET updated_at = $3, version = version + 1, token_ciphertext = $4, token_hash = $5
   WHERE tenant_id = $1 AND id = $2`,
);

/**
 * Shortens the validity of the gateway's former tokens, and deletes the expired ones. The gateway must be locked.
 *
 * @returns the number of former tokens that are still valid
 */
export async function endFormerTokens(
  tx: TenantTx,
  _granted: Granted<"gateways:write">,
  gatewayId: string,
  now: Date,
  endsAt: Date,
): Promise<number> {
  await tx.query(deleteEnded, tx.tenantId, gatewayId, now, endsAt);
  return (await tx.query(shorten, tx.tenantId, gatewayId, endsAt)).length;
}

/** Keeps the current token valid until a time, before it is replaced. */
export async function retainFormerToken(
  tx: TenantTx,
  _granted: Granted<"gateways:write">,
  gatewayId: string,
  endsAt: Date,
): Promise<void> {
  await tx.query(keepFormer, tx.tenantId, gatewayId, endsAt);
}

export async function replaceToken(
  tx: TenantTx,
  _granted: Granted<"gateways:write">,
  gatewayId: string,
  secrets: { readonly tokenCiphertext: Buffer; readonly tokenHash: Buffer },
  at: Date,
): Promise<void> {
  await tx.query(replace, tx.tenantId, gatewayId, at, secrets.tokenCiphertext, secrets.tokenHash);
}

const allowReset = statement<never, [tenantId: string, id: string, at: Date, until: Date]>(
  "gateways.allow_key_reset",
  "UPDATE gateways SET updated_at = $3, version = version + 1, key_reset_until = $4 WHERE tenant_id = $1 AND id = $2",
);

/** Allows the gateway's agent to replace its key without a proof of the current one. */
export async function allowKeyReset(
  tx: TenantTx,
  _granted: Granted<"gateways:write">,
  id: string,
  until: Date,
  at: Date,
): Promise<void> {
  await tx.query(allowReset, tx.tenantId, id, at, until);
}
