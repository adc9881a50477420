import type { Log } from "../log.ts";
import { Batcher } from "./batcher.ts";
import { TenantRounds } from "./tenant-rounds.ts";

export interface TenantBatchesOptions<Key, Item> {
  readonly log: Pick<Log, "warn" | "error">;
  /** The log message of a failed write, such as "failed to store API key usage; will retry". */
  readonly failed: string;
  /** The log message for items that are lost at shutdown. */
  readonly lost: string;
  /**
   * Writes the items of one tenant.
   *
   * @param waitMs how long the write may wait for a lock, in milliseconds; belongs in the scope of its transactions
   */
  readonly write: (tenantId: string, items: ReadonlyMap<Key, Item>, waitMs: number) => Promise<void>;
  /** Joins two items of one key. By default, the later item replaces the earlier one. */
  readonly merge?: (earlier: Item, later: Item) => Item;
}

/**
 * Collects items by tenant and key, and writes those of each tenant together. If the write of a tenant fails, its items
 * are retained for the next round. The other tenants are not delayed.
 */
export class TenantBatches<Key, Item> {
  readonly #options: TenantBatchesOptions<Key, Item>;
  readonly #rounds: TenantRounds;
  /** The items that are not written yet, by tenant. */
  readonly #batches = new Map<string, Batcher<Key, Item>>();

  constructor(options: TenantBatchesOptions<Key, Item>) {
    this.#options = options;
    this.#rounds = new TenantRounds({ log: options.log, failed: options.failed });
  }

  add(tenantId: string, key: Key, item: Item): void {
    let batch = this.#batches.get(tenantId);
    if (batch === undefined) {
      batch = new Batcher(this.#options.merge);
      this.#batches.set(tenantId, batch);
    }
    batch.add(key, item);
  }

  /**
   * Writes the items of all tenants that are available. Items that cannot be written are retained.
   *
   * @throws the first error, except for those of busy tenants
   */
  flush(): Promise<void> {
    return this.#rounds.run(this.#batches.keys(), this.#write);
  }

  /** Writes all items before the process ends. Never rejects. */
  finish(): Promise<void> {
    return this.#rounds.finish(this.#batches.keys(), this.#write, this.#options.lost);
  }

  readonly #write = async (tenantId: string, waitMs: number): Promise<void> => {
    const batch = this.#batches.get(tenantId);
    await batch?.drain((items) => this.#options.write(tenantId, items, waitMs));
    if (batch?.size === 0) this.#batches.delete(tenantId);
  };
}
