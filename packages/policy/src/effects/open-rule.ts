import type { ASTNode } from "@marcbachmann/cel-js";
import { type Evaluation, preparePart, type RuleContext } from "../admission-rules/evaluate-rule.ts";
import { TIME_VARIABLE } from "../admission-rules/rule-language.ts";
import { asFreeVariable, asSelection, type BoundNames, walkRule } from "../admission-rules/rule-syntax.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";
import type { Openness } from "./open-circumstances.ts";

/** Of a condition whose circumstances are not all known. */
export type Certainty = "no" | "perhaps" | "yes";

/** What a rule, or a part of it, reads. */
export interface RuleInputs {
  readonly sourceIp: boolean;
  readonly country: boolean;
  readonly now: boolean;
  readonly user: boolean;
  readonly device: boolean;
  readonly resource: boolean;
  /** All values that it reads of these three; undefined where it reads one of them as a whole. */
  readonly paths: readonly InputPath[] | undefined;
}

/** One value that a rule reads; "posture" is that of a device. */
export interface InputPath {
  readonly variable: "user" | "device" | "posture" | "resource";
  readonly name: string;
}

const nothing: RuleInputs = {
  sourceIp: false,
  country: false,
  now: false,
  user: false,
  device: false,
  resource: false,
  paths: [],
};

const readings = new WeakMap<CompiledRule, RuleInputs>();
const trees = new WeakMap<CompiledRule, Map<number, Possible>>();

/** What a rule reads; nothing for a rule that is built in, or is no rule. */
export function inputsOf(rule: CompiledRule): RuleInputs {
  const known = readings.get(rule);
  if (known !== undefined) return known;
  const prepared = rule.facts.type === "CUSTOM" ? rule.prepared() : undefined;
  const reading = prepared === undefined || prepared instanceof Error ? nothing : inputsOfNode(prepared.ast);
  readings.set(rule, reading);
  return reading;
}

/** Whether what a rule gives can depend on what is open. */
export function isOpen(reading: RuleInputs, open: Openness): boolean {
  const isRequestRead = reading.user || reading.device || reading.resource;
  return (
    (reading.sourceIp && open.sourceIp) ||
    (reading.country && open.country) ||
    (reading.now && open.now) ||
    (isRequestRead && open.request === true)
  );
}

/**
 * Whether a rule is met. Parts that read something open may give anything; the others are evaluated, and `&&`, `||`, `!` and `?:`
 * put together what each may give. Parts are taken for independent of each other, so "perhaps" may be said of what is certain,
 * never the other way round.
 *
 * @param context without what is open
 */
export function certaintyOf(rule: CompiledRule, context: RuleContext, open: Openness): Certainty {
  if (!isOpen(inputsOf(rule), open)) return rule.evaluate(context) === true ? "yes" : "no";
  const may = treeOf(rule, open)(context);
  if ((may & MET) === 0) return "no";
  return may === MET ? "yes" : "perhaps";
}

const everythingOpen: Openness = { sourceIp: true, country: true, now: true, request: true };

/**
 * Whether a rule can be met by anybody, from now on. "true" may be said of one that cannot, never the other way round.
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
  // It reads the clock alone: what was met before may be over for good.
  return rule.evaluate(context) === true || rule.horizon(context) !== Number.POSITIVE_INFINITY;
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
  const key = (open.sourceIp ? 1 : 0) + (open.country ? 2 : 0) + (open.now ? 4 : 0) + (open.request === true ? 8 : 0);
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
  if (!isOpen(inputsOfNode(node), open)) return closed(preparePart(node));
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

function inputsOfNode(root: ASTNode): RuleInputs {
  const reading = { ...nothing };
  const paths = new Map<string, InputPath>();
  let isWhole = false;
  walkRule(root, (node, bound) => {
    const variable = asFreeVariable(node, bound);
    if (variable === "source") {
      reading.sourceIp = true;
      reading.country = true;
    } else if (variable === TIME_VARIABLE) {
      reading.now = true;
    } else if (variable === "user" || variable === "device" || variable === "resource") {
      reading[variable] = true;
      isWhole = true;
    }
    const [owner, name] = ownerOf(node, bound);
    if (name === undefined) return true;
    switch (owner) {
      case "source":
        // Another field is none that a rule can have.
        if (name !== "ip" && name !== "country") return true;
        reading[name === "ip" ? "sourceIp" : "country"] = true;
        return false;
      case "user":
      case "device":
      case "posture":
      case "resource":
        if (owner === "device" && name === "posture") return true;
        reading[owner === "posture" ? "device" : owner] = true;
        paths.set(`${owner}.${name}`, { variable: owner, name });
        return false;
      default:
        return true;
    }
  });
  return { ...reading, paths: isWhole ? undefined : [...paths.values()] };
}

/** Of `user.department`, user and department; of `device.posture.encrypted`, posture and encrypted. */
function ownerOf(node: ASTNode, bound: BoundNames): readonly [owner: string | undefined, name: string | undefined] {
  const selection = asSelection(node);
  if (selection?.name === undefined) return [undefined, undefined];
  const variable = asFreeVariable(selection.operand, bound);
  if (variable !== undefined) return [variable, selection.name];
  const [owner, part] = ownerOf(selection.operand, bound);
  return owner === "device" && part === "posture" ? ["posture", selection.name] : [undefined, undefined];
}
