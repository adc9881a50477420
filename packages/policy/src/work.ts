/**
 * Work that can be suspended. It yields the units of cost that it spent since it last yielded, in rule-cost units of
 * about 20 ns. The consumer decides when to continue, so this package needs no clock. The models of a suspended work
 * are immutable, so its result does not depend on the time at which it continues.
 */
export type Work<Result> = Generator<number, Result, void>;

/** Finishes a work without pausing. */
export function finish<Result>(work: Work<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Calls a function for each entry, as work that can be suspended between some of them.
 *
 * @param cost the cost of an entry, or a function that returns it
 */
export function* forEach<Entry>(
  entries: Iterable<Entry>,
  cost: number | ((entry: Entry) => number),
  use: (entry: Entry) => void,
): Work<void> {
  let unpaid = 0;
  for (const entry of entries) {
    use(entry);
    unpaid += typeof cost === "number" ? cost : cost(entry);
    if (unpaid < yieldAfter) continue;
    yield unpaid;
    unpaid = 0;
  }
  if (unpaid > 0) yield unpaid;
}

/** Work that several callers need. Each of them continues it where another one stopped. */
export class SharedWork<Result> {
  readonly #work: Work<Result>;
  #outcome: { readonly result: Result } | { readonly error: unknown } | undefined;

  constructor(work: Work<Result>) {
    this.#work = work;
  }

  get isOver(): boolean {
    return this.#outcome !== undefined;
  }

  /** Continues the work up to its result. */
  *finishing(): Work<Result> {
    while (this.#outcome === undefined) {
      let step: IteratorResult<number, Result>;
      try {
        step = this.#work.next();
      } catch (error) {
        this.#outcome = { error };
        break;
      }
      if (step.done === true) this.#outcome = { result: step.value };
      else yield step.value;
    }
    if ("error" in this.#outcome) throw this.#outcome.error;
    return this.#outcome.result;
  }
}

// Costs that do not depend on rules, in rule-cost units.

/** A decision without its policies. */
export const decisionCost = 30;
/** A policy of a decision, without its rule. */
export const policyCost = 4;
/** A user of a comparison, without policies. */
export const comparedUserCost = 60;
/** A record of a model that is compiled. */
export const recordCost = 100;
/** A reference that is compiled, such as a user whom a policy names. */
export const referenceCost = 10;
/** The most records that are compiled before work yields. */
export const recordsAtOnce = 50;
/** An entry of a map that is copied or listed. */
export const entryCost = 6;
/** An element of a list that is copied. */
export const copyCost = 0.25;
/** The most entries that are copied or listed before work yields. */
export const entriesAtOnce = 500;
/** The units that work spends at most before it yields, unless one evaluation costs more. */
export const yieldAfter = 2_000;
