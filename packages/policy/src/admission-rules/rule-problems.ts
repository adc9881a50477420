import { quoteText } from "@gatehouse/addresses/quote-text";
import type { ASTNode, ParseError } from "@marcbachmann/cel-js";
import { RULE_LIMITS } from "./rule-language.ts";

export interface RuleProblem {
  readonly message: string;
  /** From 1. Lines end with a line feed. */
  readonly line: number;
  /** From 1, in Unicode characters. */
  readonly column: number;
}

/** A problem before its position is put as line and column. */
export interface RuleFault {
  readonly message: string;
  /** Index into the text, in UTF-16 units. */
  readonly at: number;
}

/** Puts faults into the order of the text, with line and column. */
export function problemsOf(text: string, faults: readonly RuleFault[]): RuleProblem[] {
  return [...faults]
    .sort((a, b) => a.at - b.at)
    .map(({ message, at }) => {
      const before = text.slice(0, at);
      const lineStart = before.lastIndexOf("\n") + 1;
      const line = before.split("\n").length;
      return { message, line, column: [...before.slice(lineStart)].length + 1 };
    });
}

/** Where a person would point to for a node: at its method, operator or index, else at the node's own place. */
export function positionOf(node: ASTNode): number {
  switch (node.op) {
    case "rcall":
      return textBetween(node, node.args[0], node.args[1].end, node.end);
    case "[]":
      return node.args[1].start;
    case "==":
    case "!=":
    case "<":
    case "<=":
    case ">":
    case ">=":
    case "in":
    case "+":
    case "-":
    case "*":
    case "/":
    case "%":
    case "&&":
    case "||":
      return textBetween(node, node.op, node.args[0].end, node.args[1].start);
    default:
      return node.pos;
  }
}

function textBetween(node: ASTNode, text: string, from: number, to: number): number {
  const found = node.input.slice(from, to).indexOf(text);
  return found < 0 ? node.pos : from + found;
}

/** What the parser can be waiting for. */
const EXPECTED: Readonly<Record<string, string>> = {
  RPAREN: '")"',
  RBRACKET: '"]"',
  RBRACE: '"}"',
  COLON: '":"',
  IDENTIFIER: "a name",
};

const OTHER_LANGUAGES: ReadonlyMap<string, string> = new Map([
  ["=", "To compare, write ==."],
  ["&", "For “and”, write &&."],
  ["|", "For “or”, write ||."],
  ["and", "For “and”, write &&."],
  ["or", "For “or”, write ||."],
  ["AND", "For “and”, write &&."],
  ["OR", "For “or”, write ||."],
  ["is", "To compare, write ==."],
]);

const LIMITS: Readonly<Record<string, string>> = {
  maxAstNodes: `The rule has more than ${RULE_LIMITS.nodes} parts; split it into several rules.`,
  maxDepth: `Brackets, calls or selections are nested more than ${RULE_LIMITS.nesting} deep here.`,
  maxListElements: `A list can be written with at most ${RULE_LIMITS.listElements} elements.`,
  maxMapEntries: `A map can be written with at most ${RULE_LIMITS.mapEntries} entries.`,
  maxCallArguments: `A call can have at most ${RULE_LIMITS.callArguments} arguments.`,
};

/** A parse or type error of the library, in words for an administrator. */
export function faultOfLibraryError(error: unknown, text: string): RuleFault {
  if (!isCelError(error)) return { message: "The rule is too involved to be checked; make it shorter.", at: 0 };
  const start = clamp(error.range?.start ?? 0, text.length);
  const fragment = text.slice(start, clamp(error.range?.end ?? start, text.length));
  // Parse errors have a place and no node.
  const at = error.node?.op === undefined ? start : positionOf(error.node);
  switch (error.code) {
    case "unexpected_character":
      return { message: withHint(`${quoteText(fragment)} is not expected here.`, fragment), at };
    case "unexpected_token":
    case "expected_token":
      return { message: tokenMessage(error.summary, fragment), at };
    case "limit_exceeded": {
      const limit = /^Exceeded (\w+)/.exec(error.summary)?.[1] ?? "";
      return { message: LIMITS[limit] ?? error.summary, at };
    }
    case "reserved_identifier":
      return { message: `${quoteText(fragment)} is a reserved word; a variable cannot have that name.`, at };
    case "no_such_overload":
      return { message: overloadMessage(error.summary), at };
    case "no_matching_overload":
      return { message: callMessage(error), at };
    case "invalid_macro_argument":
      return { message: macroMessage(error.summary), at };
    default:
      return { message: `${plainTypes(error.summary).replace(/\.$/, "")}.`, at };
  }
}

/** The type names of the library, in the words of a rule. */
export function plainTypes(text: string): string {
  return text
    .replaceAll("google.protobuf.Timestamp", "timestamp")
    .replaceAll("google.protobuf.Duration", "duration")
    .replace(/<[A-Z](?:, [A-Z])?>/g, "");
}

interface CelError extends Omit<ParseError, "name" | "node"> {
  readonly node?: ASTNode;
}

// The library's error classes share these members; checking for them holds for all three, and for none of the runtime's.
function isCelError(error: unknown): error is CelError {
  return error instanceof Error && "code" in error && "summary" in error && typeof error.summary === "string";
}

function tokenMessage(summary: string, fragment: string): string {
  const expected = /^Expected (\w+)/.exec(summary)?.[1];
  if (fragment === "") {
    if (expected === undefined) return "The rule ends where a value is expected.";
    return `The rule ends where ${EXPECTED[expected] ?? expected} is expected.`;
  }
  if (expected === "IDENTIFIER" && /^\w+$/.test(fragment)) {
    return `${quoteText(fragment)} cannot follow a dot; write it as an index, ["${fragment}"].`;
  }
  const wanted = expected === undefined ? "A value" : (EXPECTED[expected] ?? expected);
  return withHint(`${wanted} is expected here, not ${quoteText(fragment)}.`, fragment);
}

function withHint(message: string, fragment: string): string {
  const hint = OTHER_LANGUAGES.get(fragment);
  return hint === undefined ? message : `${message} ${hint}`;
}

function overloadMessage(summary: string): string {
  const binary = /^no such overload: (.+) (==|!=|<=|>=|<|>|\+|-|\*|\/|%|in) (.+)$/.exec(plainTypes(summary));
  if (binary !== null) return `The operator ${binary[2]} does not take ${binary[1]} and ${binary[3]}.`;
  const unary = /^no such overload: ([!-])(.+)$/.exec(plainTypes(summary));
  return unary === null ? `${plainTypes(summary)}.` : `The operator ${unary[1]} does not take ${unary[2]}.`;
}

function callMessage(error: CelError): string {
  const signature = /'(.+)'$/s.exec(plainTypes(error.summary))?.[1];
  return signature === undefined ? `${error.summary}.` : `${signature} is not a call that exists; check its arguments.`;
}

function macroMessage(summary: string): string {
  const comprehension = /^(\w+)\(var/.exec(summary)?.[1];
  if (comprehension === undefined) return "has takes a selection with a dot, as in has(user.title).";
  return `The first argument of ${comprehension} is the name that each element gets.`;
}

function clamp(at: number, length: number): number {
  return Math.min(Math.max(at, 0), length);
}
