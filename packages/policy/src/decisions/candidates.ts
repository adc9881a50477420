import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { PolicyList } from "../model/policy-list.ts";
import type { Principal } from "../model/principal.ts";

type Policies = readonly CompiledPolicy[];

/**
 * The policies of a list that apply to a principal and a destination, in the order of evaluation. Policies are merged
 * lazily, because the first few make most decisions.
 */
export class Candidates {
  /** Lists in order of rank. No policy is in two of them. */
  readonly #lists: readonly Policies[];
  /** The index of the next policy of each list. */
  readonly #positions = [0, 0, 0, 0];

  private constructor(lists: readonly Policies[]) {
    this.#lists = lists;
  }

  /**
   * @param resource undefined for traffic to no resource, which only INTERNET policies decide
   * @returns undefined if no policy applies
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

  /** @returns undefined at the end */
  next(): CompiledPolicy | undefined {
    const lists = this.#lists;
    let from = -1;
    let first: CompiledPolicy | undefined;
    for (let index = 0; index < lists.length; index += 1) {
      const policy = lists[index]?.[this.#positions[index] ?? 0];
      if (policy !== undefined && (first === undefined || policy.rank < first.rank)) {
        first = policy;
        from = index;
      }
    }
    if (from >= 0) this.#positions[from] = (this.#positions[from] ?? 0) + 1;
    return first;
  }
}

const none: Policies = [];
