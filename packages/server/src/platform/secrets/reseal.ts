/** The state of a rotation of the master key (docs/decisions/0070): its request, its completion and its progress. */
import { fingerprintOf } from "../db/announced-master-key.ts";
import type { Database, Transaction } from "../db/database.ts";
import { StartError } from "../start-error.ts";
import { isReplaced, type OtherSessions, otherSessions, replaceMasterKey } from "./encrypting-sessions.queries.ts";
import { createSecretBox, type MasterKeys, masterKeyCheck, masterKeyThatOpens } from "./master-key.ts";
import { masterKeyCheckValue, overwriteMasterKeyCheck, rotationTarget, storeRotationTarget } from "./reseal.queries.ts";
import { pagesOf, SecretReader, scopedTables } from "./secret-pages.ts";

const operator = { kind: "operator" } as const;
/** The most tenants that a status names. */
const mostNamed = 10;

/** How many stored secrets each key decrypts. */
export interface SecretCounts {
  readonly current: number;
  readonly second: number;
  /** Secrets that neither key decrypts. */
  readonly unreadable: number;
  /** The tables of those, by name. */
  readonly unreadableTables: Readonly<Record<string, number>>;
  /** The tenants with the most secrets that need the second key, at most ten. */
  readonly behind: readonly TenantBehind[];
}

/** A tenant whose secrets need the second key. */
export interface TenantBehind {
  readonly tenantId: string;
  readonly secrets: number;
}

/** Servers that encrypt with another key than the current one would write secrets behind the re-encryption. */
export class OtherKeyInUseError extends StartError {
  constructor(sessions: readonly OtherSessions[]) {
    super(
      `Servers still encrypt with another master key: ${describeSessions(sessions)}. Nothing was changed.`,
      "Restart each of these servers with the new key as GATEHOUSE_MASTER_KEY, or stop it. Then repeat the command.",
    );
    this.name = "OtherKeyInUseError";
  }
}

/** The second key does not encrypt the secrets: the keys were not exchanged, or one of them is mistyped. */
export class NotFormerKeyError extends StartError {
  constructor() {
    super(
      "The second master key is not the one that encrypts the stored secrets. Nothing was changed.",
      "Exchange the values of GATEHOUSE_MASTER_KEY and GATEHOUSE_SECOND_MASTER_KEY on every server first. Then repeat the command.",
    );
    this.name = "NotFormerKeyError";
  }
}

export function describeSessions(sessions: readonly OtherSessions[]): string {
  if (sessions.length === 0) return "a connection that has just begun";
  const texts = sessions.map(({ address, announced, since }) => {
    const version = announced ? "" : ", of an earlier version of Gatehouse";
    return `${address ?? "on the machine of the database"} (since ${since}${version})`;
  });
  return texts.join(", ");
}

/**
 * Asks the servers that encrypt with the current key to re-encrypt everything with it, in a new complete pass. No
 * server can encrypt with the second key afterwards.
 *
 * @param record stores the entry of the audit record in the same transaction
 * @throws OtherKeyInUseError if a server encrypts with another key
 * @throws NotFormerKeyError if the second key has never encrypted the secrets
 */
export async function requestReseal(
  database: Database,
  { current, second }: MasterKeys,
  record: (transaction: Transaction) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const others = () => database.transaction(operator, (tx) => otherSessions(tx, current));
  const sessions = await others();
  if (sessions.length > 0) throw new OtherKeyInUseError(sessions);
  const isFree = await database.transaction(operator, async (tx) => {
    if (second !== undefined && !(await isFormer(tx, second))) throw new NotFormerKeyError();
    if (second !== undefined && !(await replaceMasterKey(tx, second))) return false;
    await record(tx);
    await storeRotationTarget(tx, fingerprintOf(current));
    // Until a complete pass has replaced the text, the rotation is in progress. A pass that runs now does not count.
    if (second !== undefined) await overwriteMasterKeyCheck(tx, sealedCheck(second));
    return true;
  });
  if (!isFree) throw new OtherKeyInUseError(await others());
}

/** Whether the key encrypts the known text, or was replaced by an earlier request. */
async function isFormer(transaction: Transaction, masterKey: Buffer): Promise<boolean> {
  if (await isReplaced(transaction, masterKey)) return true;
  const check = await masterKeyCheckValue(transaction);
  return check === undefined || masterKeyThatOpens({ current: masterKey }, check) !== undefined;
}

/** The known text, encrypted with a key. */
export function sealedCheck(masterKey: Buffer): Buffer {
  return createSecretBox(masterKey, "master-key-check").seal(masterKeyCheck.text, masterKeyCheck.context);
}

/** Whether everything is to be re-encrypted with the current key, and nothing is encrypted with the second one. */
export function isResealRequested(database: Database, { current, second }: MasterKeys): Promise<boolean> {
  return database.transaction(operator, async (tx) => {
    const target = await rotationTarget(tx);
    if (target?.equals(fingerprintOf(current)) !== true) return false;
    return second === undefined || isReplaced(tx, second);
  });
}

/** Whether all secrets are encrypted with the current key, according to the last complete pass. */
export async function isResealed(database: Database, { current }: MasterKeys): Promise<boolean> {
  const check = await database.transaction(operator, masterKeyCheckValue);
  return check === undefined || masterKeyThatOpens({ current }, check) !== undefined;
}

/** Tries to decrypt every stored secret. Changes nothing. */
export async function countSecrets(options: {
  readonly database: Database;
  readonly masterKeys: MasterKeys;
}): Promise<SecretCounts> {
  const { database, masterKeys } = options;
  const total = { current: 0, second: 0, unreadable: 0 };
  const unreadableTables: Record<string, number> = {};
  const behind = new Map<string, number>();
  for await (const part of scopedTables(database)) {
    const { name } = part.table;
    const reader = new SecretReader(masterKeys, part.table);
    for await (const { rows } of pagesOf(database, part)) {
      for (const row of rows) {
        const key = reader.keyOf(row);
        total[key] += 1;
        if (key === "unreadable") unreadableTables[name] = (unreadableTables[name] ?? 0) + 1;
        if (key === "second" && part.tenantId !== undefined) {
          behind.set(part.tenantId, (behind.get(part.tenantId) ?? 0) + 1);
        }
      }
    }
  }
  const ordered = [...behind].sort(([, one], [, other]) => other - one).slice(0, mostNamed);
  const named = ordered.map(([tenantId, secrets]) => ({ tenantId, secrets }));
  return { ...total, unreadableTables, behind: named };
}
