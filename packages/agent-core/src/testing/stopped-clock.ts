import type { Clock } from "../clock.ts";

/** Waits for nothing but what the test passes. */
export class StoppedClock implements Clock {
  time = Date.now();
  /** By how much somebody set the clock, which timers do not notice. */
  setMs = 0;
  #calls = new Set<{ readonly at: number; readonly call: () => void }>();

  now(): number {
    return this.time + this.setMs;
  }

  after(delayMs: number, call: () => void): () => void {
    const entry = { at: this.time + delayMs, call };
    this.#calls.add(entry);
    return () => this.#calls.delete(entry);
  }

  /** How many calls are to come. */
  get waiting(): number {
    return this.#calls.size;
  }

  pass(ms: number): void {
    this.time += ms;
    for (const entry of [...this.#calls]) if (entry.at <= this.time && this.#calls.delete(entry)) entry.call();
  }
}
