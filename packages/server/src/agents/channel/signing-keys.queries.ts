import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface SigningKeyRow {
  /** 32 bytes. */
  readonly public_key: Buffer;
  readonly private_key_ciphertext: Buffer;
}

const select = statement<SigningKeyRow, [tenantId: string]>(
  "gateway_link.signing_key",
  "SELECT public_key, private_key_ciphertext FROM signing_keys WHERE tenant_id = $1",
);
const insert = statement<never, [tenantId: string, at: Date, publicKey: Buffer, privateKeyCiphertext: Buffer]>(
  "gateway_link.insert_signing_key",
  `INSERT INTO signing_keys (tenant_id, created_at, public_key, private_key_ciphertext) VALUES ($1, $2, $3, $4)
   ON CONFLICT (tenant_id) DO NOTHING`,
);

export async function readSigningKey(tx: TenantTx): Promise<SigningKeyRow | undefined> {
  return (await tx.query(select, tx.tenantId))[0];
}

/** Keeps the key unless there is one; the caller reads it again to see whose was first. */
export async function insertSigningKey(tx: TenantTx, row: SigningKeyRow, at: Date): Promise<void> {
  await tx.query(insert, tx.tenantId, at, row.public_key, row.private_key_ciphertext);
}
