/** How long work may block the event loop in one of its rounds, in milliseconds, unless a single step takes longer. */
const roundMs = 2;

/** The number of performed pieces of work that a busy tenant keeps in memory at most. */
const mostPerformed = 256;

/** Work in short steps. */
export type Steps = Generator<void, void, void>;

/** The work of a tenant, in order. */
interface Waiting {
  readonly works: Steps[];
  next: number;
}

/**
 * Work of all tenants that is usually short, such as received messages. It is performed at once while the event loop
 * has time for it. Otherwise it waits for a later round of the event loop, in which tenants take turns. A tenant's next
 * piece of work begins when the previous one is over.
 */
export class TenantTurns {
  readonly #failed: (error: unknown) => void;
  /** Tenants with work, in the order of their turns. */
  readonly #waiting = new Map<string, Waiting>();
  /** The time that work used since the round began. */
  #usedMs = 0;
  #isScheduled = false;

  /** @param failed receives the error that ended a piece of work; other work continues */
  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  /** Performs work now, or continues it later. @returns whether it is over */
  perform(tenantId: string, work: Steps): boolean {
    this.#schedule();
    const earlier = this.#waiting.get(tenantId);
    if (earlier !== undefined) {
      earlier.works.push(work);
      return false;
    }
    const waiting = { works: [work], next: 0 };
    this.#waiting.set(tenantId, waiting);
    return this.#usedMs < roundMs && this.#takeTurn(tenantId, waiting);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#beginRound();
    });
  }

  #beginRound(): void {
    this.#usedMs = 0;
    // A tenant whose turn is over is added again at the end, where this loop reaches it.
    for (const [tenantId, waiting] of this.#waiting) {
      this.#takeTurn(tenantId, waiting);
      if (this.#usedMs >= roundMs) break;
    }
    if (this.#waiting.size > 0 || this.#usedMs > 0) this.#schedule();
  }

  /** Performs a piece of work until it is over, or until the time of the round is used. @returns whether it is over */
  #takeTurn(tenantId: string, waiting: Waiting): boolean {
    const work = waiting.works[waiting.next];
    let isOver = false;
    do isOver = work === undefined || this.#step(work);
    while (!isOver && this.#usedMs < roundMs);
    if (isOver) waiting.next += 1;
    if (waiting.next === mostPerformed) {
      waiting.works.splice(0, mostPerformed);
      waiting.next = 0;
    }
    this.#waiting.delete(tenantId);
    if (waiting.next < waiting.works.length) this.#waiting.set(tenantId, waiting);
    return isOver;
  }

  #step(work: Steps): boolean {
    const startedAt = performance.now();
    try {
      return work.next().done === true;
    } catch (error) {
      this.#failed(error);
      return true;
    } finally {
      this.#usedMs += performance.now() - startedAt;
    }
  }
}
