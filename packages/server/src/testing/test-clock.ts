import type { Clock } from "../platform/clock.ts";

/** The clock of a replica, with the time of its database. */
export interface SimulatedClock extends Clock {
  databaseTime(): Date;
}

/** A clock that advances only when a test moves it. It starts at the current time, and so does its database's clock. */
export class TestClock implements SimulatedClock {
  readonly #startedAtMs = Date.now();
  #passedMs = 0;
  #correctionMs = 0;
  #databaseCorrectionMs = 0;

  now(): Date {
    return new Date(this.#startedAtMs + this.#passedMs + this.#correctionMs);
  }

  elapsedMs(): number {
    return this.#passedMs;
  }

  databaseTime(): Date {
    return new Date(this.#startedAtMs + this.#passedMs + this.#databaseCorrectionMs);
  }

  advance(ms: number): void {
    this.#passedMs += ms;
  }

  /** Sets the wall clock forward, or back if negative. No time passes. */
  correct(ms: number): void {
    this.#correctionMs += ms;
  }

  /** Sets the database's clock forward, or back if negative. */
  correctDatabase(ms: number): void {
    this.#databaseCorrectionMs += ms;
  }

  /** The clock of another replica, which is ahead by this much. The database is the same. */
  ahead(ms: number): SimulatedClock {
    return {
      now: () => new Date(this.now().getTime() + ms),
      elapsedMs: () => this.#passedMs + 1_000_000,
      databaseTime: () => this.databaseTime(),
    };
  }
}
