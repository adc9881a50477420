/** How long to wait for the outbox, in milliseconds. It is polled more often, even if a notification is lost. */
const patienceMs = 2_000;

/** Waits until the outbox delivers a generation of a tenant. */
export class AwaitedGenerations {
  #latest = 0;
  readonly #waiting = new Map<() => void, number>();

  /** The outbox has delivered a generation, and all before it. */
  reached(generation: number): void {
    this.#latest = Math.max(this.#latest, generation);
    for (const [proceed, awaited] of this.#waiting) if (awaited <= generation) proceed();
  }

  /** Resolves when a generation is reached, or after two seconds. */
  wait(generation: number): Promise<void> {
    if (generation <= this.#latest) return Promise.resolve();
    return new Promise((resolve) => {
      const proceed = () => {
        clearTimeout(timer);
        this.#waiting.delete(proceed);
        resolve();
      };
      const timer = setTimeout(proceed, patienceMs);
      timer.unref();
      this.#waiting.set(proceed, generation);
    });
  }
}
