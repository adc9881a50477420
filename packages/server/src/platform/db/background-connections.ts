import { shortWaitMs, WaitPlaces } from "../concurrency/wait-places.ts";
import { BusyPoolError, databaseUnavailable } from "./database-errors.ts";

/** The minimum time for which background work waits for its turn, in milliseconds. */
const minTimeoutMs = 10_000;

/**
 * The connections of all background work together: half of the pool, but at least two
 * (docs/decisions/0271-rounds-of-tenants.md). Work with long waits for locks has connections of its own.
 */
export class BackgroundConnections {
  readonly #places: WaitPlaces;
  readonly #timeoutMs: number;

  constructor(poolSize: number, connectTimeoutMs: number) {
    const long = Math.max(1, Math.floor(poolSize / 5));
    this.#places = new WaitPlaces({ long, short: Math.max(1, Math.floor(poolSize / 2) - long) });
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
    // Work of one kind is served in order: otherwise first attempts would keep second ones from ever running.
    const kind = waitMs <= shortWaitMs ? shortWaitMs : Number.POSITIVE_INFINITY;
    const place = await this.#places.acquire(kind, this.#timeoutMs);
    if (place === undefined) throw databaseUnavailable(new BusyPoolError());
    // A slow transaction must not delay the others.
    const timer = setTimeout(() => place.becomeLong(), shortWaitMs);
    return () => {
      clearTimeout(timer);
      place.release();
    };
  }
}
