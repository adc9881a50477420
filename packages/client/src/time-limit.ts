/** Ends a request when the caller gives up, or when an answer, or the next part of it, takes too long. */
export class TimeLimit {
  /** Whether it took too long. */
  expired = false;
  readonly #timeoutMs: number;
  readonly #caller: AbortSignal | undefined;
  readonly #stop = new AbortController();
  readonly #stopped: Promise<never>;
  readonly #giveUp = () => this.#stop.abort(this.#caller?.reason);

  constructor(timeoutMs: number, caller: AbortSignal | undefined) {
    this.#timeoutMs = timeoutMs;
    this.#caller = caller;
    this.#stopped = new Promise((_, reject) => {
      this.#stop.signal.addEventListener("abort", () => reject(this.#stop.signal.reason));
    });
    this.#stopped.catch(() => undefined); // heard of by whoever waits at that time
    caller?.addEventListener("abort", this.#giveUp);
  }

  /** @throws whatever the work does; once it is over, also where the work does not hear of the signal */
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
    this.#caller?.removeEventListener("abort", this.#giveUp);
  }
}
