/** Collects when keys were used, and stores it periodically instead of with each request. */
import { Batcher } from "../../platform/concurrency/batcher.ts";
import { TenantRounds, type TenantTask } from "../../platform/concurrency/tenant-rounds.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Log } from "../../platform/log.ts";
import { touchApiKeys } from "./api-keys.queries.ts";

export class KeyUsage {
  readonly #database: Database;
  readonly #rounds: TenantRounds;
  /** The last use of each key that is not stored yet, by tenant. */
  readonly #uses = new Map<string, Batcher<string, Date>>();

  constructor(database: Database, log: Log) {
    this.#database = database;
    this.#rounds = new TenantRounds({ log, failed: "failed to store API key usage; will retry" });
  }

  note(tenantId: string, keyId: string, at: Date): void {
    let uses = this.#uses.get(tenantId);
    if (uses === undefined) {
      uses = new Batcher();
      this.#uses.set(tenantId, uses);
    }
    uses.add(keyId, at);
  }

  /**
   * Stores all uses since the last flush. Uses that cannot be stored are retained.
   *
   * @throws the first error, except for those of busy tenants
   */
  flush(): Promise<void> {
    return this.#rounds.run(this.#uses.keys(), this.#store);
  }

  /** Stores all uses before the process ends. Never rejects. */
  finish(): Promise<void> {
    return this.#rounds.finish(this.#uses.keys(), this.#store, "failed to store API key usage before shutdown");
  }

  readonly #store: TenantTask = async (tenantId, waitMs) => {
    const uses = this.#uses.get(tenantId);
    await uses?.drain((some) => touchApiKeys(this.#database, { kind: "tenant", tenantId, waitMs }, some));
    if (uses?.size === 0) this.#uses.delete(tenantId);
  };
}
