/** Runs asynchronous operations one at a time, in the order of their calls. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs an operation after all earlier ones. A failed operation does not affect later ones. */
  run<Result>(operation: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(operation);
    this.#last = result.catch(() => {});
    return result;
  }
}
