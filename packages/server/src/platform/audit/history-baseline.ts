/**
 * Entries that cover access effects and facts without their own seal: those from before seals had details, and
 * those that retention left. `after` of such an entry has the fields below.
 */
import type { Event } from "@gatehouse/contract/records/event";

/** The operation of the system's entry that covers rows from before seals had details. */
export const sealHistoryOperation = "sealAccessHistory";
export const pruneOperation = "pruneEvents";

/** Everything through a generation, as one hash. */
export interface HistoryBaseline {
  readonly historyThrough: number;
  /** Hexadecimal; null for an empty table. */
  readonly historyHash: string | null;
}

/**
 * Finds the baseline among the entries of a record. A later entry must not replace it, because an entry can be appended
 * by anyone who can write to the database.
 */
export class BaselineFinder {
  /** The position through which the record was pruned; 0: it was not. */
  prunedThrough = 0;
  #sealed: HistoryBaseline | undefined;
  #pruned: HistoryBaseline | undefined;

  take({ operation, actor, after }: Pick<Event, "operation" | "actor" | "after">): void {
    if (actor.type !== "system" || after === undefined) return;
    const { historyThrough, historyHash, prunedThrough } = after;
    if (typeof historyThrough !== "number" || !(historyHash === null || typeof historyHash === "string")) return;
    if (operation === sealHistoryOperation) this.#sealed ??= { historyThrough, historyHash };
    else if (operation === pruneOperation && prunedThrough === this.prunedThrough) {
      this.#pruned ??= { historyThrough, historyHash };
    }
  }

  get baseline(): HistoryBaseline | undefined {
    return this.#pruned ?? this.#sealed;
  }
}
