/** Background work that is done again and again, and never twice at a time. Each run must be safe to repeat. */
import type { Log } from "../platform/log.ts";

/** What happens within this time of a call to `wake` shares one run, in milliseconds. */
const gatherMs = 20;

export interface ReconcilerOptions {
  readonly name: string;
  /** The time between two runs, in milliseconds. */
  readonly intervalMs: number;
  readonly run: () => Promise<void>;
  readonly log: Log;
  /** Told of each run that ends with an error. */
  readonly failed?: ((name: string) => void) | undefined;
}

export class Reconciler {
  readonly #options: ReconcilerOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;
  /** Whether the next run is one that somebody asked for. */
  #woken = false;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  start(): void {
    this.#schedule(this.#options.intervalMs);
  }

  /** There may be something to do: runs soon, and once more where a run is under way. */
  wake(): void {
    if (this.#woken) return;
    this.#woken = true;
    if (this.#running === undefined) this.#schedule(gatherMs);
  }

  /** Runs now, or waits for the run that is under way. Failures are logged and left to the next run. */
  runNow(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Ends after the run that is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #schedule(afterMs: number): void {
    if (this.#stopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#woken = false;
      void this.runNow().then(() => this.#schedule(this.#woken ? gatherMs : this.#options.intervalMs));
    }, afterMs);
    this.#timer.unref();
  }

  async #run(): Promise<void> {
    const { name, run, log, failed } = this.#options;
    try {
      await run();
    } catch (error) {
      log.warn({ err: error, task: name }, "a background task failed; it will run again");
      failed?.(name);
    }
  }
}
