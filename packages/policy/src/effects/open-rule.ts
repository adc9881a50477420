import type { ASTNode } from "@marcbachmann/cel-js";
import { type Evaluation, mostAttempts, preparePart, type RuleContext } from "../admission-rules/evaluate-rule.ts";
import { asComprehension, type BoundNames, childrenOf, sessionField } from "../admission-rules/rule-syntax.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";
import { estimatedCost } from "../model/evaluation-cost.ts";
import { withoutStackTraces } from "../model/without-stack-traces.ts";
import type { OpenDevice, Openness } from "./open-circumstances.ts";
import { inputsOf, inputsOfNode, type RuleInputs } from "./rule-inputs.ts";

/** Whether a condition is met under partly open circumstances. */
export type Certainty = "no" | "perhaps" | "yes";

const cachedTrees = new WeakMap<CompiledRule, Possible>();

/** Whether the result of a rule can depend on open circumstances. */
export function isOpen(inputs: RuleInputs, open: Openness): boolean {
  const isRequestRead = inputs.user || inputs.device || inputs.resource;
  return (
    (inputs.sourceIp && open.sourceIp) ||
    (inputs.country && open.country) ||
    (inputs.now && open.now) ||
    (isRequestRead && open.request === true) ||
    (open.device !== undefined && readsOpenDevice(inputs, open.device))
  );
}

/** The number of names is bounded by the parts of the rule, so the cost of an evaluation covers this. */
function readsOpenDevice(inputs: RuleInputs, { knownPosture, isHypothetical }: OpenDevice): boolean {
  return (
    inputs.wholePosture ||
    (isHypothetical && inputs.sessionOrFields) ||
    inputs.posture.some((name) => !knownPosture.has(name))
  );
}

/**
 * Whether a rule is met. A part that reads open circumstances may give any result. Other parts are evaluated, and `&&`,
 * `||`, `!` and `?:` combine the possible results. The analysis treats parts as independent. It can therefore report
 * "perhaps" for a certain result, but never a wrong certainty.
 *
 * @param context without open circumstances
 */
export function certaintyOf(rule: CompiledRule, context: RuleContext, open: Openness): Certainty {
  if (!isOpen(inputsOf(rule), open)) return rule.evaluate(context) === true ? "yes" : "no";
  const may = withoutStackTraces(() => treeOf(rule)(context, open));
  if ((may & MET) === 0) return "no";
  return may === MET ? "yes" : "perhaps";
}

/** The cost of preparing a character of a rule whose parts are evaluated one by one. */
const preparationCost = 40;
/** The cost of a character each time that the text of a part is parsed to find its brackets. */
const attemptCost = 2;

/** The cost of the next `certaintyOf`, which prepares the parts of a rule if no earlier one has. */
export function costOfCertainty(rule: CompiledRule, context: RuleContext, open: Openness): number {
  const cost = estimatedCost(rule, context);
  if (cachedTrees.has(rule) || !isOpen(inputsOf(rule), open)) return cost;
  const text = rule.facts.text ?? "";
  return cost + (preparationCost + attemptCost * (mostAttempts(text) - 1)) * text.length;
}

const everythingOpen: Openness = { sourceIp: true, country: true, now: true, request: true };

/**
 * Whether any request can meet a rule from now on. May be true for a rule that cannot be met, but is never false for
 * one that can.
 *
 * @param now in milliseconds since 1970
 */
export function canBeMet(rule: CompiledRule, now: number): boolean {
  const { type } = rule.facts;
  if (type !== "CUSTOM") return type === "ALLOW";
  const context = { source: {}, now: new Date(now) };
  if (certaintyOf(rule, context, everythingOpen) === "no") return false;
  const { sourceIp, country, user, device, resource } = inputsOf(rule);
  if (sourceIp || country || user || device || resource) return true;
  // The rule reads only the clock, so it may have ended for good.
  return rule.evaluate(context) === true || rule.horizon(context) !== Number.POSITIVE_INFINITY;
}

/** A set of possible results: true, false, or a failure (an error or a value that is not boolean). */
const MET = 1;
const UNMET = 2;
const FAILED = 4;
const ANYTHING = MET | UNMET | FAILED;

type Possible = (context: RuleContext, open: Openness) => number;

/** One tree for every openness, because callers choose the names of known posture entries. */
function treeOf(rule: CompiledRule): Possible {
  const known = cachedTrees.get(rule);
  if (known !== undefined) return known;
  const prepared = rule.prepared();
  // If the types of the whole text do not fit, its evaluation always fails, although its parts may succeed.
  const isWellTyped = !(prepared instanceof Error) && prepared.hasType();
  const tree = isWellTyped ? possible(prepared.ast) : () => ANYTHING;
  cachedTrees.set(rule, tree);
  return tree;
}

function possible(node: ASTNode): Possible {
  switch (node.op) {
    case "&&":
      return both(possible(node.args[0]), possible(node.args[1]), UNMET, MET);
    case "||":
      return both(possible(node.args[0]), possible(node.args[1]), MET, UNMET);
    case "!_": {
      const operand = possible(node.args);
      return (context, open) => {
        const may = operand(context, open);
        return ((may & MET) === 0 ? 0 : UNMET) | ((may & UNMET) === 0 ? 0 : MET) | (may & FAILED);
      };
    }
    case "?:": {
      // A conditional has three operands.
      const [condition, met, unmet] = node.args.map(possible) as [Possible, Possible, Possible];
      return (context, open) => {
        const may = condition(context, open);
        const ifMet = (may & MET) === 0 ? 0 : met(context, open);
        const ifUnmet = (may & UNMET) === 0 ? 0 : unmet(context, open);
        return ifMet | ifUnmet | (may & FAILED);
      };
    }
    default:
      return leaf(node);
  }
}

/** A part without operands that are analyzed. It is evaluated, unless it reads open circumstances. */
function leaf(node: ASTNode): Possible {
  const inputs = inputsOfNode(node);
  const failsWithoutSession = needsSession(node);
  let evaluate: Evaluation | undefined;
  return (context, open) => {
    if (!isOpen(inputs, open)) {
      evaluate ??= preparePart(node);
      return resultOf(evaluate, context);
    }
    // Without the session, the evaluation ends in an error whatever the time is.
    const hasNoSession = context.session === undefined && !isSessionOpen(open);
    return failsWithoutSession && hasNoSession ? FAILED : ANYTHING;
  };
}

function isSessionOpen({ request, device }: Openness): boolean {
  return request === true || device?.isHypothetical === true;
}

/** Whether a part of a rule certainly reads the session, whatever the values of its operands are. */
function needsSession(node: ASTNode): boolean {
  if (sessionField(node, nothingBound) !== undefined) return true;
  // These may skip an operand, or absorb its error.
  if (node.op === "&&" || node.op === "||" || node.op === "?:" || asComprehension(node) !== undefined) return false;
  return childrenOf(node).some(needsSession);
}

const nothingBound: BoundNames = new Set();

function resultOf(evaluate: Evaluation, context: RuleContext): number {
  try {
    const value = evaluate(context);
    return value === true ? MET : value === false ? UNMET : FAILED;
  } catch {
    return FAILED;
  }
}

/**
 * Combines two operands of `&&` or `||`. One deciding operand determines the result, even if the other fails.
 *
 * @param deciding the result that one operand alone determines
 * @param neutral the result that needs both operands
 */
function both(left: Possible, right: Possible, deciding: number, neutral: number): Possible {
  return (context, open) => {
    const one = left(context, open);
    if (one === deciding) return deciding;
    const other = right(context, open);
    if (other === deciding) return deciding;
    const decided = (one | other) & deciding;
    const stays = one & other & neutral;
    // A failure of one operand remains possible unless the other operand decides.
    const fails = (one & FAILED) !== 0 || (other & FAILED) !== 0 ? FAILED : 0;
    return decided | stays | fails;
  };
}
