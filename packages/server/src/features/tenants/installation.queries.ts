import type { Transaction } from "../../platform/db/database.ts";
import { statement } from "../../platform/db/statement.ts";

/** Any number, as long as every replica uses the same: one of them sets the installation up. */
const setUpLock = 7_226_410_774;

const lock = statement<never, [lock: number]>("installation.lock", "SELECT pg_advisory_xact_lock($1)");
const select = statement<{ value: Buffer }, [name: string]>(
  "installation.read",
  "SELECT value FROM installation WHERE name = $1",
);
const insert = statement<never, [name: string, value: Buffer]>(
  "installation.insert",
  "INSERT INTO installation (name, value) VALUES ($1, $2)",
);

/** Waits until no other replica is setting the installation up, and keeps them waiting until the transaction ends. */
export async function lockInstallation(transaction: Transaction): Promise<void> {
  await transaction.query(lock, setUpLock);
}

/** The SHA-256 of the operator key that was made at the first start. */
export async function readOperatorKeyHash(transaction: Transaction): Promise<Buffer | undefined> {
  return (await transaction.query(select, "operator-key-sha256"))[0]?.value;
}

export async function storeOperatorKeyHash(transaction: Transaction, hash: Buffer): Promise<void> {
  await transaction.query(insert, "operator-key-sha256", hash);
}
