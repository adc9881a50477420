/** Collects when keys were used, and stores it periodically instead of with each request. */
import { TenantBatches } from "../../platform/concurrency/tenant-batches.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Log } from "../../platform/log.ts";
import { touchApiKeys } from "./api-keys.queries.ts";

export class KeyUsage {
  /** The last use of each key that is not stored yet. */
  readonly #uses: TenantBatches<string, Date>;

  constructor(database: Database, log: Log) {
    this.#uses = new TenantBatches({
      log,
      failed: "failed to store API key usage; will retry",
      lost: "failed to store API key usage before shutdown",
      write: (tenantId, uses, waitMs) => touchApiKeys(database, { kind: "tenant", tenantId, waitMs }, uses),
    });
  }

  note(tenantId: string, keyId: string, at: Date): void {
    this.#uses.add(tenantId, keyId, at);
  }

  /**
   * Stores all uses since the last flush. Uses that cannot be stored are retained.
   *
   * @throws the first error, except for those of busy tenants
   */
  flush(): Promise<void> {
    return this.#uses.flush();
  }

  /** Stores all uses before the process ends. Never rejects. */
  finish(): Promise<void> {
    return this.#uses.finish();
  }
}
