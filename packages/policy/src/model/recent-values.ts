import { entriesAtOnce, entryCost, type Work } from "../work.ts";

/** A cache of two generations. If the recent generation is full, it becomes the earlier one, which is dropped. */
export class RecentValues<Value> {
  /** The maximum number of values of one generation. A cache with fewer ordinary values drops none. */
  readonly capacity: number;
  #recent = new Map<string, Value>();
  #earlier = new Map<string, Value>();
  /** The sum of the weights of the recent generation. */
  #weight = 0;
  readonly #weightOf: (value: Value) => number;

  /**
   * @param capacity the values of at most twice this weight are retained
   * @param weightOf the size of a value, 1 for an ordinary value
   */
  constructor(capacity = 200_000, weightOf: (value: Value) => number = () => 1) {
    this.capacity = capacity;
    this.#weightOf = weightOf;
  }

  get(key: string): Value | undefined {
    const recent = this.#recent.get(key);
    if (recent !== undefined) return recent;
    const earlier = this.#earlier.get(key);
    if (earlier !== undefined) this.set(key, earlier);
    return earlier;
  }

  set(key: string, value: Value): void {
    if (this.#weight >= this.capacity) {
      this.#earlier = this.#recent;
      this.#recent = new Map();
      this.#weight = 0;
    }
    this.#recent.set(key, value);
    this.#weight += this.#weightOf(value);
  }

  /**
   * A copy after changes, as work that can be suspended between some values.
   *
   * @param changes new values by key; undefined removes the key
   */
  *changing(changes: ReadonlyMap<string, Value | undefined>): Work<RecentValues<Value>> {
    const copy = new RecentValues(this.capacity, this.#weightOf);
    let unpaid = 0;
    for (const values of [this.#earlier, this.#recent, changes]) {
      for (const [key, value] of values) {
        if (value !== undefined && (values === changes || !changes.has(key))) copy.set(key, value);
        unpaid += 1;
        if (unpaid < entriesAtOnce) continue;
        yield unpaid * entryCost;
        unpaid = 0;
      }
    }
    return copy;
  }
}
