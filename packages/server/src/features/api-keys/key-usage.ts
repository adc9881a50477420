/** Remembers when keys were used, and writes it down now and then: never a write for each request. */
import type { Database } from "../../platform/db/database.ts";
import { touchApiKeys } from "./api-keys.queries.ts";

export class KeyUsage {
  readonly #database: Database;
  #uses = new Map<string, Map<string, Date>>();

  constructor(database: Database) {
    this.#database = database;
  }

  note(tenantId: string, keyId: string, at: Date): void {
    const uses = this.#uses.get(tenantId);
    if (uses === undefined) this.#uses.set(tenantId, new Map([[keyId, at]]));
    else uses.set(keyId, at);
  }

  /** Writes what was noted since the last time; what cannot be written stays noted, and the first failure is thrown. */
  async flush(): Promise<void> {
    const pending = this.#uses;
    this.#uses = new Map();
    let failure: unknown;
    for (const [tenantId, uses] of pending) {
      try {
        if (failure === undefined) await touchApiKeys(this.#database, tenantId, uses);
      } catch (error) {
        failure = error;
      }
      if (failure !== undefined) this.#noteAgain(tenantId, uses);
    }
    if (failure !== undefined) throw failure;
  }

  /** What was noted meanwhile is later, and stays. */
  #noteAgain(tenantId: string, uses: ReadonlyMap<string, Date>): void {
    for (const [keyId, at] of uses) {
      if (this.#uses.get(tenantId)?.has(keyId) !== true) this.note(tenantId, keyId, at);
    }
  }
}
