import type { TimeWindows } from "@gatehouse/agent-protocol/gateway/configuration";
import type { RuleContext } from "../admission-rules/evaluate-rule.ts";
import { TIME_VARIABLE } from "../admission-rules/rule-language.ts";
import { asFreeVariable, walkRule } from "../admission-rules/rule-syntax.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";

/** From the first moment until before the second, in milliseconds since 1970. */
export interface ValidityPeriod {
  readonly from: number;
  readonly until: number;
}

/** When something holds within a validity: all of it, never (no windows), or at times. */
export interface RuleWindows {
  readonly when: true | TimeWindows;
  /** Up to this moment the windows are what the rule says; after it, what whoever asked takes for safe. */
  readonly exactUntil: number;
}

/** What a rule is asked in the course of a validity, at most. */
export interface EvaluationBudget {
  readonly steps: number;
}

/** For a rule that is asked once for everybody: every minute of a day, and some. */
export const sharedRuleBudget: EvaluationBudget = { steps: 2_000 };
/** For one that is asked for each device: every quarter of an hour of a day. */
export const deviceRuleBudget: EvaluationBudget = { steps: 100 };

/** As many as a configuration takes. */
const maxWindows = 500;

/**
 * When a rule is met, found by asking it at each moment at which time can change what it gives.
 *
 * A rule may change more often than there is patience for.
 *
 * @param afterwards whether it counts as met from then on: closed where in doubt is "no" for what allows, and "yes" for what denies
 */
export function windowsOf(
  rule: CompiledRule,
  contextAt: (now: number) => RuleContext,
  { from, until }: ValidityPeriod,
  { steps }: EvaluationBudget,
  afterwards: boolean,
): RuleWindows {
  const windows: [number | null, number | null][] = [];
  let open: number | null | undefined;
  let now = from;
  let left = steps;
  while (now < until && left > 0 && windows.length < maxWindows) {
    const context = contextAt(now);
    const isMet = rule.evaluate(context) === true;
    if (isMet && open === undefined) open = now === from ? null : now;
    if (!isMet && open !== undefined) {
      windows.push([open, now]);
      open = undefined;
    }
    now = rule.horizon(context) ?? Number.POSITIVE_INFINITY;
    left -= 1;
  }
  const exactUntil = Math.min(now, until);
  const isToTheEnd = exactUntil === until || afterwards;
  if (open === undefined && exactUntil < until && afterwards) open = exactUntil;
  if (open !== undefined) windows.push([open, isToTheEnd ? null : exactUntil]);
  const [first] = windows;
  const isAlways = windows.length === 1 && first?.[0] === null && first[1] === null;
  return { when: isAlways || windows, exactUntil };
}

/** Which variables a rule reads. */
export interface RuleDependencies {
  /** Of the user, the device or where the device is. */
  readonly subject: boolean;
  readonly source: boolean;
  readonly resource: boolean;
  readonly time: boolean;
}

const nothing: RuleDependencies = { subject: false, source: false, resource: false, time: false };
const known = new WeakMap<CompiledRule, RuleDependencies>();

export function dependenciesOf(rule: CompiledRule): RuleDependencies {
  let reads = known.get(rule);
  if (reads === undefined) {
    reads = findDependencies(rule);
    known.set(rule, reads);
  }
  return reads;
}

function findDependencies(rule: CompiledRule): RuleDependencies {
  if (rule.facts.type !== "CUSTOM") return nothing;
  const prepared = rule.prepared();
  // What is no rule is never met, for anybody.
  if (prepared instanceof Error) return nothing;
  const names = new Set<string>();
  walkRule(prepared.ast, (node, bound) => {
    const name = asFreeVariable(node, bound);
    if (name !== undefined) names.add(name);
    return true;
  });
  const resource = names.delete("resource");
  const source = names.has("source");
  const time = names.delete(TIME_VARIABLE);
  return { subject: names.size > 0, source, resource, time };
}
