/** Items by the time at which they are due, earliest first: a binary heap (Williams 1964). */
export class TimerHeap<Item> {
  readonly #entries: { readonly at: number; readonly item: Item }[] = [];

  /** When the first item is due; Infinity if the heap is empty. */
  get next(): number {
    return this.#entries[0]?.at ?? Number.POSITIVE_INFINITY;
  }

  add(at: number, item: Item): void {
    const entries = this.#entries;
    let index = entries.push({ at, item }) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#isBefore(index, parent)) return;
      this.#swap(index, parent);
      index = parent;
    }
  }

  /** Removes and returns the first item if it is due. */
  take(now: number): { readonly at: number; readonly item: Item } | undefined {
    const entries = this.#entries;
    const [first] = entries;
    if (first === undefined || first.at > now) return undefined;
    const last = entries.pop();
    if (entries.length === 0 || last === undefined) return first;
    entries[0] = last;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const child = this.#isBefore(left + 1, left) ? left + 1 : left;
      if (!this.#isBefore(child, index)) return first;
      this.#swap(child, index);
      index = child;
    }
  }

  #isBefore(one: number, other: number): boolean {
    return (
      (this.#entries[one]?.at ?? Number.POSITIVE_INFINITY) < (this.#entries[other]?.at ?? Number.POSITIVE_INFINITY)
    );
  }

  #swap(one: number, other: number): void {
    const [a, b] = [this.#entries[one], this.#entries[other]];
    if (a === undefined || b === undefined) return;
    this.#entries[one] = b;
    this.#entries[other] = a;
  }
}
