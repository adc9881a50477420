export interface CoalescedTaskOptions {
  readonly run: () => Promise<void>;
  /**
   * Time between a request and its run, in milliseconds. Requests within it share the run. With 0, a run starts at
   * once.
   */
  readonly delayMs?: number;
  /** Once started, the task also runs this long after each run, in milliseconds. */
  readonly intervalMs?: number;
  /**
   * A run that fails is repeated after this long, in milliseconds. If absent, the next request or interval repeats
   * it.
   */
  readonly retryMs?: number;
  /** Receives the error of each failed run. */
  readonly failed?: (error: unknown) => void;
}

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Work that never runs twice at a time. All requests that arrive before a run starts share it; requests that arrive
 * during a run share one more run after it.
 */
export class CoalescedTask {
  readonly #options: CoalescedTaskOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** Set before `#running` is: the work may request another run in its first, synchronous part. */
  #isRunning = false;
  #isRequested = false;
  #isStarted = false;
  #isStopped = false;
  /** Callers that wait for the next run. */
  #waiting: Waiting[] = [];
  /** Callers that wait for the run that is in progress. */
  #joined: Waiting[] = [];

  constructor(options: CoalescedTaskOptions) {
    this.#options = options;
  }

  /** Starts the interval. Requests are served whether it was started or not. */
  start(): void {
    this.#isStarted = true;
    if (!this.#isRequested && !this.#isRunning) this.#scheduleNext();
  }

  /** Requests a run without waiting for it. */
  request(delayMs: number = this.#options.delayMs ?? 0): void {
    const isNew = !this.#isRequested;
    this.#isRequested = true;
    if (isNew && !this.#isRunning) this.#runAfter(delayMs);
  }

  /**
   * Runs now, or joins the run that is in progress.
   *
   * @throws the error of the run
   */
  runNow(): Promise<void> {
    this.#running ??= this.#run();
    return this.#running;
  }

  /**
   * Runs now if a run was requested, after the run that is in progress.
   *
   * @throws the error of that run
   */
  async flush(): Promise<void> {
    await this.#running?.catch(() => undefined);
    if (this.#isRequested || this.#isRunning) await this.runNow();
  }

  /**
   * Waits until every request so far was served by a run that succeeded. Later requests do not prolong the wait.
   *
   * @throws Error if the task is stopped before that
   */
  settled(): Promise<void> {
    if (!this.#isRunning && !this.#isRequested) return Promise.resolve();
    const runs = this.#isRequested ? this.#waiting : this.#joined;
    return new Promise((resolve, reject) => runs.push({ resolve, reject }));
  }

  /** Starts no further run, and waits for the run that is in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running?.catch(() => undefined);
    for (const { reject } of this.#waiting.splice(0)) reject(new Error("The task was stopped."));
  }

  async #run(): Promise<void> {
    clearTimeout(this.#timer);
    this.#isRunning = true;
    this.#isRequested = false;
    this.#joined = this.#waiting;
    this.#waiting = [];
    let retryMs: number | undefined;
    try {
      await this.#options.run();
      for (const { resolve } of this.#joined.splice(0)) resolve();
    } catch (error) {
      this.#waiting = [...this.#joined.splice(0), ...this.#waiting];
      retryMs = this.#options.retryMs;
      this.#isRequested ||= retryMs !== undefined;
      this.#options.failed?.(error);
      throw error;
    } finally {
      this.#running = undefined;
      this.#isRunning = false;
      this.#scheduleNext(retryMs);
    }
  }

  #scheduleNext(retryMs?: number): void {
    const { delayMs = 0, intervalMs } = this.#options;
    if (this.#isRequested) this.#runAfter(retryMs ?? delayMs);
    else if (this.#isStarted && intervalMs !== undefined) this.#runAfter(intervalMs);
  }

  #runAfter(delayMs: number): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    // The owner learns of failures from `failed`.
    const start = () => void this.runNow().catch(() => undefined);
    if (delayMs === 0) {
      start();
      return;
    }
    this.#timer = setTimeout(start, delayMs);
    this.#timer.unref();
  }
}
