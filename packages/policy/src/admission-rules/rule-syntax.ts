import type { ASTNode } from "@marcbachmann/cel-js";
import { COMPREHENSIONS, SESSION_VARIABLE, TIME_VARIABLE } from "./rule-language.ts";

/** Variables that comprehensions around a node bind. They hide other variables of the same name. */
export type BoundNames = ReadonlySet<string>;

/** A call such as `receiver.exists(variable, body…)`. */
export interface Comprehension {
  readonly method: string;
  readonly receiver: ASTNode;
  readonly variable: string;
  readonly body: readonly ASTNode[];
}

/** The node as a comprehension. Undefined for any other node. */
export function asComprehension(node: ASTNode): Comprehension | undefined {
  if (node.op !== "rcall") return undefined;
  const [method, receiver, [variable, ...body]] = node.args;
  if (variable?.op !== "id" || !COMPREHENSIONS.get(method)?.includes(body.length + 1)) return undefined;
  return { method, receiver, variable: variable.args, body };
}

/** The node as a literal text. Undefined for any other node. */
export function asLiteralText(node: ASTNode | undefined): string | undefined {
  return node?.op === "value" && typeof node.args === "string" ? node.args : undefined;
}

/** `operand.name` or `operand["name"]`. The name is undefined if the index is not a literal text. */
export interface Selection {
  readonly operand: ASTNode;
  readonly name: string | undefined;
}

/** The node as a selection. Undefined for any other node. */
export function asSelection(node: ASTNode): Selection | undefined {
  if (node.op === ".") return { operand: node.args[0], name: node.args[1] };
  if (node.op === "[]") return { operand: node.args[0], name: asLiteralText(node.args[1]) };
  return undefined;
}

/** The variable that a node names, unless a comprehension around the node binds that name. */
export function asFreeVariable(node: ASTNode, bound: BoundNames): string | undefined {
  return node.op === "id" && !bound.has(node.args) ? node.args : undefined;
}

/** Whether a node reads the clock. The nodes below a selection from the session read nothing else. */
export interface ClockUse {
  readonly reads: boolean;
  readonly descend: boolean;
}

/**
 * How a node itself reads the clock: as `now`, as the age of the session, or as the session as a whole, which contains
 * the age.
 */
export function clockUse(node: ASTNode, bound: BoundNames): ClockUse {
  const field = sessionField(node, bound);
  if (field !== undefined) return { reads: field === "age", descend: false };
  const variable = asFreeVariable(node, bound);
  return { reads: variable === TIME_VARIABLE || variable === SESSION_VARIABLE, descend: true };
}

/** The field that a node selects from the session. Undefined for any other node. */
export function sessionField(node: ASTNode, bound: BoundNames): string | undefined {
  const selection = asSelection(node);
  if (selection?.name === undefined) return undefined;
  return asFreeVariable(selection.operand, bound) === SESSION_VARIABLE ? selection.name : undefined;
}

/**
 * Visits every evaluated node without recursion, parents first. The variable that a comprehension declares is not
 * evaluated.
 *
 * @param visit receives the node, the names bound around it, and its depth; returns false to skip the nodes below
 */
export function walkRule(root: ASTNode, visit: (node: ASTNode, bound: BoundNames, depth: number) => boolean): void {
  const pending: { node: ASTNode; bound: BoundNames; depth: number }[] = [{ node: root, bound: new Set(), depth: 0 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { node, bound, depth } = next;
    if (!visit(node, bound, depth)) continue;
    const comprehension = asComprehension(node);
    if (comprehension === undefined) {
      for (const child of childrenOf(node)) pending.push({ node: child, bound, depth: depth + 1 });
      continue;
    }
    pending.push({ node: comprehension.receiver, bound, depth: depth + 1 });
    const inner = new Set(bound).add(comprehension.variable);
    for (const child of comprehension.body) pending.push({ node: child, bound: inner, depth: depth + 1 });
  }
}

export function childrenOf(node: ASTNode): readonly ASTNode[] {
  switch (node.op) {
    case "value":
    case "id":
      return [];
    case ".":
    case ".?":
      return [node.args[0]];
    case "call":
      return node.args[1];
    case "rcall":
      return [node.args[1], ...node.args[2]];
    case "map":
      return node.args.flat();
    case "!_":
    case "-_":
      return [node.args];
    default:
      return node.args;
  }
}
