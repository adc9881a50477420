/** An item that waits for the run of earlier items of its key. */
interface Waiting<Item, Result> {
  readonly item: Item;
  readonly size: number;
  readonly resolve: (result: Promise<Result>) => void;
}

/** A key that has a run. */
interface Running<Item, Result> {
  readonly waiting: Set<Waiting<Item, Result>>;
  /** Whether the run takes longer than the limit. Nothing waits for it. */
  isSlow: boolean;
}

/** Runs items together, and returns their results in the same order. It must not throw. */
type Perform<Item, Result> = (items: readonly Item[]) => Promise<readonly Promise<Result>[]>;

export interface JointRunLimits {
  /** The maximum number of items of one run. */
  readonly items: number;
  /** The largest sum of the sizes of one run's items. A larger item runs alone. */
  readonly size: number;
  /** The time in milliseconds after which the items that wait for a run each run alone. */
  readonly waitMs: number;
}

/**
 * Runs items of one key one after the other. Items that arrive while another run is under way wait, and then run
 * together. A single item runs at once: no item waits for others to arrive.
 */
export class JointRuns<Item, Result> {
  readonly #limits: JointRunLimits;
  readonly #keys = new Map<string, Running<Item, Result>>();

  constructor(limits: JointRunLimits) {
    this.#limits = limits;
  }

  /** @param size the size of the item, in the unit of the limits */
  async run(key: string, item: Item, size: number, perform: Perform<Item, Result>): Promise<Result> {
    const running = this.#keys.get(key);
    if (running === undefined) {
      const first = { waiting: new Set<Waiting<Item, Result>>(), isSlow: false };
      this.#keys.set(key, first);
      try {
        return await this.#timed(first, perform, performAlone(item, perform));
      } finally {
        void this.#continue(key, first, perform);
      }
    }
    if (running.isSlow) return performAlone(item, perform);
    return new Promise<Result>((resolve) => running.waiting.add({ item, size, resolve }));
  }

  /** Runs waiting items until none is left. */
  async #continue(key: string, running: Running<Item, Result>, perform: Perform<Item, Result>): Promise<void> {
    while (running.waiting.size > 0) {
      const taken = this.#take(running.waiting);
      const performed = perform(taken.map(({ item }) => item)).then((results) => {
        for (const [index, { resolve }] of taken.entries()) resolve(results[index] as Promise<Result>); // one for each
        return Promise.allSettled(results);
      });
      await this.#timed(running, perform, performed);
    }
    this.#keys.delete(key);
  }

  /** Runs each waiting item alone if the current run takes too long. */
  async #timed<T>(running: Running<Item, Result>, perform: Perform<Item, Result>, run: Promise<T>): Promise<T> {
    const timer = setTimeout(() => {
      running.isSlow = true;
      for (const { item, resolve } of running.waiting) resolve(performAlone(item, perform));
      running.waiting.clear();
    }, this.#limits.waitMs);
    try {
      return await run;
    } finally {
      clearTimeout(timer);
      running.isSlow = false;
    }
  }

  #take(waiting: Set<Waiting<Item, Result>>): readonly Waiting<Item, Result>[] {
    const taken: Waiting<Item, Result>[] = [];
    let total = 0;
    for (const entry of waiting) {
      if (taken.length > 0 && (taken.length === this.#limits.items || total + entry.size > this.#limits.size)) break;
      waiting.delete(entry);
      taken.push(entry);
      total += entry.size;
    }
    return taken;
  }
}

async function performAlone<Item, Result>(item: Item, perform: Perform<Item, Result>): Promise<Result> {
  const [result] = await perform([item]);
  return result as Promise<Result>; // one for each item
}
