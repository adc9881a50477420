import type { ASTNode } from "@marcbachmann/cel-js";
import { type Evaluation, preparePart, type RuleContext } from "../admission-rules/evaluate-rule.ts";
import { TIME_VARIABLE } from "../admission-rules/rule-language.ts";
import { asFreeVariable, asSelection, walkRule } from "../admission-rules/rule-syntax.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";
import type { Openness } from "./open-circumstances.ts";

/** Of a condition whose circumstances are not all known. */
export type Certainty = "no" | "perhaps" | "yes";

/** What a rule, or a part of it, reads. */
export interface RuleReading {
  readonly sourceIp: boolean;
  readonly country: boolean;
  readonly now: boolean;
  readonly user: boolean;
  readonly device: boolean;
  /** More of the resource than its type. */
  readonly resourceName: boolean;
}

const nothing: RuleReading = {
  sourceIp: false,
  country: false,
  now: false,
  user: false,
  device: false,
  resourceName: false,
};

const readings = new WeakMap<CompiledRule, RuleReading>();
const trees = new WeakMap<CompiledRule, Map<number, Possible>>();

/** What a rule reads; nothing for a rule that is built in, or is no rule. */
export function readingOf(rule: CompiledRule): RuleReading {
  const known = readings.get(rule);
  if (known !== undefined) return known;
  const prepared = rule.facts.type === "CUSTOM" ? rule.prepared() : undefined;
  const reading = prepared === undefined || prepared instanceof Error ? nothing : readingOfNode(prepared.ast);
  readings.set(rule, reading);
  return reading;
}

/** Whether what a rule gives can depend on what is open. */
export function isOpen(reading: RuleReading, open: Openness): boolean {
  return (reading.sourceIp && open.sourceIp) || (reading.country && open.country) || (reading.now && open.now);
}

/**
 * Whether a rule is met. Parts that read something open may give anything; the others are evaluated, and `&&`, `||`, `!` and `?:`
 * put together what each may give. Parts are taken for independent of each other, so "perhaps" may be said of what is certain,
 * never the other way round.
 *
 * @param context without what is open
 */
export function certaintyOf(rule: CompiledRule, context: RuleContext, open: Openness): Certainty {
  if (!isOpen(readingOf(rule), open)) return rule.evaluate(context) === true ? "yes" : "no";
  const may = treeOf(rule, open)(context);
  if ((may & MET) === 0) return "no";
  return may === MET ? "yes" : "perhaps";
}

/** What something may give, as a set: true, false, an error or no truth value. */
const MET = 1;
const UNMET = 2;
const FAILED = 4;
const ANYTHING = MET | UNMET | FAILED;

type Possible = (context: RuleContext) => number;

function treeOf(rule: CompiledRule, open: Openness): Possible {
  let kept = trees.get(rule);
  if (kept === undefined) {
    kept = new Map();
    trees.set(rule, kept);
  }
  const key = (open.sourceIp ? 1 : 0) + (open.country ? 2 : 0) + (open.now ? 4 : 0);
  const known = kept.get(key);
  if (known !== undefined) return known;
  const prepared = rule.prepared();
  // The parts of a text whose whole has no type could give what the whole never does.
  const isSound = !(prepared instanceof Error) && prepared.hasType();
  const tree = isSound ? possible(prepared.ast, open) : () => ANYTHING;
  kept.set(key, tree);
  return tree;
}

function possible(node: ASTNode, open: Openness): Possible {
  if (!isOpen(readingOfNode(node), open)) return closed(preparePart(node));
  switch (node.op) {
    case "&&":
      return both(possible(node.args[0], open), possible(node.args[1], open), UNMET, MET);
    case "||":
      return both(possible(node.args[0], open), possible(node.args[1], open), MET, UNMET);
    case "!_": {
      const operand = possible(node.args, open);
      return (context) => {
        const may = operand(context);
        return ((may & MET) === 0 ? 0 : UNMET) | ((may & UNMET) === 0 ? 0 : MET) | (may & FAILED);
      };
    }
    case "?:": {
      const [condition, met, unmet] = node.args.map((part) => possible(part, open)) as [Possible, Possible, Possible]; // it has three
      return (context) => {
        const may = condition(context);
        return ((may & MET) === 0 ? 0 : met(context)) | ((may & UNMET) === 0 ? 0 : unmet(context)) | (may & FAILED);
      };
    }
    default:
      return () => ANYTHING;
  }
}

function closed(evaluate: Evaluation): Possible {
  return (context) => {
    try {
      const value = evaluate(context);
      return value === true ? MET : value === false ? UNMET : FAILED;
    } catch {
      return FAILED;
    }
  };
}

/**
 * Of `&&` and `||`, which differ in what decides them whatever the other side gives, an error included.
 *
 * @param deciding what one side is enough for
 * @param neutral what both sides have to give for it
 */
function both(left: Possible, right: Possible, deciding: number, neutral: number): Possible {
  return (context) => {
    const one = left(context);
    if (one === deciding) return deciding;
    const other = right(context);
    if (other === deciding) return deciding;
    const decided = (one | other) & deciding;
    const stays = one & other & neutral;
    // An error on one side, unless the other decides; that side can give something else.
    const fails = (one & FAILED) !== 0 || (other & FAILED) !== 0 ? FAILED : 0;
    return decided | stays | fails;
  };
}

function readingOfNode(root: ASTNode): RuleReading {
  const reading = { ...nothing };
  walkRule(root, (node, bound) => {
    const selection = asSelection(node);
    const owner = selection?.name === undefined ? undefined : asFreeVariable(selection.operand, bound);
    if (owner === "source" && selection?.name === "ip") {
      reading.sourceIp = true;
      return false;
    }
    if (owner === "source" && selection?.name === "country") {
      reading.country = true;
      return false;
    }
    // All resources that a list of policies decides about have one type, but for sites.
    switch (asFreeVariable(node, bound)) {
      case "source":
        reading.sourceIp = true;
        reading.country = true;
        break;
      case TIME_VARIABLE:
        reading.now = true;
        break;
      case "user":
        reading.user = true;
        break;
      case "device":
        reading.device = true;
        break;
      case "resource":
        reading.resourceName = true;
        break;
    }
    return true;
  });
  return reading;
}
