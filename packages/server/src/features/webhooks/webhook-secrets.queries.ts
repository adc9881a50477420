import type { Granted } from "../../platform/authorization/granted.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface WebhookSecretRow {
  readonly id: string;
  readonly ciphertext: Buffer;
}

const selectSigning = statement<WebhookSecretRow, [tenantId: string, webhookId: string, now: Date]>(
  "webhook_secrets.signing",
  `SELECT id, ciphertext FROM webhook_secrets
   WHERE tenant_id = $1 AND webhook_id = $2 AND (expires_at IS NULL OR expires_at > $3)
   ORDER BY expires_at DESC NULLS FIRST`,
);
const insert = statement<never, [tenantId: string, webhookId: string, id: string, ciphertext: Buffer]>(
  "webhook_secrets.insert",
  "INSERT INTO webhook_secrets (tenant_id, webhook_id, id, ciphertext) VALUES ($1, $2, $3, $4)",
);
const removeFormer = statement<never, [tenantId: string, webhookId: string]>(
  "webhook_secrets.delete_former",
  "DELETE FROM webhook_secrets WHERE tenant_id = $1 AND webhook_id = $2 AND expires_at IS NOT NULL",
);
const expire = statement<never, [tenantId: string, webhookId: string, expiresAt: Date]>(
  "webhook_secrets.expire",
  "UPDATE webhook_secrets SET expires_at = $3 WHERE tenant_id = $1 AND webhook_id = $2",
);

/** The secrets that sign at a time, the current one first. */
export function signingSecrets(tx: TenantTx, webhookId: string, now: Date): Promise<WebhookSecretRow[]> {
  return tx.query(selectSigning, tx.tenantId, webhookId, now);
}

/**
 * Replaces the current secret. The previous secret stays valid until `formerUntil`; older ones end.
 *
 * @param secret sealed for its webhook and id
 */
export async function replaceSecret(
  tx: TenantTx,
  _granted: Granted<"webhooks:write">,
  webhookId: string,
  secret: WebhookSecretRow,
  formerUntil: Date,
): Promise<void> {
  await tx.query(removeFormer, tx.tenantId, webhookId);
  await tx.query(expire, tx.tenantId, webhookId, formerUntil);
  await tx.query(insert, tx.tenantId, webhookId, secret.id, secret.ciphertext);
}
