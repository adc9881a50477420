/** A budget of actions per second, of which unused ones accumulate up to a limit (a token bucket). */
export class RateBudget {
  readonly #perSecond: number;
  readonly #most: number;
  #left: number;
  #at: number | undefined;

  constructor(perSecond: number, most: number) {
    this.#perSecond = perSecond;
    this.#most = most;
    this.#left = most;
  }

  /**
   * @param now milliseconds, by a monotonic clock
   * @param reserved the number of actions that must remain for others
   * @returns whether the action is within the budget
   */
  take(now: number, reserved = 0): boolean {
    const elapsedMs = now - (this.#at ?? now);
    this.#at = now;
    this.#left = Math.min(this.#most, this.#left + (elapsedMs / 1000) * this.#perSecond);
    if (this.#left < 1 + reserved) return false;
    this.#left -= 1;
    return true;
  }

  /** The used share of the budget at the last action, from 0 to 1. */
  get used(): number {
    return 1 - this.#left / this.#most;
  }

  /** Whether the whole budget is available, so that the budget need not be retained. */
  isFull(now: number): boolean {
    return this.#left + ((now - (this.#at ?? now)) / 1000) * this.#perSecond >= this.#most;
  }
}
