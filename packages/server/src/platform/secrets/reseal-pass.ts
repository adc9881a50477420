/**
 * Re-encrypts every stored secret with the current master key (docs/decisions/0070). It works in small transactions and
 * keeps no state: after an interruption it starts again, and skips what the current key decrypts.
 *
 * First it re-encrypts what is not locked, of all tenants, without waiting. Then it waits for the locks of the rest.
 * No tenant can prevent the completion: the wait grows until it is longer than that of the tenant's own commands.
 */
import { isOutage } from "../background-failures.ts";
import type { Database } from "../db/database.ts";
import type { Log } from "../log.ts";
import { type MasterKeys, masterKeyThatOpens } from "./master-key.ts";
import { masterKeyCheckValue, replaceMasterKeyCheck, type StoredSecret } from "./reseal.queries.ts";
import { sealedCheck } from "./reseal.ts";
import { pagesOf, type ScopedTable, SecretReader, scopedTables } from "./secret-pages.ts";

const operator = { kind: "operator" } as const;
/**
 * How long a transaction waits for the lock of a secret after zero, one, two … passes in which the tenant was busy, in
 * milliseconds. PostgreSQL serves waiting transactions mostly in their order. Commands wait for at most 15 seconds, so
 * after that time only the holder of the lock can still be ahead.
 */
const waitsMs = [2_000, 10_000, 30_000] as const;

export interface ResealOptions {
  readonly database: Database;
  readonly masterKeys: MasterKeys;
  /** Aborts between two transactions. */
  readonly signal?: AbortSignal | undefined;
  /** Receives the failures of tenants. */
  readonly log?: Pick<Log, "warn"> | undefined;
  /** The number of consecutive passes in which each tenant was busy. Pass the same map to the next pass. */
  readonly failures?: Map<string, number>;
}

export interface ResealResult {
  /** The number of secrets that were re-encrypted. */
  readonly resealed: number;
  /** The number of secrets that neither key decrypts. They are left as they are. */
  readonly unreadable: number;
}

/**
 * Re-encrypts what the second key encrypts. The check text is last: until then, a server without the second key does
 * not start.
 *
 * @throws the first failure, after the secrets of all other tenants; at once, an error of the whole database
 */
export async function resealSecrets(options: ResealOptions): Promise<ResealResult> {
  const { database, masterKeys } = options;
  const check = await database.transaction(operator, masterKeyCheckValue);
  const pass = new ResealPass(options);
  const total = await pass.run();
  options.signal?.throwIfAborted();
  if (check !== undefined && total.unreadable === 0 && masterKeyThatOpens(masterKeys, check) !== masterKeys.current) {
    await database.transaction(operator, (tx) => replaceMasterKeyCheck(tx, check, sealedCheck(masterKeys.current)));
  }
  return total;
}

/** A table with secrets that were locked. */
interface LockedPart {
  readonly part: ScopedTable;
  /** All secrets up to this key are re-encrypted. */
  readonly after: string;
}

class ResealPass {
  readonly #options: ResealOptions;
  readonly #failures: Map<string, number>;
  /** The tenants that failed in this pass. */
  readonly #failed = new Set<string>();
  readonly #errors: unknown[] = [];
  #resealed = 0;
  #unreadable = 0;

  constructor(options: ResealOptions) {
    this.#options = options;
    this.#failures = options.failures ?? new Map<string, number>();
  }

  /** @throws as `resealSecrets` */
  async run(): Promise<ResealResult> {
    const locked: LockedPart[] = [];
    for await (const part of scopedTables(this.#options.database)) {
      const rest = await this.#attempt(part, 0, () => this.#resealFree(part));
      if (rest !== undefined) locked.push(rest);
    }
    await this.#resealLocked(locked);
    for (const owner of this.#failures.keys()) if (!this.#failed.has(owner)) this.#failures.delete(owner);
    for (const owner of this.#failed) this.#failures.set(owner, (this.#failures.get(owner) ?? 0) + 1);
    if (this.#errors.length > 0) throw this.#errors[0];
    return { resealed: this.#resealed, unreadable: this.#unreadable };
  }

  /** Re-encrypts the secrets of a table that are not locked. @returns the rest, if any */
  async #resealFree(part: ScopedTable): Promise<LockedPart | undefined> {
    const { database, masterKeys, signal } = this.#options;
    const reader = new SecretReader(masterKeys, part.table);
    let rest: LockedPart | undefined;
    for await (const { after, rows } of pagesOf(database, part)) {
      signal?.throwIfAborted();
      const outdated: StoredSecret[] = [];
      for (const row of rows) {
        const key = reader.keyOf(row);
        if (key === "second") outdated.push(row);
        if (key === "unreadable") this.#unreadable += 1;
      }
      const replaced = await this.#replace(part, reader, outdated);
      if (replaced < outdated.length) rest ??= { part, after };
    }
    return rest;
  }

  /** Waits for the locks, one transaction per table in turn, so that a tenant with many secrets delays no other one. */
  async #resealLocked(locked: readonly LockedPart[]): Promise<void> {
    for (let left = locked; left.length > 0; ) {
      const next: LockedPart[] = [];
      for (const item of left) {
        const waitMs = this.#waitMs(item.part);
        const rest = await this.#attempt(item.part, waitMs, () => this.#resealNext(item, waitMs));
        if (rest !== undefined) next.push(rest);
      }
      left = next;
    }
  }

  /** Waits for the next locked secret of a table. @returns the rest, if any */
  async #resealNext({ part, after: first }: LockedPart, waitMs: number): Promise<LockedPart | undefined> {
    const { database, masterKeys, signal } = this.#options;
    const reader = new SecretReader(masterKeys, part.table);
    for await (const { after, rows } of pagesOf(database, part, first)) {
      signal?.throwIfAborted();
      const outdated = rows.filter((row) => reader.keyOf(row) === "second");
      if (outdated.length === 0) continue;
      await this.#replace(part, reader, outdated, waitMs);
      return { part, after };
    }
    return undefined;
  }

  /**
   * Re-encrypts secrets in one transaction. It waits for no lock but that of the first secret, which it takes while it
   * holds no other. It can neither deadlock with a command nor delay one that waits for another secret.
   *
   * @param waitMs how long to wait for the first secret; undefined to leave it out if it is locked
   * @returns the number of secrets that were re-encrypted
   */
  async #replace(
    { scope, table }: ScopedTable,
    reader: SecretReader,
    secrets: readonly StoredSecret[],
    waitMs?: number,
  ): Promise<number> {
    const [first, ...others] = secrets;
    if (first === undefined) return 0;
    const count = await this.#options.database.transaction({ ...scope, waitMs: waitMs ?? waitsMs[0] }, async (tx) => {
      const statement = waitMs === undefined ? table.replaceFree : table.replace;
      const replaced = await tx.query(statement, first.key, first.ciphertext, reader.resealed(first));
      let count = replaced.length;
      for (const secret of others) {
        count += (await tx.query(table.replaceFree, secret.key, secret.ciphertext, reader.resealed(secret))).length;
      }
      return count;
    });
    this.#resealed += count;
    return count;
  }

  /** Logs a failure, so that other tables follow. @throws an error of the whole database, and after an abort */
  async #attempt(
    part: ScopedTable,
    waitMs: number,
    work: () => Promise<LockedPart | undefined>,
  ): Promise<LockedPart | undefined> {
    const { signal, log } = this.#options;
    try {
      return await work();
    } catch (error) {
      if (isOutage(error) || signal?.aborted === true) throw error;
      const { tenantId, table } = part;
      const fields = { err: error, ...(tenantId !== undefined && { tenantId }), table: table.name, waitMs };
      log?.warn(fields, "failed to re-encrypt secrets of a tenant; will retry");
      this.#errors.push(error);
      this.#failed.add(ownerOf(part));
      return undefined;
    }
  }

  #waitMs(part: ScopedTable): number {
    return waitsMs[Math.min(this.#failures.get(ownerOf(part)) ?? 0, waitsMs.length - 1)] ?? waitsMs[0];
  }
}

function ownerOf({ tenantId = "" }: ScopedTable): string {
  return tenantId;
}
