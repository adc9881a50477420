import type { TimeWindows } from "@gatehouse/agent-protocol/gateway/configuration";
import type { RuleContext } from "../admission-rules/evaluate-rule.ts";
import { SESSION_VARIABLE, TIME_VARIABLE } from "../admission-rules/rule-language.ts";
import { asFreeVariable, clockUse, walkRule } from "../admission-rules/rule-syntax.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";
import { estimatedCost } from "../model/evaluation-cost.ts";
import { type Work, yieldAfter } from "../work.ts";

/** A period from `from` up to, but not including, `until`, in milliseconds since 1970. */
export interface ValidityPeriod {
  readonly from: number;
  readonly until: number;
}

/** The time windows in which a rule is met during a validity period: always, never (no windows), or at times. */
export interface RuleWindows {
  readonly when: true | TimeWindows;
  /** Windows are exact up to this time; after it they hold the fail-safe value. */
  readonly exactUntil: number;
  /** The cost that the work has not yielded. Most rules are evaluated only once. */
  readonly unpaid: number;
}

/** The maximum number of evaluations of a rule for one validity period. */
export interface EvaluationBudget {
  readonly steps: number;
}

/** The budget of a rule that is evaluated once for all devices: more than each minute of a day. */
export const sharedRuleBudget: EvaluationBudget = { steps: 2_000 };
/** The budget of a rule that is evaluated for each device: each quarter of an hour of a day. */
export const deviceRuleBudget: EvaluationBudget = { steps: 100 };

/** The maximum number of windows in a configuration. */
const maxWindows = 500;

/**
 * Finds the windows by evaluating the rule at each time at which its result can change. A rule may change more often
 * than the budget allows.
 *
 * @param afterwards fail-safe result once the evaluation budget is spent: false for allow rules, true for deny rules
 */
export function* findingWindows(
  rule: CompiledRule,
  contextAt: (now: number) => RuleContext,
  { from, until }: ValidityPeriod,
  { steps }: EvaluationBudget,
  afterwards: boolean,
): Work<RuleWindows> {
  const windows: [number | null, number | null][] = [];
  let open: number | null | undefined;
  let now = from;
  let left = steps;
  let unpaid = 0;
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
    // The horizon evaluates parts of the rule.
    unpaid += (rule.readsNow ? 2 : 1) * estimatedCost(rule, context);
    if (unpaid < yieldAfter) continue;
    yield unpaid;
    unpaid = 0;
  }
  const exactUntil = Math.min(now, until);
  const isToTheEnd = exactUntil === until || afterwards;
  if (open === undefined && exactUntil < until && afterwards) open = exactUntil;
  if (open !== undefined) windows.push([open, isToTheEnd ? null : exactUntil]);
  const [first] = windows;
  const isAlways = windows.length === 1 && first?.[0] === null && first[1] === null;
  return { when: isAlways || windows, exactUntil, unpaid };
}

/** The variables that a rule reads. */
export interface RuleDependencies {
  /** Whether the rule reads the user, the device, its session, or its source. */
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
  // An invalid rule is never met.
  if (prepared instanceof Error) return nothing;
  const names = new Set<string>();
  let time = false;
  walkRule(prepared.ast, (node, bound) => {
    const clock = clockUse(node, bound);
    time ||= clock.reads;
    const name = clock.descend ? asFreeVariable(node, bound) : SESSION_VARIABLE;
    if (name !== undefined) names.add(name);
    return clock.descend;
  });
  const resource = names.delete("resource");
  const source = names.has("source");
  names.delete(TIME_VARIABLE);
  return { subject: names.size > 0, source, resource, time };
}
