import type { ASTNode } from "@marcbachmann/cel-js";
import { type Evaluation, preparePart, type RuleContext } from "../admission-rules/evaluate-rule.ts";
import { SESSION_VARIABLE, TIME_VARIABLE } from "../admission-rules/rule-language.ts";
import {
  asComprehension,
  asFreeVariable,
  asSelection,
  type BoundNames,
  childrenOf,
  clockUse,
  sessionField,
  walkRule,
} from "../admission-rules/rule-syntax.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";
import type { Openness } from "./open-circumstances.ts";

/** Whether a condition is met under partly open circumstances. */
export type Certainty = "no" | "perhaps" | "yes";

/** The inputs that a rule, or a part of it, reads. */
export interface RuleInputs {
  readonly sourceIp: boolean;
  readonly country: boolean;
  readonly now: boolean;
  readonly user: boolean;
  /** Also for the session of the device. */
  readonly device: boolean;
  readonly resource: boolean;
  /** The fields that the rule reads from user, device and resource. Undefined if it reads one of them as a whole. */
  readonly paths: readonly InputPath[] | undefined;
}

/** A field that a rule reads. "posture" and "session" belong to the device. */
export interface InputPath {
  readonly variable: "user" | "device" | "posture" | "session" | "resource";
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

const cachedInputs = new WeakMap<CompiledRule, RuleInputs>();
const cachedTrees = new WeakMap<CompiledRule, Map<number | string, Possible>>();

/** The inputs of a rule. Empty for built-in and invalid rules. */
export function inputsOf(rule: CompiledRule): RuleInputs {
  const known = cachedInputs.get(rule);
  if (known !== undefined) return known;
  const prepared = rule.facts.type === "CUSTOM" ? rule.prepared() : undefined;
  const inputs = prepared === undefined || prepared instanceof Error ? nothing : inputsOfNode(prepared.ast);
  cachedInputs.set(rule, inputs);
  return inputs;
}

/** Whether the result of a rule can depend on open circumstances. */
export function isOpen(inputs: RuleInputs, open: Openness): boolean {
  const isRequestRead = inputs.user || inputs.device || inputs.resource;
  return (
    (inputs.sourceIp && open.sourceIp) ||
    (inputs.country && open.country) ||
    (inputs.now && open.now) ||
    (isRequestRead && open.request === true) ||
    (open.knownPosture !== undefined && readsOtherPosture(inputs, open.knownPosture))
  );
}

function readsOtherPosture({ device, paths }: RuleInputs, known: readonly string[]): boolean {
  if (paths === undefined) return device;
  return paths.some(({ variable, name }) => variable === "posture" && !known.includes(name));
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
  const may = treeOf(rule, open)(context);
  if ((may & MET) === 0) return "no";
  return may === MET ? "yes" : "perhaps";
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

type Possible = (context: RuleContext) => number;

function treeOf(rule: CompiledRule, open: Openness): Possible {
  let byOpenness = cachedTrees.get(rule);
  if (byOpenness === undefined) {
    byOpenness = new Map();
    cachedTrees.set(rule, byOpenness);
  }
  const flags = (open.sourceIp ? 1 : 0) + (open.country ? 2 : 0) + (open.now ? 4 : 0) + (open.request === true ? 8 : 0);
  const key = open.knownPosture === undefined ? flags : JSON.stringify([flags, ...open.knownPosture]);
  const known = byOpenness.get(key);
  if (known !== undefined) return known;
  const prepared = rule.prepared();
  // If the types of the whole text do not fit, its evaluation always fails, although its parts may succeed.
  const isWellTyped = !(prepared instanceof Error) && prepared.hasType();
  const tree = isWellTyped ? possible(prepared.ast, open) : () => ANYTHING;
  byOpenness.set(key, tree);
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
      // A conditional has three operands.
      const [condition, met, unmet] = node.args.map((part) => possible(part, open)) as [Possible, Possible, Possible];
      return (context) => {
        const may = condition(context);
        return ((may & MET) === 0 ? 0 : met(context)) | ((may & UNMET) === 0 ? 0 : unmet(context)) | (may & FAILED);
      };
    }
    default:
      // Without the session, the evaluation ends in an error whatever the time is.
      if (needsSession(node) && open.request !== true)
        return ({ session }) => (session === undefined ? FAILED : ANYTHING);
      return () => ANYTHING;
  }
}

/** Whether a part of a rule certainly reads the session, whatever the values of its operands are. */
function needsSession(node: ASTNode): boolean {
  if (sessionField(node, nothingBound) !== undefined) return true;
  // These may skip an operand, or absorb its error.
  if (node.op === "&&" || node.op === "||" || node.op === "?:" || asComprehension(node) !== undefined) return false;
  return childrenOf(node).some(needsSession);
}

const nothingBound: BoundNames = new Set();

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
 * Combines two operands of `&&` or `||`. One deciding operand determines the result, even if the other fails.
 *
 * @param deciding the result that one operand alone determines
 * @param neutral the result that needs both operands
 */
function both(left: Possible, right: Possible, deciding: number, neutral: number): Possible {
  return (context) => {
    const one = left(context);
    if (one === deciding) return deciding;
    const other = right(context);
    if (other === deciding) return deciding;
    const decided = (one | other) & deciding;
    const stays = one & other & neutral;
    // A failure of one operand remains possible unless the other operand decides.
    const fails = (one & FAILED) !== 0 || (other & FAILED) !== 0 ? FAILED : 0;
    return decided | stays | fails;
  };
}

function inputsOfNode(root: ASTNode): RuleInputs {
  const inputs = { ...nothing };
  const paths = new Map<string, InputPath>();
  let isWhole = false;
  walkRule(root, (node, bound) => {
    const variable = asFreeVariable(node, bound);
    if (variable === "source") {
      inputs.sourceIp = true;
      inputs.country = true;
    } else if (variable === TIME_VARIABLE) {
      inputs.now = true;
    } else if (variable === SESSION_VARIABLE) {
      inputs.device = true;
      inputs.now = true;
      isWhole = true;
    } else if (variable === "user" || variable === "device" || variable === "resource") {
      inputs[variable] = true;
      isWhole = true;
    }
    const [owner, name] = ownerOf(node, bound);
    if (name === undefined) return true;
    switch (owner) {
      case "source":
        // A valid rule reads no other field of the source.
        if (name !== "ip" && name !== "country") return true;
        inputs[name === "ip" ? "sourceIp" : "country"] = true;
        return false;
      case "session":
        inputs.device = true;
        inputs.now ||= clockUse(node, bound).reads;
        paths.set(`${owner}.${name}`, { variable: owner, name });
        return false;
      case "user":
      case "device":
      case "posture":
      case "resource":
        if (owner === "device" && name === "posture") return true;
        inputs[owner === "posture" ? "device" : owner] = true;
        paths.set(`${owner}.${name}`, { variable: owner, name });
        return false;
      default:
        return true;
    }
  });
  return { ...inputs, paths: isWhole ? undefined : [...paths.values()] };
}

/**
 * The owner and the field of a selection: user and department for `user.department`, posture and encrypted for
 * `device.posture.encrypted`.
 */
function ownerOf(node: ASTNode, bound: BoundNames): readonly [owner: string | undefined, name: string | undefined] {
  const selection = asSelection(node);
  if (selection?.name === undefined) return [undefined, undefined];
  const variable = asFreeVariable(selection.operand, bound);
  if (variable !== undefined) return [variable, selection.name];
  const [owner, part] = ownerOf(selection.operand, bound);
  return owner === "device" && part === "posture" ? ["posture", selection.name] : [undefined, undefined];
}
