/** Aborts a request when the caller aborts it, or when the response or its next part takes too long. */
export class TimeLimit {
  /** Whether the time limit was exceeded. */
  expired = false;
  readonly #timeoutMs: number;
  readonly #caller: AbortSignal | undefined;
  readonly #stop = new AbortController();
  readonly #stopped: Promise<never>;
  readonly #abort = () => this.#stop.abort(this.#caller?.reason);

  constructor(timeoutMs: number, caller: AbortSignal | undefined) {
    this.#timeoutMs = timeoutMs;
    this.#caller = caller;
    this.#stopped = new Promise((_, reject) => {
      this.#stop.signal.addEventListener("abort", () => reject(this.#stop.signal.reason));
    });
    this.#stopped.catch(() => undefined); // the current waiter handles the rejection
    caller?.addEventListener("abort", this.#abort);
  }

  /** @throws the error of the work; when the request is aborted, rejects even if the work ignores the signal */
  async during<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const timer = setTimeout(() => {
      this.expired = true;
      this.#stop.abort();
    }, this.#timeoutMs);
    try {
      return await Promise.race([work(this.#stop.signal), this.#stopped]);
    } finally {
      clearTimeout(timer);
    }
  }

  end(): void {
    this.#caller?.removeEventListener("abort", this.#abort);
  }
}
