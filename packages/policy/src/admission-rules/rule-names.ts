import { quoteText } from "@gatehouse/addresses/quote-text";
import type { ASTNode } from "@marcbachmann/cel-js";
import { COMPREHENSIONS, FUNCTIONS, METHODS, RECORDS, TIME_PARTS, TIME_VARIABLE, TYPE_NAMES } from "./rule-language.ts";
import { positionOf, type RuleFault } from "./rule-problems.ts";
import { asComprehension, asFreeVariable, asLiteralText, asSelection, type BoundNames } from "./rule-syntax.ts";

const VARIABLES = [...RECORDS.keys(), TIME_VARIABLE];

export interface NameCheck {
  readonly faults: readonly RuleFault[];
  /** False below a call that does not exist: what its arguments mean cannot be told. */
  readonly descend: boolean;
}

/** What one node names that a rule does not have: variables, fields, functions, time zones. */
export function checkNames(node: ASTNode, bound: BoundNames): NameCheck {
  const call = functionProblem(node);
  if (call !== undefined) return { faults: [{ message: call, at: positionOf(node) }], descend: false };
  const message = variableProblem(node, bound) ?? fieldProblem(node, bound);
  if (message !== undefined) return { faults: [{ message, at: positionOf(node) }], descend: true };
  const zone = zoneFault(node);
  return { faults: zone === undefined ? [] : [zone], descend: true };
}

function variableProblem(node: ASTNode, bound: BoundNames): string | undefined {
  const name = asFreeVariable(node, bound);
  if (name === undefined || VARIABLES.includes(name) || TYPE_NAMES.has(name)) return undefined;
  return `There is no variable ${quoteText(name)}; a rule can use ${listed(VARIABLES)}. A text needs quotes.`;
}

/** Also for `has(device.postur)`, which the type checker lets pass and which would always be false. */
function fieldProblem(node: ASTNode, bound: BoundNames): string | undefined {
  const selection = asSelection(node);
  const variable = selection === undefined ? undefined : asFreeVariable(selection.operand, bound);
  const record = variable === undefined ? undefined : RECORDS.get(variable);
  if (selection === undefined || record === undefined) return undefined;
  if (selection.name === undefined) return `Write the name in the brackets of ${variable} as a text, in quotes.`;
  if (record.open || record.fields.has(selection.name)) return undefined;
  return `${variable} has no field ${quoteText(selection.name)}; it has ${listed([...record.fields.keys()])}.`;
}

function functionProblem(node: ASTNode): string | undefined {
  if (node.op === "call") {
    const [name] = node.args;
    if (FUNCTIONS.has(name)) return undefined;
    if (METHODS.has(name) || COMPREHENSIONS.has(name)) return `${name} is called on a value: write value.${name}(…).`;
    return `There is no function ${quoteText(name)}.`;
  }
  if (node.op !== "rcall") return undefined;
  const [name] = node.args;
  if (METHODS.has(name) || asComprehension(node) !== undefined) return undefined;
  const counts = COMPREHENSIONS.get(name);
  if (counts !== undefined)
    return `${name} takes ${counts.join(" or ")} arguments: a name for each element comes first.`;
  if (FUNCTIONS.has(name)) return `${name} is not called on a value: write ${name}(value).`;
  return `There is no function ${quoteText(name)}.`;
}

function zoneFault(node: ASTNode): RuleFault | undefined {
  if (node.op !== "rcall" || !TIME_PARTS.has(node.args[0])) return undefined;
  const [argument] = node.args[2];
  const name = asLiteralText(argument);
  if (argument === undefined || name === undefined || isTimeZone(name)) return undefined;
  return {
    message: `${quoteText(name)} is not a time zone; write an IANA name, e.g. "Europe/Berlin".`,
    at: argument.pos,
  };
}

/** Names only: runtimes differ in whether they take offsets such as +02:00. */
function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

function listed(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
