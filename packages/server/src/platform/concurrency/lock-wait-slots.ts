/** Lock waits of up to this time count as short, in milliseconds. */
export const shortWaitMs = 2_000;

export interface SlotLimits {
  /** The slots of work with short waits. */
  readonly short: number;
  /** The slots of work with long waits. */
  readonly long: number;
}

export interface Slot {
  release(): void;
  /** Moves to a slot for long waits as soon as one is free. */
  becomeLong(): void;
}

/** The order in which work of one kind is served. */
type Order = "shortest wait first" | "first come, first served";

interface Waiting {
  readonly waitMs: number;
  readonly enter: (slot: Slot | undefined) => void;
}

/** Slots for work that waits for locks. Work with long waits has separate slots, so that it never delays other work. */
export class LockWaitSlots {
  readonly #free: Record<keyof SlotLimits, number>;
  readonly #order: Order;
  /** Waiting work, in the order in which it is served. */
  readonly #waiting: Waiting[] = [];
  /** Work that waits to move to a slot for long waits. */
  readonly #slow = new Set<() => void>();
  #isClosed = false;

  constructor({ short, long }: SlotLimits, order: Order = "shortest wait first") {
    this.#free = { short, long };
    this.#order = order;
  }

  /**
   * Takes a slot. Return it with `release`.
   *
   * @param waitMs how long the work may wait for a lock, in milliseconds
   * @param timeoutMs how long it may wait for the slot, in milliseconds; forever if absent
   * @returns undefined if the slots were closed, or none became free in time
   */
  acquire(waitMs: number, timeoutMs?: number): Promise<Slot | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const waiting = {
        waitMs,
        enter: (slot: Slot | undefined) => {
          clearTimeout(timer);
          resolve(slot);
        },
      };
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        resolve(undefined);
      };
      const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs);
      const isLater =
        this.#order === "first come, first served" ? () => true : (other: Waiting) => other.waitMs <= waitMs;
      this.#waiting.splice(this.#waiting.findLastIndex(isLater) + 1, 0, waiting);
      this.#fill();
    });
  }

  /** Grants no more slots, not even to waiting work. */
  close(): void {
    this.#isClosed = true;
    for (const { enter } of this.#waiting.splice(0)) enter(undefined);
  }

  #fill(): void {
    for (const moveToLong of this.#slow) {
      if (this.#free.long > 0) moveToLong();
    }
    for (;;) {
      const index = this.#waiting.findIndex(({ waitMs }) => this.#free[kindOf(waitMs)] > 0);
      const [next] = index === -1 ? [] : this.#waiting.splice(index, 1);
      if (next === undefined) return;
      next.enter(this.#take(kindOf(next.waitMs)));
    }
  }

  #take(first: keyof SlotLimits): Slot {
    let kind = first;
    this.#free[kind] -= 1;
    const moveToLong = () => {
      this.#slow.delete(moveToLong);
      this.#free[kind] += 1;
      kind = "long";
      this.#free.long -= 1;
    };
    return {
      becomeLong: () => {
        if (kind === "long") return;
        this.#slow.add(moveToLong);
        this.#fill();
      },
      release: () => {
        this.#slow.delete(moveToLong);
        this.#free[kind] += 1;
        this.#fill();
      },
    };
  }
}

function kindOf(waitMs: number): keyof SlotLimits {
  return waitMs <= shortWaitMs ? "short" : "long";
}
