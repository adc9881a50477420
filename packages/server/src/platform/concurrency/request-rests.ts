import type { EventLoop } from "./fair-queue.ts";

/** The rest after each use of the database, as a multiple of the use: a third of the time remains for the request. */
const restShare = 2;

/** Like `restShare`, if others hardly used the last rest. These rests are long enough to notice a change. */
const shortRestShare = 0.25;

/** Others need the rests if the event loop was active for this part of the last one. */
const othersShare = 0.2;

/** The minimum use before a rest, in milliseconds: timers are not more precise. */
const leastUseMs = 4;

/** The most that one use counts, in milliseconds: a statement may have waited for a lock. */
const mostUseMs = 250;

/** The total length of a request's rests, in milliseconds. Other commands of the tenant may wait that much longer. */
const mostRestMs = 5_000;

/**
 * The rests of one long request, in which PostgreSQL and the event loop serve other tenants. The request rests after
 * each use of the database, in proportion to the length of the use, while other tenants are active.
 */
export class RequestRests {
  readonly #loop: Pick<EventLoop, "nowMs" | "activeMs" | "after">;
  readonly #isAlone: () => boolean;
  #usedMs = 0;
  #restedMs = 0;
  #share = restShare;

  /** @param isAlone whether no other tenant is active */
  constructor(loop: Pick<EventLoop, "nowMs" | "activeMs" | "after">, isAlone: () => boolean) {
    this.#loop = loop;
    this.#isAlone = isAlone;
  }

  /** Whether the request must rest between two uses. */
  get areDue(): boolean {
    return this.#restedMs < mostRestMs && !this.#isAlone();
  }

  /** The total length of the rests so far, in milliseconds. */
  get restedMs(): number {
    return this.#restedMs;
  }

  /**
   * Records a use of the database. Call this method only after `areDue`.
   *
   * @returns a promise to await before the next use; undefined if no rest is needed yet
   */
  after(usedMs: number): Promise<void> | undefined {
    this.#usedMs += Math.min(usedMs, mostUseMs);
    if (this.#usedMs < leastUseMs || !this.areDue) return undefined;
    const restMs = Math.min(this.#usedMs * this.#share, mostRestMs - this.#restedMs);
    this.#usedMs = 0;
    const startedAt = this.#loop.nowMs();
    const activeBefore = this.#loop.activeMs();
    return new Promise((resolve) => {
      this.#loop.after(restMs, () => {
        const restedMs = this.#loop.nowMs() - startedAt;
        this.#restedMs += restedMs;
        const othersMs = this.#loop.activeMs() - activeBefore;
        this.#share = othersMs < othersShare * restedMs ? shortRestShare : restShare;
        resolve();
      });
    });
  }
}
