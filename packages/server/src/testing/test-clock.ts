import type { Clock } from "../platform/clock.ts";

/** A clock that stands still until a test moves it. It starts at the present, since the database has a clock of its own. */
export class TestClock implements Clock {
  readonly #startedAtMs = Date.now();
  #passedMs = 0;

  now(): Date {
    return new Date(this.#startedAtMs + this.#passedMs);
  }

  elapsedMs(): number {
    return this.#passedMs;
  }

  advance(ms: number): void {
    this.#passedMs += ms;
  }
}
