import type { EventLoop } from "./fair-queue.ts";

/** The pause after each use of the database, as a multiple of the use: a third of the time remains for the request. */
const pauseShare = 2;

/** Like `pauseShare`, if others hardly used the last pause. These pauses are long enough to notice a change. */
const shortPauseShare = 0.25;

/** Others need the pauses if the event loop was active for this part of the last one. */
const othersShare = 0.2;

/** The minimum use before a pause, in milliseconds: timers are not more precise. */
const leastUseMs = 4;

/** The most that one use counts, in milliseconds: a statement may have waited for a lock. */
const mostUseMs = 250;

/** The total length of a request's pauses, in milliseconds. Other commands of the tenant may wait that much longer. */
const mostPausedMs = 5_000;

/**
 * The pauses of one long request, in which PostgreSQL and the event loop serve other tenants. The request pauses after
 * each use of the database, in proportion to the length of the use, while other tenants are active.
 */
export class RequestPauses {
  readonly #loop: Pick<EventLoop, "nowMs" | "activeMs" | "after">;
  readonly #isAlone: () => boolean;
  #usedMs = 0;
  #pausedMs = 0;
  #share = pauseShare;

  /** @param isAlone whether no other tenant is active */
  constructor(loop: Pick<EventLoop, "nowMs" | "activeMs" | "after">, isAlone: () => boolean) {
    this.#loop = loop;
    this.#isAlone = isAlone;
  }

  /** Whether the request must pause between two uses. */
  get areDue(): boolean {
    return this.#pausedMs < mostPausedMs && !this.#isAlone();
  }

  /** The total length of the pauses so far, in milliseconds. */
  get pausedMs(): number {
    return this.#pausedMs;
  }

  /**
   * Records a use of the database. Call this method only after `areDue`.
   *
   * @returns a promise to await before the next use; undefined if no pause is needed yet
   */
  after(usedMs: number): Promise<void> | undefined {
    this.#usedMs += Math.min(usedMs, mostUseMs);
    if (this.#usedMs < leastUseMs || !this.areDue) return undefined;
    const pauseMs = Math.min(this.#usedMs * this.#share, mostPausedMs - this.#pausedMs);
    this.#usedMs = 0;
    const startedAt = this.#loop.nowMs();
    const activeBefore = this.#loop.activeMs();
    return new Promise((resolve) => {
      this.#loop.after(pauseMs, () => {
        const pausedMs = this.#loop.nowMs() - startedAt;
        this.#pausedMs += pausedMs;
        const othersMs = this.#loop.activeMs() - activeBefore;
        this.#share = othersMs < othersShare * pausedMs ? shortPauseShare : pauseShare;
        resolve();
      });
    });
  }
}
