import type { Clock } from "../clock.ts";

export interface SharedReadsOptions {
  readonly clock: Clock;
  /** How long a value is retained, in milliseconds; 0 for not at all. */
  readonly retainMs: number;
  /** The most retained values. Beyond it, the oldest is forgotten. */
  readonly capacity: number;
}

/** Reads of remote values. Callers that want the same value at the same time share one read. */
export class SharedReads<T> {
  readonly #options: SharedReadsOptions;
  readonly #reads = new Map<string, Promise<T>>();
  /** Ordered by time. */
  readonly #retained = new Map<string, { readonly value: T; readonly untilMs: number }>();

  constructor(options: SharedReadsOptions) {
    this.#options = options;
  }

  retained(name: string): T | undefined {
    const entry = this.#retained.get(name);
    return entry !== undefined && entry.untilMs > this.#options.clock.elapsedMs() ? entry.value : undefined;
  }

  read(name: string, load: () => Promise<T>): Promise<T> {
    const existing = this.#reads.get(name);
    if (existing !== undefined) return existing;
    const read = load()
      .then((value) => this.#retain(name, value))
      .finally(() => this.#reads.delete(name));
    this.#reads.set(name, read);
    return read;
  }

  #retain(name: string, value: T): T {
    const { clock, retainMs, capacity } = this.#options;
    if (retainMs === 0) return value;
    this.#retained.delete(name);
    this.#retained.set(name, { value, untilMs: clock.elapsedMs() + retainMs });
    const [oldest] = this.#retained.keys();
    if (this.#retained.size > capacity && oldest !== undefined) this.#retained.delete(oldest);
    return value;
  }
}
