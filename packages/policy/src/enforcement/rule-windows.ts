import type { TimeWindows } from "@gatehouse/agent-protocol/gateway/configuration";
import type { RuleContext } from "../admission-rules/evaluate-rule.ts";
import { TIME_VARIABLE } from "../admission-rules/rule-language.ts";
import { asFreeVariable, walkRule } from "../admission-rules/rule-syntax.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";

/** From the first moment until before the second, in milliseconds since 1970. */
export interface Life {
  readonly from: number;
  readonly until: number;
}

/** When something holds within a life: all of it, never (no windows), or at times. */
export interface Holding {
  readonly when: true | TimeWindows;
  /** Up to this moment the windows are what the rule says; after it, what whoever asked takes for safe. */
  readonly settledUntil: number;
}

/** What a rule is asked in the course of a life, at most. */
export interface Patience {
  readonly steps: number;
}

/** For a rule that is asked once for everybody: every minute of a day, and some. */
export const patienceForAll: Patience = { steps: 2_000 };
/** For one that is asked for each device: every quarter of an hour of a day. */
export const patienceForEach: Patience = { steps: 100 };

/** As many as a configuration takes. */
const mostWindows = 500;

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
  { from, until }: Life,
  { steps }: Patience,
  afterwards: boolean,
): Holding {
  const windows: [number | null, number | null][] = [];
  let open: number | null | undefined;
  let now = from;
  let left = steps;
  while (now < until && left > 0 && windows.length < mostWindows) {
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
  const settledUntil = Math.min(now, until);
  const isToTheEnd = settledUntil === until || afterwards;
  if (open === undefined && settledUntil < until && afterwards) open = settledUntil;
  if (open !== undefined) windows.push([open, isToTheEnd ? null : settledUntil]);
  const [first] = windows;
  const isAlways = windows.length === 1 && first?.[0] === null && first[1] === null;
  return { when: isAlways || windows, settledUntil };
}

/** Which variables a rule reads. */
export interface RuleReads {
  /** Of the user, the device or where the device is. */
  readonly subject: boolean;
  readonly source: boolean;
  readonly resource: boolean;
  readonly time: boolean;
}

const nothing: RuleReads = { subject: false, source: false, resource: false, time: false };
const known = new WeakMap<CompiledRule, RuleReads>();

export function readsOf(rule: CompiledRule): RuleReads {
  let reads = known.get(rule);
  if (reads === undefined) {
    reads = foundReads(rule);
    known.set(rule, reads);
  }
  return reads;
}

function foundReads(rule: CompiledRule): RuleReads {
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
