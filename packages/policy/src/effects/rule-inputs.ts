import type { ASTNode } from "@marcbachmann/cel-js";
import { SESSION_VARIABLE, TIME_VARIABLE } from "../admission-rules/rule-language.ts";
import { asFreeVariable, asSelection, type BoundNames, clockUse, walkRule } from "../admission-rules/rule-syntax.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";

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
  /** The posture entries that the rule reads by name. */
  readonly posture: readonly string[];
  /** Whether the rule reads the device or its posture as a whole. */
  readonly wholePosture: boolean;
  /** Whether the rule reads the session, or a field of the device other than `posture` and `agent`. */
  readonly sessionOrFields: boolean;
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
  posture: [],
  wholePosture: false,
  sessionOrFields: false,
};

const cachedInputs = new WeakMap<CompiledRule, RuleInputs>();

/** The inputs of a rule. Empty for built-in and invalid rules. */
export function inputsOf(rule: CompiledRule): RuleInputs {
  const known = cachedInputs.get(rule);
  if (known !== undefined) return known;
  const prepared = rule.facts.type === "CUSTOM" ? rule.prepared() : undefined;
  const inputs = prepared === undefined || prepared instanceof Error ? nothing : inputsOfNode(prepared.ast);
  cachedInputs.set(rule, inputs);
  return inputs;
}

/** The inputs of a rule or a part of it. */
export function inputsOfNode(root: ASTNode): RuleInputs {
  const inputs = { ...nothing };
  const paths = new Map<string, InputPath>();
  const posture = new Set<string>();
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
      inputs.sessionOrFields = true;
      isWhole = true;
    } else if (variable === "user" || variable === "device" || variable === "resource") {
      inputs[variable] = true;
      inputs.wholePosture ||= variable === "device";
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
        inputs.sessionOrFields = true;
        inputs.now ||= clockUse(node, bound).reads;
        paths.set(`${owner}.${name}`, { variable: owner, name });
        return false;
      case "user":
      case "device":
      case "posture":
      case "resource":
        if (owner === "device" && name === "posture") return true;
        inputs[owner === "posture" ? "device" : owner] = true;
        if (owner === "posture") posture.add(name);
        inputs.sessionOrFields ||= owner === "device" && name !== "agent";
        paths.set(`${owner}.${name}`, { variable: owner, name });
        return false;
      default:
        return true;
    }
  });
  return { ...inputs, paths: isWhole ? undefined : [...paths.values()], posture: [...posture] };
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
