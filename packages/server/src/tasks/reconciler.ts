import type { BackgroundTask } from "../platform/background-task.ts";
import { CoalescedTask } from "../platform/concurrency/coalesced-task.ts";
import type { Log } from "../platform/log.ts";

/** Calls to `wake` within this time share a run, in milliseconds. */
const wakeDelayMs = 20;

export interface ReconcilerOptions extends BackgroundTask {
  readonly log: Log;
  /** Called after each run that fails. */
  readonly failed?: ((name: string) => void) | undefined;
}

/** Repeats a background task at intervals and when woken, and logs its failures. */
export class Reconciler {
  readonly name: string;
  readonly #task: CoalescedTask;
  readonly #stop: () => Promise<void>;

  constructor({ name, intervalMs, run, stop = () => Promise.resolve(), log, failed }: ReconcilerOptions) {
    this.name = name;
    this.#stop = stop;
    this.#task = new CoalescedTask({
      run,
      delayMs: wakeDelayMs,
      intervalMs,
      failed: (error) => {
        log.warn({ err: error, task: name }, "background task failed; will run again");
        failed?.(name);
      },
    });
  }

  start(): void {
    this.#task.start();
  }

  /** Runs soon, and once more if a run is in progress. */
  wake(): void {
    this.#task.request();
  }

  /** Runs now, or waits for the run that is in progress. Failures are logged and left to the next run. */
  runNow(): Promise<void> {
    return this.#task.runNow().catch(() => undefined);
  }

  /** Stops after the run that is in progress. */
  async stop(): Promise<void> {
    await Promise.all([this.#task.stop(), this.#stop()]);
  }
}
