/**
 * Re-encrypts every stored secret with the current master key (docs/decisions/0070). It works in small transactions and
 * keeps no state: after an interruption it starts again, and skips what the current key decrypts.
 */
import { hkdfSync } from "node:crypto";
import type { Database, Scope } from "../db/database.ts";
import { createSecretBox, type MasterKeys, masterKeyCheck, masterKeyThatOpens } from "./master-key.ts";
import {
  installationSecrets,
  masterKeyCheckValue,
  operatorReplies,
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
const nilUuid = "00000000-0000-0000-0000-000000000000";
const operator = { kind: "operator" } as const;

export interface ResealOptions {
  readonly database: Database;
  readonly masterKeys: MasterKeys;
  /** Aborts between two transactions. */
  readonly signal?: AbortSignal;
}

export interface ResealResult {
  /** The number of secrets that were re-encrypted. */
  readonly resealed: number;
  /** Whether a secret is encrypted with neither key. Those secrets are left as they are. */
  readonly unreadable: number;
}

/** Identifies a master key without revealing it. */
export function fingerprintOf(masterKey: Buffer): Buffer {
  return Buffer.from(hkdfSync("sha256", masterKey, "", "gatehouse/master-key-fingerprint/v1", 16));
}

/** Asks the servers that encrypt with the current key to re-encrypt everything with it. */
export function requestReseal(database: Database, { current }: MasterKeys): Promise<void> {
  return database.transaction(operator, (tx) => storeRotationTarget(tx, fingerprintOf(current)));
}

/** Whether everything is to be re-encrypted with the current key. */
export async function isResealRequested(database: Database, { current }: MasterKeys): Promise<boolean> {
  const target = await database.transaction(operator, rotationTarget);
  return target?.equals(fingerprintOf(current)) === true;
}

/** Whether all secrets are encrypted with the current key, according to the last complete run. */
export async function isResealed(database: Database, { current }: MasterKeys): Promise<boolean> {
  const check = await database.transaction(operator, masterKeyCheckValue);
  return check === undefined || masterKeyThatOpens({ current }, check) !== undefined;
}

/**
 * Re-encrypts what the second key encrypts. The check text is last: until then, a server without the second key does
 * not start.
 */
export async function resealSecrets(options: ResealOptions): Promise<ResealResult> {
  const { database, masterKeys } = options;
  const total = { resealed: 0, unreadable: 0 };
  const add = (result: ResealResult) => {
    total.resealed += result.resealed;
    total.unreadable += result.unreadable;
  };
  for (let after: string | undefined = nilUuid; after !== undefined; ) {
    const from: string = after;
    const tenants = await database.snapshot(operator, (tx) => tenantsFrom(tx, from, tenantsAtOnce));
    for (const tenantId of tenants) {
      for (const table of tenantSecrets) add(await resealTable(options, { kind: "tenant", tenantId }, table));
    }
    after = tenants.at(-1);
  }
  for (const table of installationSecrets) add(await resealTable(options, operator, table));
  add(await resealTable(options, { kind: "operator", tenantId: nilUuid }, operatorReplies));
  const check = await database.transaction(operator, masterKeyCheckValue);
  if (check !== undefined && total.unreadable === 0 && !(await isResealed(database, masterKeys))) {
    const { text, context } = masterKeyCheck;
    const sealed = createSecretBox(masterKeys.current, "master-key-check").seal(text, context);
    await database.transaction(operator, (tx) => replaceMasterKeyCheck(tx, check, sealed));
  }
  return total;
}

async function resealTable(
  { database, masterKeys, signal }: ResealOptions,
  scope: Scope,
  table: SecretTable,
): Promise<ResealResult> {
  const boxes = {
    current: createSecretBox(masterKeys.current, table.purpose),
    any: createSecretBox(masterKeys, table.purpose),
  };
  const result = { resealed: 0, unreadable: 0 };
  for (let after = ""; ; ) {
    signal?.throwIfAborted();
    const from = after;
    const rows = await database.transaction(scope, async (tx) => {
      const found = await tx.query(table.select, from, rowsAtOnce);
      for (const secret of found) {
        const ciphertext = resealed(secret, boxes);
        if (ciphertext === "current") continue;
        if (ciphertext === "unreadable") result.unreadable += 1;
        else {
          await tx.query(table.replace, secret.key, secret.ciphertext, ciphertext);
          result.resealed += 1;
        }
      }
      return found;
    });
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsAtOnce) return result;
    after = last.key;
  }
}

type Box = ReturnType<typeof createSecretBox>;

function resealed(
  { ciphertext, context }: StoredSecret,
  { current, any }: { readonly current: Box; readonly any: Box },
): Buffer | "current" | "unreadable" {
  try {
    current.open(ciphertext, context);
    return "current";
  } catch {
    try {
      return current.seal(any.open(ciphertext, context), context);
    } catch {
      return "unreadable";
    }
  }
}
