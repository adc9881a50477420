export interface AcquireTimeout {
  readonly afterMs: number;
  /** Makes the error that the caller receives. */
  readonly error: () => Error;
}

/** A number of permits. Callers that find none free wait in the order in which they came. */
export class Semaphore {
  readonly #permits: number;
  #taken = 0;
  readonly #waiting = new Set<() => void>();

  /** @param permits how many callers may hold one at the same time */
  constructor(permits: number) {
    this.#permits = permits;
  }

  get isFree(): boolean {
    return this.#taken < this.#permits;
  }

  /** Whether no caller holds a permit. */
  get isUnused(): boolean {
    return this.#taken === 0;
  }

  /** The number of callers that wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Takes a permit. Return it with `release`, unless this throws.
   *
   * @returns undefined if a permit was free
   * @throws the error of `timeout` if no permit becomes free in time
   */
  acquire(timeout?: AcquireTimeout): Promise<void> | undefined {
    if (this.isFree) {
      this.#taken += 1;
      return undefined;
    }
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const proceed = () => {
        clearTimeout(timer);
        this.#waiting.delete(proceed);
        resolve();
      };
      if (timeout !== undefined) {
        timer = setTimeout(() => {
          this.#waiting.delete(proceed);
          reject(timeout.error());
        }, timeout.afterMs);
      }
      this.#waiting.add(proceed);
    });
  }

  /** Returns a permit. The caller that has waited longest receives it. */
  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#taken -= 1;
    else next();
  }
}
