import type { Clock } from "./clock.ts";

/** A smaller difference between the wall clock and the elapsed time is not a jump, in milliseconds. */
const toleranceMs = 60 * 60_000;

/** Detects jumps of the wall clock, for irreversible work. */
export class ClockWatch {
  readonly #clock: Clock;
  #steadySince: number;
  #offset: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#steadySince = clock.elapsedMs();
    this.#offset = this.#currentOffset();
  }

  /**
   * How long the wall clock has run without a jump, in milliseconds. A jump is dated at the call that detects it.
   *
   * @param jumped called if there was a jump since the last call
   */
  steadyMs(jumped: () => void): number {
    const offset = this.#currentOffset();
    if (Math.abs(offset - this.#offset) > toleranceMs) {
      this.#offset = offset;
      this.#steadySince = this.#clock.elapsedMs();
      jumped();
    }
    return this.#clock.elapsedMs() - this.#steadySince;
  }

  #currentOffset(): number {
    return this.#clock.now().getTime() - this.#clock.elapsedMs();
  }
}
