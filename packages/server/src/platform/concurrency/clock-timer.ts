import type { Clock } from "../clock.ts";

/**
 * The longest time between two looks at the clock, in milliseconds: the clock may be adjusted while the timer waits.
 */
const longestWaitMs = 60 * 60_000;

/** Calls back at a time of the clock, or earlier. The callback checks what is due, and sets the timer again. */
export class ClockTimer {
  readonly #clock: Clock;
  readonly #callback: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(clock: Clock, callback: () => void) {
    this.#clock = clock;
    this.#callback = callback;
  }

  /** @param at milliseconds since 1970; Infinity clears the timer */
  set(at: number): void {
    clearTimeout(this.#timer);
    if (this.#isStopped || at === Number.POSITIVE_INFINITY) return;
    const waitMs = at - this.#clock.now().getTime();
    this.#timer = setTimeout(this.#callback, Math.max(1, Math.min(waitMs, longestWaitMs)));
    this.#timer.unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }
}
