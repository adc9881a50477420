/** Background work that is done again and again, and never twice at a time. Each run must be safe to repeat. */
import type { Log } from "../platform/log.ts";

export interface ReconcilerOptions {
  readonly name: string;
  /** The time between two runs, in milliseconds. */
  readonly intervalMs: number;
  readonly run: () => Promise<void>;
  readonly log: Log;
}

export class Reconciler {
  readonly #options: ReconcilerOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  start(): void {
    this.#schedule();
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

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.runNow().then(() => this.#schedule()), this.#options.intervalMs);
    this.#timer.unref();
  }

  async #run(): Promise<void> {
    const { name, run, log } = this.#options;
    try {
      await run();
    } catch (error) {
      log.warn({ err: error, task: name }, "a background task failed; it will run again");
    }
  }
}
