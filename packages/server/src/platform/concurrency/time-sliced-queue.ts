/** How long queued work may block the event loop at a time, in milliseconds. */
const sliceMs = 4;

/**
 * Short pieces of work, executed in order and in slices. When a thousand gateways need a new configuration at the same
 * time, requests and heartbeats are still served between two slices.
 */
export class TimeSlicedQueue {
  readonly #work: (() => void)[] = [];
  readonly #failed: (error: unknown) => void;
  #next = 0;
  #isScheduled = false;

  /** @param failed receives the error of a piece of work; the rest of the queue continues */
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
      this.#runSlice();
    });
  }

  #runSlice(): void {
    const startedAt = performance.now();
    while (this.#next < this.#work.length) {
      const work = this.#work[this.#next];
      this.#next += 1;
      try {
        work?.();
      } catch (error) {
        this.#failed(error);
      }
      if (performance.now() - startedAt > sliceMs) break;
    }
    if (this.#next < this.#work.length) {
      this.#schedule();
      return;
    }
    this.#work.length = 0;
    this.#next = 0;
  }
}
