/** Collects items by key, so that many are written together. Items whose write fails are part of the next batch. */
export class Batcher<Key, Item> {
  readonly #merge: (earlier: Item, later: Item) => Item;
  #pending = new Map<Key, Item>();

  /** @param merge joins two items of one key; by default the later one replaces the earlier one */
  constructor(merge: (earlier: Item, later: Item) => Item = (_, later) => later) {
    this.#merge = merge;
  }

  /** The number of items that wait. */
  get size(): number {
    return this.#pending.size;
  }

  add(key: Key, item: Item): void {
    const earlier = this.#pending.get(key);
    this.#pending.set(key, earlier === undefined ? item : this.#merge(earlier, item));
  }

  /**
   * Hands all items to `write`, and takes them back if it fails. Items that are added meanwhile wait for the next
   * batch.
   *
   * @throws the error of `write`
   */
  async drain<Result>(write: (items: ReadonlyMap<Key, Item>) => Promise<Result>): Promise<Result> {
    const items = this.#pending;
    this.#pending = new Map();
    try {
      return await write(items);
    } catch (error) {
      const later = this.#pending;
      this.#pending = items;
      for (const [key, item] of later) this.add(key, item);
      throw error;
    }
  }
}
