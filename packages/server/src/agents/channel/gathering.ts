/** After the work failed, in milliseconds. */
const retryMs = 1_000;

/** Work that is done some time after it is asked for, once for all who asked, and again where it fails. */
export class Gathering {
  readonly #afterMs: number;
  readonly #work: () => Promise<void>;
  readonly #failed: (error: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isWanted = false;
  #isStopped = false;

  constructor(afterMs: number, work: () => Promise<void>, failed: (error: unknown) => void) {
    this.#afterMs = afterMs;
    this.#work = work;
    this.#failed = failed;
  }

  wake(afterMs: number = this.#afterMs): void {
    this.#isWanted = true;
    if (this.#isStopped || this.#timer !== undefined || this.#running !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#run().catch(() => undefined);
    }, afterMs);
    this.#timer.unref();
  }

  /** @throws what the work throws; it is tried again all the same */
  async now(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#running?.catch(() => undefined);
    if (this.#isWanted) await this.#run();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async #run(): Promise<void> {
    this.#isWanted = false;
    let next: number | undefined;
    this.#running = this.#work();
    try {
      await this.#running;
    } catch (error) {
      this.#failed(error);
      next = retryMs;
      this.#isWanted = true;
      throw error;
    } finally {
      this.#running = undefined;
      if (this.#isWanted) this.wake(next);
    }
  }
}
