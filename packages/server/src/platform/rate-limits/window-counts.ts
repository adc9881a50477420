import type { Clock } from "../clock.ts";

/** Names counted at once at most; beyond that, the one that has been counted for longest is forgotten. */
const defaultCapacity = 20_000;

/** What was counted under a name in one window. */
export interface WindowCount {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly windowStartMs: number;
  readonly count: number;
}

export interface Counted {
  readonly count: number;
  /** When the count starts anew, in milliseconds from now. */
  readonly endsInMs: number;
}

export interface WindowCountsOptions {
  /** Windows start at whole multiples of it since 1970, so that all replicas have the same ones. */
  readonly windowMs: number;
  readonly clock: Clock;
  readonly capacity?: number;
  /** Whether what is counted here is kept for telling the other replicas. */
  readonly shared: boolean;
}

interface Entry {
  windowStartMs: number;
  /** What is known of all replicas. */
  count: number;
  /** The part of it that the others have not been told. */
  untold: number;
}

/**
 * Counts under names, in windows of time, in bounded memory. Counts of several replicas are added up by way of `takeUntold`
 * and `learn`: in between, each knows its own and what the others had told by then.
 */
export class WindowCounts {
  readonly #windowMs: number;
  readonly #clock: Clock;
  readonly #capacity: number;
  readonly #shared: boolean;
  /** In the order in which they were first counted in their windows, which costs less to keep than that of their last use. */
  readonly #entries = new Map<string, Entry>();
  /** Names with something untold. */
  readonly #untold = new Set<string>();

  constructor(options: WindowCountsOptions) {
    this.#windowMs = options.windowMs;
    this.#clock = options.clock;
    this.#capacity = options.capacity ?? defaultCapacity;
    this.#shared = options.shared;
  }

  /** How many names are counted under. */
  get size(): number {
    return this.#entries.size;
  }

  add(name: string): Counted {
    const nowMs = this.#clock.now().getTime();
    const windowStartMs = this.#windowStart(nowMs);
    let entry = this.#entries.get(name);
    if (entry === undefined || entry.windowStartMs !== windowStartMs) {
      entry = { windowStartMs, count: 0, untold: 0 };
      this.#entries.delete(name);
      this.#entries.set(name, entry);
      if (this.#entries.size > this.#capacity) this.#forgetOldest();
    }
    entry.count += 1;
    if (this.#shared) {
      entry.untold += 1;
      this.#untold.add(name);
    }
    return { count: entry.count, endsInMs: windowStartMs + this.#windowMs - nowMs };
  }

  read(name: string): Counted {
    const nowMs = this.#clock.now().getTime();
    const windowStartMs = this.#windowStart(nowMs);
    const entry = this.#entries.get(name);
    const count = entry?.windowStartMs === windowStartMs ? entry.count : 0;
    return { count, endsInMs: windowStartMs + this.#windowMs - nowMs };
  }

  /** What was counted here since the last time. Give it back with `keepUntold` when it cannot be told. */
  takeUntold(): WindowCount[] {
    const taken: WindowCount[] = [];
    for (const name of this.#untold) {
      const entry = this.#entries.get(name);
      if (entry === undefined) continue;
      taken.push({ name, windowStartMs: entry.windowStartMs, count: entry.untold });
      entry.untold = 0;
    }
    this.#untold.clear();
    return taken;
  }

  keepUntold(counts: readonly WindowCount[]): void {
    for (const { name, windowStartMs, count } of counts) {
      const entry = this.#entries.get(name);
      if (entry?.windowStartMs !== windowStartMs) continue;
      entry.untold += count;
      this.#untold.add(name);
    }
  }

  /** @param totals what all replicas have told, this one's last included */
  learn(totals: readonly WindowCount[]): void {
    for (const { name, windowStartMs, count } of totals) {
      const entry = this.#entries.get(name);
      if (entry?.windowStartMs === windowStartMs) entry.count = count + entry.untold;
    }
  }

  #windowStart(nowMs: number): number {
    return nowMs - (nowMs % this.#windowMs);
  }

  #forgetOldest(): void {
    const [oldest] = this.#entries.keys();
    if (oldest === undefined) return;
    this.#entries.delete(oldest);
    this.#untold.delete(oldest);
  }
}
