import { LockWaitSlots, shortWaitMs } from "../concurrency/lock-wait-slots.ts";
import { BusyPoolError, databaseUnavailable } from "./database-errors.ts";

/** The minimum time for which background work waits for a slot, in milliseconds. */
const minTimeoutMs = 10_000;

/**
 * The connections of all background work together: half of the pool, but at least two
 * (docs/decisions/0271-rounds-of-tenants.md). Work with long waits for locks has connections of its own.
 */
export class BackgroundConnections {
  readonly #slots: LockWaitSlots;
  readonly #timeoutMs: number;

  constructor(poolSize: number, connectTimeoutMs: number) {
    const long = Math.max(1, Math.floor(poolSize / 5));
    const short = Math.max(1, Math.floor(poolSize / 2) - long);
    // Otherwise, first attempts would starve second attempts.
    this.#slots = new LockWaitSlots({ short, long }, "first come, first served");
    this.#timeoutMs = Math.max(connectTimeoutMs, minTimeoutMs);
  }

  /**
   * Waits for the turn of a transaction.
   *
   * @param waitMs how long it may wait for a lock, in milliseconds
   * @returns must be called when the transaction has ended
   * @throws AppError database_unavailable
   */
  async enter(waitMs: number): Promise<() => void> {
    const slot = await this.#slots.acquire(waitMs, this.#timeoutMs);
    if (slot === undefined) throw databaseUnavailable(new BusyPoolError());
    // A slow transaction must not occupy a slot for short waits.
    const timer = setTimeout(() => slot.becomeLong(), shortWaitMs);
    return () => {
      clearTimeout(timer);
      slot.release();
    };
  }
}
