/** The pauses of a request that uses the database for a long time. */
export interface Pauses {
  /** Whether the request must pause between two statements. */
  readonly areDue: boolean;
  /** The total length of the pauses so far, in milliseconds. */
  readonly pausedMs: number;
  /** @returns a promise to await after a statement that took this time; undefined if no pause is needed yet */
  after(usedMs: number): Promise<void> | undefined;
}

/**
 * Sends the statements of a transaction in order. While pauses are due, statements run one at a time, with pauses
 * between them. Otherwise each statement is sent at once.
 */
export class PausedStatements {
  readonly #pauses: Pauses | undefined;
  /** Settles after the last statement and the pause that follows it. */
  #last: Promise<void> = Promise.resolve();
  /** The number of statements that are not answered, or are followed by a pause that is not over. */
  #pending = 0;
  #unsent = 0;
  #isOpen = true;

  constructor(pauses: Pauses | undefined) {
    this.#pauses = pauses;
  }

  /** @param start sends the statement */
  send<Answer>(start: () => Promise<Answer>): Promise<Answer> {
    const pauses = this.#pauses;
    if (pauses === undefined || (this.#pending === 0 && !pauses.areDue)) return start();
    this.#pending += 1;
    this.#unsent += 1;
    let sentAt = 0;
    const answer = this.#last.then(() => {
      if (!this.#isOpen) throw new Error("the transaction ended before this statement was sent");
      this.#unsent -= 1;
      sentAt = performance.now();
      return start();
    });
    const pause = async () => {
      if (this.#isOpen) await pauses.after(performance.now() - sentAt);
      this.#pending -= 1;
    };
    this.#last = answer.then(pause, pause);
    return answer;
  }

  /** Discards statements that were not sent. */
  close(): void {
    this.#isOpen = false;
  }

  /** @throws if a statement was not sent: the work ended without awaiting it */
  requireAllSent(): void {
    if (this.#unsent > 0) throw new Error("the work of a transaction must await its statements");
  }
}
