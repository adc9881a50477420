import type { ASTNode } from "@marcbachmann/cel-js";
import { preparePart, type RuleContext, textOfPart } from "../admission-rules/evaluate-rule.ts";
import { asFreeVariable, asSelection, walkRule } from "../admission-rules/rule-syntax.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";

/** What a part of a rule saw: a name as the rule writes it, and its value, or why it has none. */
export interface ObservedValue {
  readonly name: string;
  readonly value?: unknown;
  readonly error?: string;
}

/** What a condition of a rule gave. Conditions that are made of others have `parts`, the others `values`. */
export interface ConditionTrace {
  /** As the rule has it. */
  readonly text: string;
  /** What the condition gave; undefined where its evaluation ended in an error. */
  readonly met: boolean | undefined;
  readonly error?: string;
  /** How the parts make the condition: all of them must be met, any one of them, or the only one must not. */
  readonly operator?: "all" | "any" | "not";
  readonly parts?: readonly ConditionTrace[];
  readonly values?: readonly ObservedValue[];
}

/** Evaluates a rule part by part. */
export function traceRule(rule: CompiledRule, context: RuleContext): ConditionTrace {
  const { type, text } = rule.facts;
  if (type !== "CUSTOM") return { text: type === "ALLOW" ? "true" : "false", met: type === "ALLOW", values: [] };
  const prepared = rule.prepared();
  if (prepared instanceof Error) return { text: text ?? "", met: undefined, error: prepared.message, values: [] };
  return traceOf(prepared.ast, context);
}

const operators: Readonly<Record<string, "all" | "any" | "not">> = { "&&": "all", "||": "any", "!_": "not" };

function traceOf(node: ASTNode, context: RuleContext): ConditionTrace {
  const outcome = outcomeOf(node, context);
  const own = { text: textOfPart(node), ...outcome };
  const operator = operators[node.op];
  if (operator === undefined) return { ...own, values: valuesOf(node, context) };
  const parts = operandsOf(node).map((part) => traceOf(part, context));
  return { ...own, operator, parts };
}

/** Of a && b && c, all three. */
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
    return { met: undefined, error: "gives neither true nor false" };
  } catch (error) {
    return { met: undefined, error: messageOf(error) };
  }
}

/** The values of all variables and fields that a condition names. */
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

/** `user.department`, `device.posture["edr.version"]`, or a variable alone. */
function isPath(node: ASTNode, bound: ReadonlySet<string>): boolean {
  if (asFreeVariable(node, bound) !== undefined) return true;
  const selection = asSelection(node);
  return selection?.name !== undefined && isPath(selection.operand, bound);
}

function seenValue(node: ASTNode, context: RuleContext): { readonly value: unknown } | { readonly error: string } {
  try {
    const value = preparePart(node)(context);
    return { value: value instanceof Date ? value.toISOString() : value };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

/** The first line: the library adds the rule's text with a mark below it. */
function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split("\n", 1)[0] ?? text;
}
