import type { Clock } from "../platform/clock.ts";

/**
 * A clock that advances only when a test moves it. It starts at the current time, because the database has its own
 * clock.
 */
export class TestClock implements Clock {
  readonly #startedAtMs = Date.now();
  #passedMs = 0;
  #correctionMs = 0;

  now(): Date {
    return new Date(this.#startedAtMs + this.#passedMs + this.#correctionMs);
  }

  elapsedMs(): number {
    return this.#passedMs;
  }

  advance(ms: number): void {
    this.#passedMs += ms;
  }

  /** Sets the wall clock forward, or back if negative. No time passes. */
  correct(ms: number): void {
    this.#correctionMs += ms;
  }
}
