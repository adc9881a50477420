/** How long work may keep others from the thread in one go, in milliseconds. */
const longestTurnMs = 8;

/**
 * Work of many links, a bit at a time: when a thousand gateways are to be told something, or all come back at once, requests and
 * heartbeats still get their turns.
 */
export class Turns {
  readonly #work: (() => void)[] = [];
  readonly #failed: (error: unknown) => void;
  #next = 0;
  #isScheduled = false;

  /** @param failed told of work that throws; the rest goes on */
  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  add(work: () => void): void {
    this.#work.push(work);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#run();
    });
  }

  #run(): void {
    const startedAt = performance.now();
    while (this.#next < this.#work.length) {
      const work = this.#work[this.#next];
      this.#next += 1;
      try {
        work?.();
      } catch (error) {
        this.#failed(error);
      }
      if (performance.now() - startedAt > longestTurnMs) break;
    }
    if (this.#next < this.#work.length) {
      this.#schedule();
      return;
    }
    this.#work.length = 0;
    this.#next = 0;
  }
}
