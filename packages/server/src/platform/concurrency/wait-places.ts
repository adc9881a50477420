/** A wait for a lock that is not longer than this is short, in milliseconds. */
export const shortWaitMs = 2_000;

export interface PlaceLimits {
  /** The places of work with short waits. */
  readonly short: number;
  /** The places of work with long waits. */
  readonly long: number;
}

export interface Place {
  release(): void;
  /** Takes a place of work with long waits instead, as soon as one is free. */
  becomeLong(): void;
}

interface Waiting {
  readonly waitMs: number;
  readonly enter: (place: Place | undefined) => void;
}

/**
 * Places for work that waits for locks. Work with long waits has places of its own, so that it never delays the rest.
 * A free place belongs to the work with the shortest wait.
 */
export class WaitPlaces {
  readonly #free: Record<keyof PlaceLimits, number>;
  /** Ordered by `waitMs`. */
  readonly #waiting: Waiting[] = [];
  /** Places that will become long. */
  readonly #slow = new Set<() => void>();
  #isClosed = false;

  constructor({ short, long }: PlaceLimits) {
    this.#free = { short, long };
  }

  /**
   * Takes a place. Return it with `release`.
   *
   * @param waitMs how long the work may wait for a lock, in milliseconds
   * @param timeoutMs how long it may wait for the place, in milliseconds; forever if absent
   * @returns undefined if the places were closed, or none became free in time
   */
  acquire(waitMs: number, timeoutMs?: number): Promise<Place | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const waiting = {
        waitMs,
        enter: (place: Place | undefined) => {
          clearTimeout(timer);
          resolve(place);
        },
      };
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        resolve(undefined);
      };
      const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs);
      const before = this.#waiting.findLastIndex((other) => other.waitMs <= waitMs);
      this.#waiting.splice(before + 1, 0, waiting);
      this.#fill();
    });
  }

  /** Gives nobody a place any more, including those that wait. */
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

  #take(first: keyof PlaceLimits): Place {
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

function kindOf(waitMs: number): keyof PlaceLimits {
  return waitMs <= shortWaitMs ? "short" : "long";
}
