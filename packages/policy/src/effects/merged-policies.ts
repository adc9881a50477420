import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { PolicyList } from "../model/policy-list.ts";
import { entriesAtOnce, entryCost, recordCost, recordsAtOnce, type Work } from "../work.ts";
import { afterSide, beforeSide, bothSides, type Sides } from "./level-states.ts";
import { haveSameFacts } from "./same-facts.ts";

/** The cost of finding a policy's place in the longest run, in rule-cost units. */
const placeCost = 3;

/** An active policy of one model, or of both if it is equal in both. */
export interface MergedPolicy {
  readonly policy: CompiledPolicy;
  readonly sides: Sides;
}

/**
 * Merges the policies of two lists into one order that preserves the order of each list. A policy that differs between
 * the lists or changed its position appears once for each list. As many policies as possible appear once.
 *
 * This is work that can be suspended between some policies.
 *
 * @param isRuleChanged whether an admission rule differs between the models
 */
export function* mergingPolicies(
  before: PolicyList,
  after: PolicyList,
  isRuleChanged: (ruleId: string) => boolean,
): Work<readonly MergedPolicy[]> {
  const was = before.policies.filter(isEvaluated);
  const is = after === before ? was : after.policies.filter(isEvaluated);
  const positions = yield* unchangedPositions(was, is, isRuleChanged);
  const runs = longestRun(positions);
  yield is.length * placeCost;
  const merged: MergedPolicy[] = [];
  let next = 0;
  for (const [index, policy] of is.entries()) {
    if (index % entriesAtOnce === entriesAtOnce - 1) yield entriesAtOnce * entryCost;
    const position = positions[index] ?? -1;
    if (!runs.has(index)) {
      merged.push({ policy, sides: afterSide });
      continue;
    }
    for (; next < position; next += 1) pushBefore(was[next]);
    merged.push({ policy, sides: bothSides });
    next = position + 1;
  }
  for (; next < was.length; next += 1) pushBefore(was[next]);
  return merged;

  function pushBefore(policy: CompiledPolicy | undefined): void {
    if (policy !== undefined) merged.push({ policy, sides: beforeSide });
  }
}

function isEvaluated({ facts }: CompiledPolicy): boolean {
  return facts.active && !facts.isDefault;
}

/** The index of the equal policy in the other list for each policy, or -1. */
function* unchangedPositions(
  was: readonly CompiledPolicy[],
  is: readonly CompiledPolicy[],
  isRuleChanged: (ruleId: string) => boolean,
): Work<readonly number[]> {
  if (was === is) return is.map(({ facts }, index) => (isRuleChanged(facts.rule) ? -1 : index));
  const positionOf = new Map<string, number>();
  for (const [index, { facts }] of was.entries()) {
    positionOf.set(facts.id, index);
    if (index % entriesAtOnce === entriesAtOnce - 1) yield entriesAtOnce * entryCost;
  }
  const positions: number[] = [];
  let unpaid = 0;
  for (const { facts } of is) {
    const position = positionOf.get(facts.id);
    const other = position === undefined ? undefined : was[position];
    const isKnown = position !== undefined && other !== undefined && !isRuleChanged(facts.rule);
    positions.push(isKnown && haveSameFacts(other.facts, facts) ? position : -1);
    // Facts that are the same object are not compared.
    unpaid += isKnown && other.facts !== facts ? recordCost : entryCost;
    if (unpaid < recordsAtOnce * recordCost) continue;
    yield unpaid;
    unpaid = 0;
  }
  return positions;
}

/** The indexes of the longest run of increasing numbers. Negative numbers are skipped. */
function longestRun(numbers: readonly number[]): ReadonlySet<number> {
  /**
   * `ends` holds the last index of the best run of each length. `follows` holds the predecessor of each index in its
   * run.
   */
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
