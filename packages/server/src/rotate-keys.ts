/** `gatehouse rotate master-key` and `gatehouse rotate audit-key`: rotations by the operator on the machine. */
import type { Config } from "./config.ts";
import { requireMasterKeys } from "./master-keys.ts";
import { openUnmigrated } from "./open-database.ts";
import { AuditKeys } from "./platform/audit/audit-keys.ts";
import { appendOperatorEntry } from "./platform/audit/operator-record.queries.ts";
import { operatorRecord } from "./platform/audit/signed-heads.ts";
import { Database } from "./platform/db/database.ts";
import { newId } from "./platform/ids.ts";
import type { Log } from "./platform/log.ts";
import type { MasterKeys } from "./platform/secrets/master-key.ts";
import { readSecondMasterKey, replaceMasterKeyFile } from "./platform/secrets/master-key-file.ts";
import { isResealed, requestReseal } from "./platform/secrets/reseal.ts";
import { StartError } from "./platform/start-error.ts";
import { explained } from "./verify-audit.ts";

const scope = { kind: "operator" } as const;

async function withDatabase<T>(config: Config, log: Log, work: (database: Database) => Promise<T>): Promise<T> {
  const { connection, stop } = await openUnmigrated(config, log);
  try {
    const database = new Database({ connection, poolSize: 2, statementTimeoutMs: 60_000 });
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
  /** `prepared`: restart the server. `requested`: the servers re-encrypt. `complete`: nothing is left to do. */
  readonly state: "prepared" | "requested" | "in-progress" | "complete";
}

/** Whether stored secrets are still encrypted with another key than the current one. */
export async function masterKeyRotationState(config: Config, log: Log): Promise<MasterKeyRotation> {
  const masterKeys = await requireMasterKeys(config, log);
  const isDone = await withDatabase(config, log, (database) => isResealed(database, masterKeys));
  return { state: isDone ? "complete" : "in-progress" };
}

/**
 * Begins a rotation. In a data folder, replaces the key by a new one, and keeps the previous one beside it. With a
 * database URL, the keys are configured: asks the servers to re-encrypt everything with their current key.
 *
 * @throws StartError if an earlier rotation is not complete, or the keys are missing
 */
export async function rotateMasterKey(config: Config, log: Log): Promise<MasterKeyRotation> {
  const masterKeys = await requireMasterKeys(config, log);
  if (config.databaseUrl === undefined && config.masterKey === undefined) {
    if ((await readSecondMasterKey(config.dataDir, log)) !== undefined) {
      throw new StartError(
        "A rotation of the master key is in progress.",
        "Start Gatehouse, and wait until it logs that the rotation is complete.",
      );
    }
    await withDatabase(config, log, (database) => recordRotation(database, "rotateMasterKey"));
    await replaceMasterKeyFile(config.dataDir, masterKeys.current);
    return { state: "prepared" };
  }
  if (masterKeys.second === undefined) {
    throw new StartError(
      "Only one master key is configured.",
      "Set GATEHOUSE_MASTER_KEY to the new key and GATEHOUSE_SECOND_MASTER_KEY to the previous one, for all servers and for this command.",
    );
  }
  await withDatabase(config, log, async (database) => {
    await recordRotation(database, "rotateMasterKey");
    await requestReseal(database, masterKeys);
  });
  return { state: "requested" };
}

/** Generates a key that signs the audit records from now on. @returns the public keys, in base64 */
export async function rotateAuditKey(
  config: Config,
  log: Log,
): Promise<{ readonly from: string; readonly to: string }> {
  const masterKeys = await requireMasterKeys(config, log);
  return withDatabase(config, log, (database) => rotateAuditKeyIn(database, masterKeys));
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

function recordRotation(database: Database, operation: string): Promise<void> {
  const entry = {
    id: newId(),
    at: new Date(),
    operation,
    tenantId: operatorRecord,
    reason: "Rotation of the master key",
  };
  return database.transaction(scope, (transaction) => appendOperatorEntry(transaction, entry));
}
