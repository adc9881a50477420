import type { Clock } from "../clock.ts";

/** The most names at a time. Beyond it, the name that was counted first is forgotten. */
const defaultCapacity = 20_000;

/** The count of a name in one window. */
export interface WindowCount {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly windowStartMs: number;
  readonly count: number;
}

export interface Counted {
  readonly count: number;
  /** Milliseconds until the count restarts. */
  readonly endsInMs: number;
}

export interface WindowCountsOptions {
  /** Windows start at multiples of this length since 1970, so that they are the same on all replicas. */
  readonly windowMs: number;
  readonly clock: Clock;
  readonly capacity?: number;
  /** Whether counts are shared with other replicas. */
  readonly shared: boolean;
}

interface Entry {
  windowStartMs: number;
  /** The known count of all replicas. */
  count: number;
  /** The part of the count that is not shared yet. */
  unshared: number;
}

/**
 * Counts names in time windows, in bounded memory. Several replicas share their counts with `takeUnshared` and
 * `setShared`; in between, each replica knows its own counts and the last shared totals.
 */
export class WindowCounts {
  readonly #windowMs: number;
  readonly #clock: Clock;
  readonly #capacity: number;
  readonly #shared: boolean;
  /** Ordered by the first count in the window, which is cheaper to maintain than the last use. */
  readonly #entries = new Map<string, Entry>();
  /** Names with unshared counts. */
  readonly #unshared = new Set<string>();

  constructor(options: WindowCountsOptions) {
    this.#windowMs = options.windowMs;
    this.#clock = options.clock;
    this.#capacity = options.capacity ?? defaultCapacity;
    this.#shared = options.shared;
  }

  /** The number of names. */
  get size(): number {
    return this.#entries.size;
  }

  add(name: string): Counted {
    const nowMs = this.#clock.now().getTime();
    const windowStartMs = this.#windowStart(nowMs);
    let entry = this.#entries.get(name);
    if (entry === undefined || entry.windowStartMs !== windowStartMs) {
      entry = { windowStartMs, count: 0, unshared: 0 };
      this.#entries.delete(name);
      this.#entries.set(name, entry);
      if (this.#entries.size > this.#capacity) this.#forgetOldest();
    }
    entry.count += 1;
    if (this.#shared) {
      entry.unshared += 1;
      this.#unshared.add(name);
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

  /** Takes the counts since the last call. Return them with `restoreUnshared` if they cannot be shared. */
  takeUnshared(): WindowCount[] {
    const taken: WindowCount[] = [];
    for (const name of this.#unshared) {
      const entry = this.#entries.get(name);
      if (entry === undefined) continue;
      taken.push({ name, windowStartMs: entry.windowStartMs, count: entry.unshared });
      entry.unshared = 0;
    }
    this.#unshared.clear();
    return taken;
  }

  restoreUnshared(counts: readonly WindowCount[]): void {
    for (const { name, windowStartMs, count } of counts) {
      const entry = this.#entries.get(name);
      if (entry?.windowStartMs !== windowStartMs) continue;
      entry.unshared += count;
      this.#unshared.add(name);
    }
  }

  /** @param totals shared by all replicas, including the last counts of this replica */
  setShared(totals: readonly WindowCount[]): void {
    for (const { name, windowStartMs, count } of totals) {
      const entry = this.#entries.get(name);
      if (entry?.windowStartMs === windowStartMs) entry.count = count + entry.unshared;
    }
  }

  #windowStart(nowMs: number): number {
    return nowMs - (nowMs % this.#windowMs);
  }

  #forgetOldest(): void {
    const [oldest] = this.#entries.keys();
    if (oldest === undefined) return;
    this.#entries.delete(oldest);
    this.#unshared.delete(oldest);
  }
}
