import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { PolicyList } from "../model/policy-list.ts";
import type { Principal } from "../model/principal.ts";

type Policies = readonly CompiledPolicy[];

/**
 * The policies of a list that apply to a source and a destination, one after the other in the order of evaluation. Reads no further
 * than it is asked: most decisions are made by the first few.
 */
export class Candidates {
  /** Each in order of rank; no policy stands in two of them. */
  readonly #lists: readonly Policies[];
  /** What comes next in each. */
  readonly #places = [0, 0, 0, 0];

  private constructor(lists: readonly Policies[]) {
    this.#lists = lists;
  }

  /**
   * @param resource undefined for traffic to no resource, of which INTERNET policies alone decide
   * @returns undefined where no policy applies
   */
  static of(list: PolicyList, principal: Principal, resource: CompiledResource | undefined): Candidates | undefined {
    const general = resource === undefined ? list.anywhere : list.everywhere;
    const named = resource?.policiesIn(list);
    const generalForAnyone = general.forAnyone;
    const generalForPrincipal = principal.policiesOf(general);
    const namedForAnyone = named === undefined ? none : named.forAnyone;
    const namedForPrincipal = named === undefined ? none : named.naming(principal);
    const length =
      generalForAnyone.length + generalForPrincipal.length + namedForAnyone.length + namedForPrincipal.length;
    if (length === 0) return undefined;
    return new Candidates([generalForAnyone, generalForPrincipal, namedForAnyone, namedForPrincipal]);
  }

  /** @returns undefined when there is none left */
  next(): CompiledPolicy | undefined {
    const lists = this.#lists;
    let from = -1;
    let first: CompiledPolicy | undefined;
    for (let index = 0; index < lists.length; index += 1) {
      const policy = lists[index]?.[this.#places[index] ?? 0];
      if (policy !== undefined && (first === undefined || policy.rank < first.rank)) {
        first = policy;
        from = index;
      }
    }
    if (from >= 0) this.#places[from] = (this.#places[from] ?? 0) + 1;
    return first;
  }
}

const none: Policies = [];
