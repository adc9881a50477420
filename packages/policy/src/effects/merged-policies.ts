import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { PolicyList } from "../model/policy-list.ts";
import { afterSide, beforeSide, type Sides } from "./level-states.ts";
import { haveSameFacts } from "./same-facts.ts";

/** A policy that is asked in its turn in one model, or in both as the same. */
export interface MergedPolicy {
  readonly policy: CompiledPolicy;
  readonly sides: Sides;
}

/**
 * The policies of two lists in one order, which is that of either: a policy that is not the same in both, or has another place, stands
 * there once for each. As many as possible stand there once.
 *
 * @param isRuleChanged whether an admission rule gives something else in the other model
 */
export function mergedPolicies(
  before: PolicyList,
  after: PolicyList,
  isRuleChanged: (ruleId: string) => boolean,
): readonly MergedPolicy[] {
  const was = before.policies.filter(isAsked);
  const is = after === before ? was : after.policies.filter(isAsked);
  const places = unchangedPositions(was, is, isRuleChanged);
  const runs = longestRun(places);
  const merged: MergedPolicy[] = [];
  let next = 0;
  for (const [index, policy] of is.entries()) {
    const place = places[index] ?? -1;
    if (!runs.has(index)) {
      merged.push({ policy, sides: afterSide });
      continue;
    }
    for (; next < place; next += 1) pushBefore(was[next]);
    merged.push({ policy, sides: 3 });
    next = place + 1;
  }
  for (; next < was.length; next += 1) pushBefore(was[next]);
  return merged;

  function pushBefore(policy: CompiledPolicy | undefined): void {
    if (policy !== undefined) merged.push({ policy, sides: beforeSide });
  }
}

function isAsked({ facts }: CompiledPolicy): boolean {
  return facts.active && !facts.isDefault;
}

/** For each policy the place of the same one among those before; -1 where it is not the same. */
function unchangedPositions(
  was: readonly CompiledPolicy[],
  is: readonly CompiledPolicy[],
  isRuleChanged: (ruleId: string) => boolean,
): readonly number[] {
  if (was === is) return is.map(({ facts }, index) => (isRuleChanged(facts.rule) ? -1 : index));
  const placeOf = new Map(was.map(({ facts }, index) => [facts.id, index]));
  return is.map(({ facts }) => {
    const place = placeOf.get(facts.id);
    const other = place === undefined ? undefined : was[place];
    if (place === undefined || other === undefined || isRuleChanged(facts.rule)) return -1;
    return haveSameFacts(other.facts, facts) ? place : -1;
  });
}

/** The indexes of the longest run of rising numbers; negative ones are left out. */
function longestRun(numbers: readonly number[]): ReadonlySet<number> {
  /** The index that ends the best run of each length, and for each index the one before it in its run. */
  const ends: number[] = [];
  const follows = new Int32Array(numbers.length).fill(-1);
  for (const [index, number] of numbers.entries()) {
    if (number < 0) continue;
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((numbers[ends[middle] ?? -1] ?? 0) < number) low = middle + 1;
      else high = middle;
    }
    follows[index] = low === 0 ? -1 : (ends[low - 1] ?? -1);
    ends[low] = index;
  }
  const run = new Set<number>();
  for (let index = ends.at(-1) ?? -1; index >= 0; index = follows[index] ?? -1) run.add(index);
  return run;
}
