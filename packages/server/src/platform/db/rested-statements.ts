/** The rests of a request that uses the database for long. */
export interface Rests {
  /** Whether the request must rest between two statements. */
  readonly areDue: boolean;
  /** The total length of the rests so far, in milliseconds. */
  readonly restedMs: number;
  /** @returns a promise to await after a statement that took this time; undefined if no rest is needed yet */
  after(usedMs: number): Promise<void> | undefined;
}

/**
 * Sends the statements of a transaction in order. While rests are due, statements run one at a time with rests between
 * them. Otherwise each statement is sent at once.
 */
export class RestedStatements {
  readonly #rests: Rests | undefined;
  /** Settles after the last statement and the rest that follows it. */
  #last: Promise<void> = Promise.resolve();
  /** The number of statements that are not answered, or are followed by a rest that is not over. */
  #pending = 0;
  #unsent = 0;
  #isOpen = true;

  constructor(rests: Rests | undefined) {
    this.#rests = rests;
  }

  /** @param start sends the statement */
  send<Answer>(start: () => Promise<Answer>): Promise<Answer> {
    const rests = this.#rests;
    if (rests === undefined || (this.#pending === 0 && !rests.areDue)) return start();
    this.#pending += 1;
    this.#unsent += 1;
    let sentAt = 0;
    const answer = this.#last.then(() => {
      if (!this.#isOpen) throw new Error("the transaction ended before this statement was sent");
      this.#unsent -= 1;
      sentAt = performance.now();
      return start();
    });
    const rest = async () => {
      if (this.#isOpen) await rests.after(performance.now() - sentAt);
      this.#pending -= 1;
    };
    this.#last = answer.then(rest, rest);
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
