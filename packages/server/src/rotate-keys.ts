/** `gatehouse rotate master-key` and `gatehouse rotate audit-key`: rotations by the operator on the machine. */
import type { Config } from "./config.ts";
import { requireMasterKeys } from "./master-keys.ts";
import { openUnmigrated } from "./open-database.ts";
import { AuditKeys } from "./platform/audit/audit-keys.ts";
import { appendOperatorEntry } from "./platform/audit/operator-record.queries.ts";
import { operatorRecord } from "./platform/audit/signed-heads.ts";
import { Database, type Transaction } from "./platform/db/database.ts";
import { newId } from "./platform/ids.ts";
import type { Log } from "./platform/log.ts";
import { otherSessions } from "./platform/secrets/encrypting-sessions.queries.ts";
import type { MasterKeys } from "./platform/secrets/master-key.ts";
import { readSecondMasterKey, replaceMasterKeyFile } from "./platform/secrets/master-key-file.ts";
import {
  countSecrets,
  describeSessions,
  isResealed,
  isResealRequested,
  requestReseal,
  type SecretCounts,
} from "./platform/secrets/reseal.ts";
import { StartError } from "./platform/start-error.ts";
import { explained } from "./verify-audit.ts";

const scope = { kind: "operator" } as const;

interface Work<T> {
  /** The key that `work` encrypts with; undefined if it only reads. */
  readonly masterKey: Buffer | undefined;
  readonly work: (database: Database) => Promise<T>;
}

async function withDatabase<T>(config: Config, log: Log, { masterKey, work }: Work<T>): Promise<T> {
  const { connection, stop } = await openUnmigrated(config, log);
  try {
    const database = new Database({ connection, poolSize: 2, masterKey, statementTimeoutMs: 60_000 });
    try {
      return await work(database);
    } catch (error) {
      throw explained(error, config);
    } finally {
      await database.close();
    }
  } finally {
    await stop();
  }
}

export interface MasterKeyRotation {
  /**
   * `prepared`: restart the server. `requested`: the servers re-encrypt. `complete`: nothing is left to do.
   * `unreadable`: some secrets need a key that is not configured.
   */
  readonly state: "prepared" | "requested" | "not-requested" | "in-progress" | "complete" | "unreadable";
  /** The stored secrets by the key that decrypts them; with `--status`. */
  readonly secrets?: SecretCounts;
  /** Servers that encrypt with another key, in words; with `--status`. */
  readonly otherServers?: string;
}

/** Whether stored secrets are still encrypted with another key than the current one. Reads all of them. */
export async function masterKeyRotationState(config: Config, log: Log): Promise<MasterKeyRotation> {
  const masterKeys = await requireMasterKeys(config, log);
  const work = (database: Database) => rotationStateIn(database, masterKeys);
  const rotation = await withDatabase(config, log, { masterKey: undefined, work });
  // A server on its data folder begins by itself, after its restart.
  return rotation.state === "not-requested" && hasKeyFile(config) ? { ...rotation, state: "in-progress" } : rotation;
}

/** The same on an open database. */
export async function rotationStateIn(database: Database, masterKeys: MasterKeys): Promise<MasterKeyRotation> {
  // Before the secrets are read: no server can encrypt with the second key after the rotation was requested.
  const isRequested = masterKeys.second === undefined || (await isResealRequested(database, masterKeys));
  const others = await database.transaction(scope, (tx) => otherSessions(tx, masterKeys.current));
  const isPassComplete = await isResealed(database, masterKeys);
  const secrets = await countSecrets({ database, masterKeys });
  const state = () => {
    if (secrets.unreadable > 0) return "unreadable";
    if (!isRequested) return "not-requested";
    return isPassComplete && secrets.second === 0 && others.length === 0 ? "complete" : "in-progress";
  };
  return { state: state(), secrets, ...(others.length > 0 && { otherServers: describeSessions(others) }) };
}

function hasKeyFile({ databaseUrl, masterKey }: Config): boolean {
  return databaseUrl === undefined && masterKey === undefined;
}

/**
 * Begins a rotation. In a data folder, replaces the key by a new one, and keeps the previous one beside it. With a
 * database URL, the keys are configured: asks the servers to re-encrypt everything with their current key.
 *
 * @throws StartError if an earlier rotation is not complete, keys are missing, or a server encrypts with another key
 */
export async function rotateMasterKey(config: Config, log: Log): Promise<MasterKeyRotation> {
  const masterKeys = await requireMasterKeys(config, log);
  const { current, second } = masterKeys;
  if (hasKeyFile(config)) {
    if ((await readSecondMasterKey(config.dataDir, log)) !== undefined) {
      throw new StartError(
        "A rotation of the master key is in progress.",
        "Start Gatehouse, and wait until it logs that the rotation is complete.",
      );
    }
    const work = (database: Database) => database.transaction(scope, recordRotation);
    await withDatabase(config, log, { masterKey: undefined, work });
    await replaceMasterKeyFile(config.dataDir, current);
    return { state: "prepared" };
  }
  if (second === undefined || second.equals(current)) {
    throw new StartError(
      second === undefined ? "Only one master key is configured." : "Both master keys are the same.",
      "Set GATEHOUSE_MASTER_KEY to the new key and GATEHOUSE_SECOND_MASTER_KEY to the previous one, for all servers and for this command.",
    );
  }
  const work = (database: Database) => requestRotationIn(database, masterKeys);
  return withDatabase(config, log, { masterKey: current, work });
}

/**
 * Asks the servers to re-encrypt everything, on an open database. A complete rotation stays as it is: a new pass would
 * prevent starts of servers that no longer have the second key.
 */
export async function requestRotationIn(database: Database, masterKeys: MasterKeys): Promise<MasterKeyRotation> {
  if ((await rotationStateIn(database, masterKeys)).state === "complete") return { state: "complete" };
  await requestReseal(database, masterKeys, recordRotation);
  return { state: "requested" };
}

/** Generates a key that signs the audit records from now on. @returns the public keys, in base64 */
export async function rotateAuditKey(
  config: Config,
  log: Log,
): Promise<{ readonly from: string; readonly to: string }> {
  const masterKeys = await requireMasterKeys(config, log);
  const work = (database: Database) => rotateAuditKeyIn(database, masterKeys);
  return withDatabase(config, log, { masterKey: masterKeys.current, work });
}

/** The same on an open database. */
export async function rotateAuditKeyIn(
  database: Database,
  masterKeys: MasterKeys,
): Promise<{ readonly from: string; readonly to: string }> {
  const keys = new AuditKeys(database, masterKeys);
  await keys.refresh(new Date());
  return database.transaction(scope, async (transaction) => {
    const rotated = await keys.rotate(transaction, new Date());
    const entry = { id: newId(), at: new Date(), operation: "rotateAuditKey", tenantId: operatorRecord };
    await appendOperatorEntry(transaction, { ...entry, reason: `${rotated.from} is replaced by ${rotated.to}` });
    return rotated;
  });
}

function recordRotation(transaction: Transaction): Promise<void> {
  return appendOperatorEntry(transaction, {
    id: newId(),
    at: new Date(),
    operation: "rotateMasterKey",
    tenantId: operatorRecord,
    reason: "Rotation of the master key",
  });
}
