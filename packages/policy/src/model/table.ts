import { entriesAtOnce, entryCost, finish, type Work } from "../work.ts";
import { nextGeneration } from "./generation.ts";

/** The content of a table before its latest changes: a map, or a collection that needs less memory. Immutable. */
export interface Records<Value> {
  readonly size: number;
  /** False if most values are created when they are asked for. */
  readonly retainsValues?: boolean;
  get(key: string): Value | undefined;
  [Symbol.iterator](): Iterator<readonly [key: string, value: Value]>;
  /** The keys of all records. Records have this function if it is cheaper than creating their values. */
  ids?(): Iterable<string>;
  /**
   * The keys of all records, each with the ids by which the value is indexed: a user's groups, or a device's user.
   * Records have this function if it is cheaper than creating their values.
   */
  links?(): Iterable<readonly [key: string, linked: readonly string[]]>;
  /**
   * The records after changes, as work that can be suspended between some records. A changed record keeps its place,
   * and a new one comes last. Without this function, the records are copied to a map.
   *
   * @param changes new values by key; undefined removes the key
   */
  changing?(changes: ReadonlyMap<string, Value | undefined>): Work<Records<Value>>;
}

/**
 * An immutable map by id. A change is stored as an overlay instead of a copy, because a tenant's 100,000 users change
 * one at a time. Earlier tables stay valid.
 */
export class Table<Value> {
  static readonly empty: Table<never> = new Table(new Map<string, never>(), new Map<string, never>(), 0);

  /** The records before the latest changes. Tables share them until there are many changes. */
  readonly base: Records<Value>;
  /** Differences to the base. Undefined marks a removed key. */
  readonly changed: ReadonlyMap<string, Value | undefined>;
  readonly size: number;
  readonly generation = nextGeneration();

  private constructor(base: Records<Value>, changed: ReadonlyMap<string, Value | undefined>, size: number) {
    this.base = base;
    this.changed = changed;
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

  static ofRecords<Value>(base: Records<Value>): Table<Value> {
    return new Table(base, new Map(), base.size);
  }

  /** False if most values are created when they are asked for, so that nothing else should retain all of them. */
  get retainsValues(): boolean {
    return this.base.retainsValues ?? true;
  }

  get(key: string): Value | undefined {
    if (this.changed.size > 0) {
      const changed = this.changed.get(key);
      if (changed !== undefined || this.changed.has(key)) return changed;
    }
    return this.base.get(key);
  }

  /** @param changes new values by key; undefined removes the key */
  with(changes: Iterable<readonly [key: string, value: Value | undefined]>): Table<Value> {
    return finish(this.changing(changes));
  }

  /** Like `with`, as work that can be suspended between some entries. */
  *changing(changes: Iterable<readonly [key: string, value: Value | undefined]>): Work<Table<Value>> {
    const changed = new Map(this.changed);
    let { size } = this;
    let unpaid = changed.size;
    for (const [key, value] of changes) {
      const before = changed.has(key) ? changed.get(key) : this.base.get(key);
      size += (value === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
      changed.set(key, value);
      unpaid += 1;
      if (unpaid < entriesAtOnce) continue;
      yield unpaid * entryCost;
      unpaid = 0;
    }
    // After this many changes, merge the overlay into a new base. The copy then costs little per change.
    if (changed.size <= Math.max(64, Math.sqrt(this.base.size) * 10)) return new Table(this.base, changed, size);
    const base = yield* this.base.changing?.(changed) ?? merging(this.base, changed);
    return new Table(base, new Map(), size);
  }

  /** All present records, as work that can be suspended between some of them. */
  *merging(): Work<Records<Value>> {
    if (this.changed.size === 0) return this.base;
    return yield* this.base.changing?.(this.changed) ?? merging(this.base, this.changed);
  }

  *ids(): IterableIterator<string> {
    for (const key of this.base.ids?.() ?? keysOf(this.base)) if (!this.changed.has(key)) yield key;
    for (const [key, value] of this.changed) if (value !== undefined) yield key;
  }

  *values(): IterableIterator<Value> {
    for (const [key, value] of this.base) if (!this.changed.has(key)) yield value;
    for (const value of this.changed.values()) if (value !== undefined) yield value;
  }
}

function* keysOf(entries: Iterable<readonly [key: string, value: unknown]>): Iterable<string> {
  for (const [key] of entries) yield key;
}

/** Copies a map with changes. The copy of a large map takes longer than a time slice. */
function* merging<Value>(base: Records<Value>, changed: ReadonlyMap<string, Value | undefined>): Work<Records<Value>> {
  const merged = new Map<string, Value>();
  let unpaid = 0;
  for (const entries of [base, changed]) {
    for (const [key, value] of entries) {
      // A changed entry keeps its place.
      const current = entries === base && changed.has(key) ? changed.get(key) : value;
      if (current !== undefined) merged.set(key, current);
      unpaid += 1;
      if (unpaid < entriesAtOnce) continue;
      yield unpaid * entryCost;
      unpaid = 0;
    }
  }
  return merged;
}
