import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { Model } from "../model/model.ts";
import type { PolicyList } from "../model/policy-list.ts";
import { policyCost, type Work } from "../work.ts";
import { type AccessExpectation, type CheckedExpectation, checkingExpectation, targetOf } from "./check-expectation.ts";
import { inputsOf } from "./rule-inputs.ts";

/**
 * Checks many expectations in one model. Expectations that differ only in their resources have the same result if the
 * same policies concern these resources, so they are checked once.
 */
export class SharedExpectations {
  readonly #model: Model;
  readonly #results = new Map<string, CheckedExpectation>();
  readonly #numbers = new Map<ReadonlySet<string> | undefined, number>();
  readonly #readsResource = new Map<PolicyList, boolean>();

  constructor(model: Model) {
    this.#model = model;
  }

  /** @param among as in `checkingExpectation`; equal sets should be the same object */
  *checking(expectation: AccessExpectation, among?: ReadonlySet<string>): Work<CheckedExpectation> {
    const key = yield* this.#keyOf(expectation, among);
    const known = key === undefined ? undefined : this.#results.get(key);
    if (known !== undefined) return known;
    const result = yield* checkingExpectation(this.#model, expectation, among);
    if (key !== undefined) this.#results.set(key, result);
    return result;
  }

  /** @returns undefined if no other expectation has the same result */
  *#keyOf(
    { destination, ...others }: AccessExpectation,
    among: ReadonlySet<string> | undefined,
  ): Work<string | undefined> {
    if (destination.kind !== "resource") return undefined;
    const target = targetOf(this.#model, destination);
    if (target?.resource === undefined) return undefined;
    const { resource, open } = target;
    const list = this.#model.policies[resource.type];
    const named = resource.policiesIn(list)?.policies ?? [];
    yield (named.length + 1) * policyCost;
    if (this.#everywhereReadsResource(list) || this.#readResource(named)) return undefined;
    const policies = named.map(({ rank }) => rank).join(" ");
    return JSON.stringify([others, this.#numberOf(among), resource.type, open, policies]);
  }

  #everywhereReadsResource(list: PolicyList): boolean {
    let reads = this.#readsResource.get(list);
    if (reads === undefined) {
      reads = this.#readResource(list.everywhere.policies);
      this.#readsResource.set(list, reads);
    }
    return reads;
  }

  /** Whether the rule of a policy reads the resource. */
  #readResource(policies: readonly CompiledPolicy[]): boolean {
    return policies.some((policy) => {
      const rule = policy.ruleIn(this.#model.rules);
      return rule !== undefined && inputsOf(rule).resource;
    });
  }

  #numberOf(among: ReadonlySet<string> | undefined): number {
    const known = this.#numbers.get(among);
    if (known !== undefined) return known;
    this.#numbers.set(among, this.#numbers.size);
    return this.#numbers.size - 1;
  }
}
