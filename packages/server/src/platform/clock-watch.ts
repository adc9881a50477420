import type { Clock } from "./clock.ts";

/** A smaller difference between the wall clock and the elapsed time is not a jump, in milliseconds. */
const toleranceMs = 60 * 60_000;

/** Notices jumps of the wall clock, for work that a wrong clock would make irreversible. */
export class ClockWatch {
  readonly #clock: Clock;
  #steadySince: number;
  #offset: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#steadySince = clock.elapsedMs();
    this.#offset = this.#presentOffset();
  }

  /**
   * How long the wall clock has run without a jump, in milliseconds. A jump counts from the call that notices it.
   *
   * @param jumped called if there was a jump since the last call
   */
  steadyMs(jumped: () => void): number {
    const offset = this.#presentOffset();
    if (Math.abs(offset - this.#offset) > toleranceMs) {
      this.#offset = offset;
      this.#steadySince = this.#clock.elapsedMs();
      jumped();
    }
    return this.#clock.elapsedMs() - this.#steadySince;
  }

  #presentOffset(): number {
    return this.#clock.now().getTime() - this.#clock.elapsedMs();
  }
}
