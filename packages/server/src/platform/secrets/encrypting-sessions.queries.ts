/** Finds the sessions that encrypt with another master key, and forbids a key (docs/decisions/0242). */
import { containsKey, fingerprintOf, lockOf, masterKeyLockClass } from "../db/announced-master-key.ts";
import type { Transaction } from "../db/database.ts";
import { statement, unprepared } from "../db/statement.ts";

/** A session that is older, in seconds, has taken its lock. */
const preparedWithinSeconds = 10;

/** A group of sessions that encrypt with another key, or with an unknown one. */
export interface OtherSessions {
  /** Null for a socket of the database's machine. */
  readonly address: string | null;
  /** False for a server of an earlier version, which does not announce its key. */
  readonly announced: boolean;
  /** When the first of them began. */
  readonly since: string;
}

const tryLock = statement<{ locked: boolean }, [lock: number]>(
  "master_key.lock",
  `SELECT pg_try_advisory_xact_lock(${masterKeyLockClass}, $1) AS locked`,
);
const selectReplaced = statement<{ value: Buffer }, []>(
  "master_key.replaced",
  "SELECT value FROM installation WHERE name = 'master-keys-replaced'",
);
const upsertReplaced = statement<never, [fingerprint: Buffer]>(
  "master_key.store_replaced",
  `INSERT INTO installation (name, value) VALUES ('master-keys-replaced', $1)
   ON CONFLICT (name) DO UPDATE SET value = installation.value || excluded.value`,
);
/** Addresses are only visible to the user that the servers log in as. */
const asLoginUser = unprepared<never, []>("SET LOCAL ROLE NONE");
const selectOthers = unprepared<OtherSessions, [lock: number]>(
  `SELECT host(session.client_addr) AS address, lock.objid IS NOT NULL AS announced, min(session.backend_start) AS since
   FROM pg_stat_activity AS session
   LEFT JOIN pg_locks AS lock ON lock.pid = session.pid AND lock.locktype = 'advisory' AND lock.granted
     AND lock.database = session.datid AND lock.classid = ${masterKeyLockClass} AND lock.objsubid = 2
   WHERE session.datname = current_database() AND CASE WHEN lock.objid IS NULL
     THEN session.application_name = 'gatehouse'
       AND session.backend_start < now() - interval '${preparedWithinSeconds} seconds'
     ELSE lock.objid <> $1::integer::oid END
   GROUP BY 1, 2 ORDER BY 3`,
);

/** The sessions that encrypt with another key than this one. It must run in a transaction of its own. */
export async function otherSessions(transaction: Transaction, masterKey: Buffer): Promise<readonly OtherSessions[]> {
  await transaction.query(asLoginUser);
  return transaction.query(selectOthers, lockOf(masterKey));
}

/**
 * Forbids to encrypt with a key, for ever. Returns false if a session still encrypts with it. A session that begins
 * during the transaction waits for its end, and is then refused.
 */
export async function replaceMasterKey(transaction: Transaction, masterKey: Buffer): Promise<boolean> {
  const [lock] = await transaction.query(tryLock, lockOf(masterKey));
  if (lock?.locked !== true) return false;
  if (!(await isReplaced(transaction, masterKey))) await transaction.query(upsertReplaced, fingerprintOf(masterKey));
  return true;
}

export async function isReplaced(transaction: Transaction, masterKey: Buffer): Promise<boolean> {
  return containsKey((await transaction.query(selectReplaced))[0]?.value, masterKey);
}
