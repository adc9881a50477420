/** Collects when keys were used, and stores it periodically instead of with each request. */
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

  /** Stores all uses since the last flush. If storing fails, the uses are retained and the first error is thrown. */
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

  /** Restores uses that could not be stored. Later uses take precedence. */
  #noteAgain(tenantId: string, uses: ReadonlyMap<string, Date>): void {
    for (const [keyId, at] of uses) {
      if (this.#uses.get(tenantId)?.has(keyId) !== true) this.note(tenantId, keyId, at);
    }
  }
}
