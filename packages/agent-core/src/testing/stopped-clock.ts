import type { Clock } from "../clock.ts";

/** A clock that the test advances. */
export class StoppedClock implements Clock {
  time = Date.now();
  readonly #startedAt = this.time;
  /** The offset by which the clock was set. Timers and elapsed time do not notice it. */
  setMs = 0;
  #calls = new Set<{ readonly at: number; readonly call: () => void }>();

  now(): number {
    return this.time + this.setMs;
  }

  elapsedMs(): number {
    return this.time - this.#startedAt;
  }

  after(delayMs: number, call: () => void): () => void {
    const entry = { at: this.time + delayMs, call };
    this.#calls.add(entry);
    return () => this.#calls.delete(entry);
  }

  /** The number of pending calls. */
  get waiting(): number {
    return this.#calls.size;
  }

  pass(ms: number): void {
    this.time += ms;
    for (const entry of [...this.#calls]) if (entry.at <= this.time && this.#calls.delete(entry)) entry.call();
  }
}
