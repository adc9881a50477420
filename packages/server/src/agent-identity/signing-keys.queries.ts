import type { SigningKeyHandover } from "@gatehouse/agent-protocol/link/signing-key-handover";
import { statement } from "../platform/db/statement.ts";
import type { TenantTx } from "../platform/tenancy/tenant-tx.ts";

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

/** Stores the key unless the tenant has one. Read the key afterwards: another replica may have been first. */
export async function insertSigningKey(tx: TenantTx, row: SigningKeyRow, at: Date): Promise<void> {
  await tx.query(insert, tx.tenantId, at, row.public_key, row.private_key_ciphertext);
}

const lock = statement<SigningKeyRow, [tenantId: string]>(
  "gateway_link.lock_signing_key",
  "SELECT public_key, private_key_ciphertext FROM signing_keys WHERE tenant_id = $1 FOR UPDATE",
);
const replace = statement<never, [tenantId: string, at: Date, publicKey: Buffer, privateKeyCiphertext: Buffer]>(
  "gateway_link.replace_signing_key",
  "UPDATE signing_keys SET created_at = $2, public_key = $3, private_key_ciphertext = $4 WHERE tenant_id = $1",
);
const selectHandovers = statement<SigningKeyHandover, [tenantId: string, limit: number]>(
  "gateway_link.signing_key_handovers",
  `SELECT "from", "to", signature FROM (
     SELECT number, encode(from_key, 'base64') AS "from", encode(to_key, 'base64') AS "to",
       translate(encode(signature, 'base64'), E'\\n', '') AS signature
     FROM signing_key_handovers WHERE tenant_id = $1 ORDER BY number DESC LIMIT $2
   ) AS newest ORDER BY number`,
);
const insertNext = statement<never, [tenantId: string, at: Date, from: string, to: string, signature: string]>(
  "gateway_link.insert_signing_key_handover",
  `INSERT INTO signing_key_handovers (tenant_id, number, created_at, from_key, to_key, signature)
   SELECT $1, coalesce(max(number), 0) + 1, $2, decode($3, 'base64'), decode($4, 'base64'), decode($5, 'base64')
   FROM signing_key_handovers WHERE tenant_id = $1`,
);

/** Reads the key, and makes other rotations wait until the transaction ends. */
export async function lockSigningKey(tx: TenantTx): Promise<SigningKeyRow | undefined> {
  return (await tx.query(lock, tx.tenantId))[0];
}

export async function replaceSigningKey(tx: TenantTx, row: SigningKeyRow, at: Date): Promise<void> {
  await tx.query(replace, tx.tenantId, at, row.public_key, row.private_key_ciphertext);
}

/** The newest hand-overs, the oldest of them first. */
export function readHandovers(tx: TenantTx, limit: number): Promise<readonly SigningKeyHandover[]> {
  return tx.query(selectHandovers, tx.tenantId, limit);
}

/** Requires the lock of the key. */
export async function insertHandover(
  tx: TenantTx,
  { from, to, signature }: SigningKeyHandover,
  at: Date,
): Promise<void> {
  await tx.query(insertNext, tx.tenantId, at, from, to, signature);
}
