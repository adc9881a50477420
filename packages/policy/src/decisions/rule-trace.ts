import type { ASTNode } from "@marcbachmann/cel-js";
import { Instant, Span } from "../admission-rules/cel-time.ts";
import { preparePart, type RuleContext, textOfPart } from "../admission-rules/evaluate-rule.ts";
import { asFreeVariable, asSelection, walkRule } from "../admission-rules/rule-syntax.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";
import { estimatedCost } from "../model/evaluation-cost.ts";
import type { Work } from "../work.ts";

/** A name in a rule, with its value or the error on reading it. */
export interface ObservedValue {
  readonly name: string;
  readonly value?: unknown;
  readonly error?: string;
}

/** The result of a condition in a rule. Compound conditions have `parts`, all others have `values`. */
export interface ConditionTrace {
  /** The text of the condition in the rule. */
  readonly text: string;
  /** Undefined if the evaluation ended in an error. */
  readonly met: boolean | undefined;
  readonly error?: string;
  /** The relation to the parts: all must be met, any must be met, or the only part must not be met. */
  readonly operator?: "all" | "any" | "not";
  readonly parts?: readonly ConditionTrace[];
  readonly values?: readonly ObservedValue[];
}

/** Parsing a part of a rule, per character of its text. */
const parsingCost = 20;

/** Evaluates a rule part by part. */
export function* traceRule(rule: CompiledRule, context: RuleContext): Work<ConditionTrace> {
  const { type, text } = rule.facts;
  if (type !== "CUSTOM") return { text: type === "ALLOW" ? "true" : "false", met: type === "ALLOW", values: [] };
  const prepared = rule.prepared();
  if (prepared instanceof Error) return { text: text ?? "", met: undefined, error: prepared.message, values: [] };
  yield estimatedCost(rule, context);
  return yield* traceOf(prepared.ast, context);
}

const operators: Readonly<Record<string, "all" | "any" | "not">> = { "&&": "all", "||": "any", "!_": "not" };

function* traceOf(node: ASTNode, context: RuleContext): Work<ConditionTrace> {
  yield parsingCost * (node.end - node.start);
  const outcome = outcomeOf(node, context);
  const own = { text: textOfPart(node), ...outcome };
  const operator = operators[node.op];
  if (operator === undefined) return { ...own, values: valuesOf(node, context) };
  const parts: ConditionTrace[] = [];
  for (const part of operandsOf(node)) parts.push(yield* traceOf(part, context));
  return { ...own, operator, parts };
}

/** The operands of a chain: a, b and c for `a && b && c`. */
function operandsOf(node: ASTNode): readonly ASTNode[] {
  if (node.op === "!_") return [node.args];
  if (node.op !== "&&" && node.op !== "||") return [node];
  return node.args.flatMap((operand) => (operand.op === node.op ? operandsOf(operand) : [operand]));
}

function outcomeOf(
  node: ASTNode,
  context: RuleContext,
): { readonly met: boolean | undefined; readonly error?: string } {
  try {
    const value = preparePart(node)(context);
    if (typeof value === "boolean") return { met: value };
    return { met: undefined, error: "must give true or false" };
  } catch (error) {
    return { met: undefined, error: messageOf(error) };
  }
}

/** The values of all variables and fields in a condition. */
function valuesOf(node: ASTNode, context: RuleContext): readonly ObservedValue[] {
  const seen = new Map<string, ObservedValue>();
  walkRule(node, (part, bound) => {
    if (!isPath(part, bound)) return true;
    const name = textOfPart(part);
    if (!seen.has(name)) seen.set(name, { name, ...seenValue(part, context) });
    return false;
  });
  return [...seen.values()];
}

/** Whether a node is a variable or a chain of selections, such as `device.posture["edr.version"]`. */
function isPath(node: ASTNode, bound: ReadonlySet<string>): boolean {
  if (asFreeVariable(node, bound) !== undefined) return true;
  const selection = asSelection(node);
  return selection?.name !== undefined && isPath(selection.operand, bound);
}

function seenValue(node: ASTNode, context: RuleContext): { readonly value: unknown } | { readonly error: string } {
  try {
    const value = preparePart(node)(context);
    return { value: readable(value) };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

/** A value without the types of the language, whose numbers cannot all be written as JSON. */
function readable(value: unknown): unknown {
  if (value instanceof Instant || value instanceof Span) return value.toString();
  // Only the session contains times.
  if (typeof value !== "object" || value === null || !("age" in value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, readable(part)]));
}

/** The first line of a message. The library appends the text of the rule with a marker. */
function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split("\n", 1)[0] ?? text;
}
