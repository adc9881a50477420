/**
 * Re-encrypts every stored secret with the current master key (docs/decisions/0070). It works in small transactions and
 * keeps no state: after an interruption it starts again, and skips what the current key decrypts.
 */
import { isOutage } from "../background-failures.ts";
import { shortWaitMs } from "../concurrency/lock-wait-slots.ts";
import { fingerprintOf } from "../db/announced-master-key.ts";
import type { Database, Transaction } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import { nilId } from "../ids.ts";
import type { Log } from "../log.ts";
import { StartError } from "../start-error.ts";
import { isReplaced, type OtherSessions, otherSessions, replaceMasterKey } from "./encrypting-sessions.queries.ts";
import { createSecretBox, type MasterKeys, masterKeyCheck, masterKeyThatOpens, type SecretBox } from "./master-key.ts";
import {
  installationSecrets,
  masterKeyCheckValue,
  operatorReplies,
  overwriteMasterKeyCheck,
  replaceMasterKeyCheck,
  rotationTarget,
  type SecretTable,
  type StoredSecret,
  storeRotationTarget,
  tenantSecrets,
  tenantsFrom,
} from "./reseal.queries.ts";

const rowsAtOnce = 100;
const tenantsAtOnce = 500;
const operator = { kind: "operator" } as const;
/** How long a busy tenant may delay the others. The next pass continues with its secrets. */
const waitMs = shortWaitMs;

export interface ResealOptions {
  readonly database: Database;
  readonly masterKeys: MasterKeys;
  /** Aborts between two transactions. */
  readonly signal?: AbortSignal | undefined;
}

export interface ResealSecretsOptions extends ResealOptions {
  /** Receives the failures of tenants. */
  readonly log?: Pick<Log, "warn"> | undefined;
}

export interface ResealResult {
  /** The number of secrets that were re-encrypted. */
  readonly resealed: number;
  /** The number of secrets that neither key decrypts. They are left as they are. */
  readonly unreadable: number;
}

/** How many stored secrets each key decrypts. */
export interface SecretCounts {
  readonly current: number;
  readonly second: number;
  /** Secrets that neither key decrypts. */
  readonly unreadable: number;
  /** The tables of those, by name. */
  readonly unreadableTables: Readonly<Record<string, number>>;
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

function sealedCheck(masterKey: Buffer): Buffer {
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

/**
 * Re-encrypts what the second key encrypts. The check text is last: until then, a server without the second key does
 * not start.
 *
 * @throws the first failure, after the secrets of all other tenants; at once, an outage of the database
 */
export async function resealSecrets(options: ResealSecretsOptions): Promise<ResealResult> {
  const { database, masterKeys } = options;
  const check = await database.transaction(operator, masterKeyCheckValue);
  const total = { resealed: 0, unreadable: 0 };
  const failures: unknown[] = [];
  for await (const part of scopedTables(database)) {
    try {
      await resealTable(options, part, total);
    } catch (error) {
      if (isOutage(error) || options.signal?.aborted === true) throw error;
      options.log?.warn({ err: error, ...tenantOf(part) }, "failed to re-encrypt secrets of a tenant; will retry");
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  if (check !== undefined && total.unreadable === 0 && masterKeyThatOpens(masterKeys, check) !== masterKeys.current) {
    await database.transaction(operator, (tx) => replaceMasterKeyCheck(tx, check, sealedCheck(masterKeys.current)));
  }
  return total;
}

async function resealTable(
  { database, masterKeys, signal }: ResealOptions,
  { scope, table }: ScopedTable,
  total: { resealed: number; unreadable: number },
): Promise<void> {
  const { current, any } = boxesOf(masterKeys, table);
  await eachPage(database, { scope, table, signal }, async (rows, tx) => {
    for (const { key, context, ciphertext } of rows) {
      if (opened(current, ciphertext, context) !== undefined) continue;
      const text = opened(any, ciphertext, context);
      if (text === undefined) total.unreadable += 1;
      else {
        await tx.query(table.replace, key, ciphertext, current.seal(text, context));
        total.resealed += 1;
      }
    }
  });
}

function tenantOf({ scope }: ScopedTable): { readonly tenantId?: string } {
  return scope.kind === "tenant" ? { tenantId: scope.tenantId } : {};
}

/** Tries to decrypt every stored secret. Changes nothing. */
export async function countSecrets({ database, masterKeys, signal }: ResealOptions): Promise<SecretCounts> {
  const total = { current: 0, second: 0, unreadable: 0 };
  const unreadableTables: Record<string, number> = {};
  for await (const { scope, table } of scopedTables(database)) {
    const { current, any } = boxesOf(masterKeys, table);
    await eachPage(database, { scope, table, signal }, async (rows) => {
      for (const { context, ciphertext } of rows) {
        if (opened(current, ciphertext, context) !== undefined) total.current += 1;
        else if (opened(any, ciphertext, context) !== undefined) total.second += 1;
        else {
          total.unreadable += 1;
          unreadableTables[table.name] = (unreadableTables[table.name] ?? 0) + 1;
        }
      }
    });
  }
  return { ...total, unreadableTables };
}

interface ScopedTable {
  readonly scope: Scope;
  readonly table: SecretTable;
}

/** Every table with secrets, in each scope that has a part of it. */
async function* scopedTables(database: Database): AsyncGenerator<ScopedTable> {
  for (let afterTenantId: string | undefined = nilId; afterTenantId !== undefined; ) {
    const from: string = afterTenantId;
    const tenants = await database.snapshot(operator, (tx) => tenantsFrom(tx, from, tenantsAtOnce));
    for (const tenantId of tenants) {
      for (const table of tenantSecrets) yield { scope: { kind: "tenant", tenantId, waitMs }, table };
    }
    afterTenantId = tenants.at(-1);
  }
  for (const table of installationSecrets) yield { scope: operator, table };
  yield { scope: { kind: "operator", tenantId: nilId }, table: operatorReplies };
}

/** Calls `work` for each page of a table, in the transaction that reads the page. */
async function eachPage(
  database: Database,
  { scope, table, signal }: ScopedTable & { readonly signal: AbortSignal | undefined },
  work: (rows: readonly StoredSecret[], transaction: Transaction) => Promise<void>,
): Promise<void> {
  for (let afterKey: string | undefined = ""; afterKey !== undefined; ) {
    signal?.throwIfAborted();
    const from: string = afterKey;
    const rows = await database.transaction(scope, async (tx) => {
      const found = await tx.query(table.select, from, rowsAtOnce);
      await work(found, tx);
      return found;
    });
    afterKey = rows.length < rowsAtOnce ? undefined : rows.at(-1)?.key;
  }
}

function boxesOf(masterKeys: MasterKeys, { purpose }: SecretTable) {
  return { current: createSecretBox(masterKeys.current, purpose), any: createSecretBox(masterKeys, purpose) };
}

function opened(box: SecretBox, ciphertext: Buffer, context: string): string | undefined {
  try {
    return box.open(ciphertext, context);
  } catch {
    return undefined;
  }
}
