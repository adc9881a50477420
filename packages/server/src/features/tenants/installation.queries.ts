import type { Transaction } from "../../platform/db/database.ts";
import { statement } from "../../platform/db/statement.ts";

/** An arbitrary number that all replicas share. The replica with the lock sets up the installation. */
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

/** Locks the set-up of the installation until the transaction ends. */
export async function lockInstallation(transaction: Transaction): Promise<void> {
  await transaction.query(lock, setUpLock);
}

/**
 * Facts about the installation, each written once: the SHA-256 of the generated operator key, a known text encrypted
 * with the master key, and the id of the tenant that was filled with example records.
 */
export type InstallationFact = "operator-key-sha256" | "master-key-check" | "demo-tenant";

export async function readFact(transaction: Transaction, fact: InstallationFact): Promise<Buffer | undefined> {
  return (await transaction.query(select, fact))[0]?.value;
}

export async function storeFact(transaction: Transaction, fact: InstallationFact, value: Buffer): Promise<void> {
  await transaction.query(insert, fact, value);
}
