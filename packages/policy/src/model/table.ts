import { nextGeneration } from "./generation.ts";

/**
 * An immutable map by id. A change is stored as an overlay instead of a copy, because a tenant's 100,000 users change
 * one at a time. Earlier tables stay valid.
 */
export class Table<Value> {
  static readonly empty: Table<never> = new Table(new Map<string, never>(), new Map<string, never>(), 0);

  readonly #base: ReadonlyMap<string, Value>;
  /** Differences to the base. Undefined marks a removed key. */
  readonly #changed: ReadonlyMap<string, Value | undefined>;
  readonly size: number;
  readonly generation = nextGeneration();

  private constructor(base: ReadonlyMap<string, Value>, changed: ReadonlyMap<string, Value | undefined>, size: number) {
    this.#base = base;
    this.#changed = changed;
    this.size = size;
  }

  static of<Value>(entries: Iterable<readonly [key: string, value: Value]>): Table<Value> {
    const base = new Map(entries);
    return new Table(base, new Map(), base.size);
  }

  /** The table of a map, which must not change afterwards. */
  static ofMap<Value>(base: ReadonlyMap<string, Value>): Table<Value> {
    return new Table(base, new Map(), base.size);
  }

  get(key: string): Value | undefined {
    if (this.#changed.size > 0) {
      const changed = this.#changed.get(key);
      if (changed !== undefined || this.#changed.has(key)) return changed;
    }
    return this.#base.get(key);
  }

  /** @param changes new values by key; undefined removes the key */
  with(changes: Iterable<readonly [key: string, value: Value | undefined]>): Table<Value> {
    const changed = new Map(this.#changed);
    let { size } = this;
    for (const [key, value] of changes) {
      const before = changed.has(key) ? changed.get(key) : this.#base.get(key);
      size += (value === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
      changed.set(key, value);
    }
    // After this many changes, merge the overlay into a new base. The copy then costs little per change.
    if (changed.size <= Math.max(64, Math.sqrt(this.#base.size) * 10)) return new Table(this.#base, changed, size);
    const base = new Map(this.#base);
    for (const [key, value] of changed) {
      if (value === undefined) base.delete(key);
      else base.set(key, value);
    }
    return new Table(base, new Map(), size);
  }

  *values(): IterableIterator<Value> {
    for (const [key, value] of this.#base) if (!this.#changed.has(key)) yield value;
    for (const value of this.#changed.values()) if (value !== undefined) yield value;
  }
}
