/** Reads and stores the keys that sign the audit records. All queries require the operator's scope. */
import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { AuditKeyHandover } from "./signatures.ts";

export interface AuditKeyRow {
  /** 1, 2, 3 …; the last key signs. */
  readonly number: number;
  readonly createdAt: string;
  /** 32 bytes in base64. */
  readonly publicKey: string;
  /** The encrypted seed. */
  readonly ciphertext: Buffer;
  /** The signatures of the previous key and of this one, in base64; null for the first key. */
  readonly previousSignature: string | null;
  readonly ownSignature: string | null;
}

const base64 = (column: string) => `translate(encode(${column}, 'base64'), E'\\n', '')`;
const select = statement<AuditKeyRow, []>(
  "audit_keys.all",
  `SELECT number, created_at AS "createdAt", ${base64("public_key")} AS "publicKey", private_key_ciphertext AS ciphertext,
     ${base64("previous_signature")} AS "previousSignature", ${base64("own_signature")} AS "ownSignature"
   FROM audit_keys ORDER BY number`,
);
const insert = statement<
  never,
  [
    number: number,
    createdAt: string,
    publicKey: string,
    ciphertext: Buffer,
    previousSignature: string | null,
    ownSignature: string | null,
  ]
>(
  "audit_keys.insert",
  `INSERT INTO audit_keys (number, created_at, public_key, private_key_ciphertext, previous_signature, own_signature)
   VALUES ($1, $2, decode($3, 'base64'), $4, decode($5, 'base64'), decode($6, 'base64')) ON CONFLICT DO NOTHING`,
);
const selectCheck = statement<{ value: Buffer }, []>(
  "audit_keys.master_key_check",
  "SELECT value FROM installation WHERE name = 'master-key-check'",
);

export function auditKeyRows(transaction: Transaction): Promise<readonly AuditKeyRow[]> {
  return transaction.query(select);
}

/** Stores a key. Another process may have stored one with the same number: read the keys afterwards. */
export async function insertAuditKey(transaction: Transaction, row: AuditKeyRow): Promise<void> {
  const { number, createdAt, publicKey, ciphertext, previousSignature, ownSignature } = row;
  await transaction.query(insert, number, createdAt, publicKey, ciphertext, previousSignature, ownSignature);
}

/** The known text that is encrypted with the installation's master key; undefined in a new database. */
export async function masterKeyCheckOf(transaction: Transaction): Promise<Buffer | undefined> {
  return (await transaction.query(selectCheck))[0]?.value;
}

/** The statements by which each key replaced the one before. Their signatures are not checked. */
export function handoversOf(rows: readonly AuditKeyRow[]): readonly AuditKeyHandover[] {
  return rows.flatMap(({ createdAt, publicKey, previousSignature, ownSignature }, index) => {
    const from = rows[index - 1]?.publicKey;
    if (from === undefined || previousSignature === null || ownSignature === null) return [];
    return [{ from, to: publicKey, createdAt, signatures: { from: previousSignature, to: ownSignature } }];
  });
}
