/**
 * The master key of each database session (docs/decisions/0242). A connection of a server holds an advisory lock on its
 * key. PostgreSQL releases the lock when the session ends, however the server ends.
 */
import { hkdfSync } from "node:crypto";
import { StartError } from "../start-error.ts";

/** The first part of the locks' keys. No other lock of two numbers uses it. */
export const masterKeyLockClass = 722_641;
const fingerprintBytes = 16;

/** The server encrypts with a master key that a rotation has replaced. What it wrote would need that key for ever. */
export class ReplacedMasterKeyError extends StartError {
  constructor() {
    super(
      "GATEHOUSE_MASTER_KEY is a key that was replaced. A server must not encrypt with it again.",
      "Set GATEHOUSE_MASTER_KEY to the current key. During a rotation, the replaced key is GATEHOUSE_SECOND_MASTER_KEY.",
    );
    this.name = "ReplacedMasterKeyError";
  }
}

/** Identifies a master key without revealing it. */
export function fingerprintOf(masterKey: Buffer): Buffer {
  return Buffer.from(hkdfSync("sha256", masterKey, "", "gatehouse/master-key-fingerprint/v1", fingerprintBytes));
}

/** The second part of the key of the lock. */
export function lockOf(masterKey: Buffer): number {
  return fingerprintOf(masterKey).readInt32BE();
}

interface Session {
  query(text: string): Promise<{ readonly rows: readonly { readonly value?: Buffer }[] }>;
}

/**
 * Announces on a new connection that it encrypts with a key.
 *
 * @throws ReplacedMasterKeyError; then the connection must not be used
 */
export async function announceMasterKey(session: Session, masterKey: Buffer): Promise<void> {
  await session.query(`SELECT pg_advisory_lock_shared(${masterKeyLockClass}, ${lockOf(masterKey)})`);
  // Must follow the lock, in its own transaction: a rotation holds the lock until it has stored the key.
  const { rows } = await session.query("SELECT value FROM installation WHERE name = 'master-keys-replaced'");
  if (containsKey(rows[0]?.value, masterKey)) throw new ReplacedMasterKeyError();
}

/** Whether stored fingerprints contain the one of a key. */
export function containsKey(fingerprints: Buffer | undefined, masterKey: Buffer): boolean {
  const wanted = fingerprintOf(masterKey);
  for (let at = 0; at < (fingerprints?.length ?? 0); at += fingerprintBytes) {
    if (fingerprints?.subarray(at, at + fingerprintBytes).equals(wanted) === true) return true;
  }
  return false;
}
