/**
 * Columns and lists of numbers for code that runs once per user. An index out of range throws instead of reading as
 * zero or writing nowhere. Each class wraps one kind of array, so that the engine compiles its accessors to plain
 * loads and stores.
 */

/** A column of fixed length with values from 0 to 255. */
export class ByteColumn {
  readonly #values: Uint8Array;

  constructor(length: number) {
    this.#values = new Uint8Array(length);
  }

  static from<Item>(items: readonly Item[], read: (item: Item) => number): ByteColumn {
    const column = new ByteColumn(items.length);
    for (const [index, item] of items.entries()) column.#values[index] = read(item);
    return column;
  }

  get(index: number): number {
    const value = this.#values[index];
    if (value === undefined) throw outOfRange(index, this.#values.length);
    return value;
  }

  set(index: number, value: number): void {
    if (index < 0 || index >= this.#values.length) throw outOfRange(index, this.#values.length);
    this.#values[index] = value;
  }
}

/** A column of fixed length with 32-bit integers. */
export class IntColumn {
  readonly #values: Int32Array;

  constructor(length: number) {
    this.#values = new Int32Array(length);
  }

  get(index: number): number {
    const value = this.#values[index];
    if (value === undefined) throw outOfRange(index, this.#values.length);
    return value;
  }

  set(index: number, value: number): void {
    if (index < 0 || index >= this.#values.length) throw outOfRange(index, this.#values.length);
    this.#values[index] = value;
  }

  add(index: number, amount: number): void {
    this.#values[index] = this.get(index) + amount;
  }

  xor(index: number, bits: number): void {
    this.#values[index] = this.get(index) ^ bits;
  }

  fill(value: number): void {
    this.#values.fill(value);
  }
}

/** Immutable lists of numbers, stored one after another in one array. */
export class NumberLists {
  /** List `n` consists of the items from `#starts[n]` up to `#starts[n + 1]`. */
  readonly #starts: Int32Array;
  readonly #items: Int32Array;

  constructor(starts: Int32Array, items: Int32Array) {
    this.#starts = starts;
    this.#items = items;
  }

  static of(lists: Iterable<readonly number[]>): NumberLists {
    const builder = new NumberListsBuilder();
    for (const list of lists) builder.add(list);
    return builder.build();
  }

  /** The place of the first item of a list. */
  start(list: number): number {
    const start = this.#starts[list];
    if (start === undefined) throw outOfRange(list, this.#starts.length - 1);
    return start;
  }

  /** The place after the last item of a list. */
  end(list: number): number {
    return this.start(list + 1);
  }

  /** The item at a place from `start` up to, but not including, `end`. */
  get(place: number): number {
    const item = this.#items[place];
    if (item === undefined) throw outOfRange(place, this.#items.length);
    return item;
  }
}

/** Collects lists one by one, so that work can be suspended between them. */
export class NumberListsBuilder {
  readonly #starts = new NumberList();
  readonly #items = new NumberList();

  add(list: readonly number[]): void {
    this.#starts.push(this.#items.length);
    for (const item of list) this.#items.push(item);
  }

  /** Completes the lists. Nothing can be added afterwards. */
  build(): NumberLists {
    this.#starts.push(this.#items.length);
    return new NumberLists(this.#starts.view(), this.#items.view());
  }
}

/** A list of 32-bit integers that is cleared and filled again without new allocations. */
export class NumberList {
  #items = new Int32Array(firstCapacity);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get(index: number): number {
    const item = this.#items[index];
    if (item === undefined || index >= this.#length) throw outOfRange(index, this.#length);
    return item;
  }

  set(index: number, item: number): void {
    if (index < 0 || index >= this.#length) throw outOfRange(index, this.#length);
    this.#items[index] = item;
  }

  push(item: number): void {
    if (this.#length === this.#items.length) {
      const items = new Int32Array(this.#length * 2);
      items.set(this.#items);
      this.#items = items;
    }
    this.#items[this.#length] = item;
    this.#length += 1;
  }

  clear(): void {
    this.#length = 0;
  }

  /** The items, without a copy: later changes of the list may affect it. */
  view(): Int32Array {
    return this.#items.subarray(0, this.#length);
  }

  /**
   * The index of an item of a list in ascending order.
   *
   * @throws RangeError for an item that the list does not have
   */
  indexOfSorted(item: number): number {
    let low = 0;
    let high = this.#length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.get(middle) < item) low = middle + 1;
      else high = middle;
    }
    if (this.get(low) !== item) throw new RangeError(`The list does not have item ${item}.`);
    return low;
  }

  /** Sorts in ascending order. Most lists are short and consist of a few sorted runs, which are merged. */
  sort(): void {
    if (this.#length > maxMerged) {
      this.#items.subarray(0, this.#length).sort();
      return;
    }
    let sorted = this.#endOfRun(0);
    while (sorted < this.#length) {
      const end = this.#endOfRun(sorted);
      this.#merge(sorted, end);
      sorted = end;
    }
  }

  /** The end of the sorted run that starts at an index. */
  #endOfRun(start: number): number {
    let end = start + 1;
    while (end < this.#length && this.get(end - 1) <= this.get(end)) end += 1;
    return end;
  }

  /** Merges the sorted items before an index with the sorted run at this index. */
  #merge(start: number, end: number): void {
    const items = this.#items;
    for (let index = start; index < end; index += 1) run[index - start] = items[index] ?? 0;
    let left = start - 1;
    let right = end - start - 1;
    for (let to = end - 1; right >= 0; to -= 1) {
      const largest = run[right] ?? 0;
      const other = left < 0 ? largest : (items[left] ?? 0);
      if (other > largest) {
        items[to] = other;
        left -= 1;
      } else {
        items[to] = largest;
        right -= 1;
      }
    }
  }
}

const firstCapacity = 64;

/** Longer lists are sorted by the engine. */
const maxMerged = 100;

/** A copy of the run that is merged. */
const run = new Int32Array(maxMerged);

function outOfRange(index: number, length: number): RangeError {
  return new RangeError(`Index ${index} is out of range. The length is ${length}.`);
}
