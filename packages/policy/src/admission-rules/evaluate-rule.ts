import { type ASTNode, Environment, serialize } from "@marcbachmann/cel-js";
import { RE2JS } from "re2js";
import { localTime } from "./local-time.ts";
import { RULE_LIMITS, TIME_PARTS } from "./rule-language.ts";
import { readPattern } from "./rule-patterns.ts";
import { positionOf } from "./rule-problems.ts";
import { walkRule } from "./rule-syntax.ts";

/**
 * What a rule is evaluated with. A variable or field that is not known is absent: asking for it is an error, and a rule whose
 * evaluation ends in an error is not met.
 */
export interface RuleContext {
  readonly user?: object | undefined;
  readonly device?: object | undefined;
  readonly source: object;
  readonly resource?: object | undefined;
  readonly now: Date;
}

/** Part of a rule, or the whole. @throws what evaluation ends in */
export type Evaluation = (context: RuleContext) => unknown;

export interface PreparedRule {
  readonly ast: ASTNode;
  readonly evaluate: Evaluation;
  /** Whether the types within the rule fit; where they do not, every evaluation ends in an error. */
  hasType(): boolean;
}

/**
 * Makes a rule ready to be evaluated. Two kinds of call are replaced. `matches` would use the host's backtracking engine; here it
 * runs in linear time (RE2 syntax). Time in a zone would ask Intl each time; here it is derived once for a zone and a moment.
 *
 * @throws the library's ParseError for a text that is no rule
 */
export function prepareRule(text: string): PreparedRule {
  const { ast } = environment.parse(text);
  const replacements: (readonly [at: number, name: string])[] = [];
  walkRule(ast, (node) => {
    const name = replacementOf(node);
    if (name !== undefined) replacements.push([positionOf(node), name]);
    return true;
  });
  if (replacements.length === 0) return prepared(ast, text);
  let rewritten = text;
  for (const [at, name] of replacements) {
    rewritten = rewritten.slice(0, at) + name + rewritten.slice(at + name.length);
  }
  return prepared(ast, rewritten);
}

function prepared(ast: ASTNode, text: string): PreparedRule {
  const evaluate = environment.parse(text);
  return { ast, evaluate, hasType: () => evaluate.check().valid };
}

/** Makes a part of a rule ready by itself; it must not use variables that comprehensions around it bind. */
export function preparePart(part: ASTNode): Evaluation {
  return prepareRule(textOfPart(part)).evaluate;
}

/** More brackets in a row than this are not looked for. */
const maxBrackets = 8;

/**
 * A part of a rule as its text has it. The library counts brackets at its ends to neither side, so they are looked for; where that
 * does not help, the part is written anew.
 */
export function textOfPart(part: ASTNode): string {
  const alone = serialize(part);
  const before = bracketsBefore(part);
  const after = bracketsAfter(part);
  for (const start of [part.start, ...before]) {
    for (const end of [part.end, ...after]) {
      const written = part.input.slice(start, end);
      if (serialized(written) === alone) return written;
    }
  }
  return alone;
}

function serialized(text: string): string | undefined {
  try {
    return serialize(environment.parse(text).ast);
  } catch {
    // Half of a pair of brackets.
    return undefined;
  }
}

/** Where opening brackets stand before a part, with nothing but white space in between; the nearest first. */
function bracketsBefore({ input, start }: ASTNode): readonly number[] {
  const run = /[(\s]*$/.exec(input.slice(0, start))?.[0] ?? "";
  const places = [...run].flatMap((character, index) => (character === "(" ? [start - run.length + index] : []));
  return places.reverse().slice(0, maxBrackets);
}

/** Behind which closing brackets after a part there is its end, the nearest first. */
function bracketsAfter({ input, end }: ASTNode): readonly number[] {
  const run = /^[)\s]*/.exec(input.slice(end))?.[0] ?? "";
  return [...run].flatMap((character, index) => (character === ")" ? [end + index + 1] : [])).slice(0, maxBrackets);
}

const linearMatches = "reMatch";

/** `getHours` in a zone is `locHours`, and so on. */
function zonedName(method: string): string {
  return `loc${method.slice("get".length)}`;
}

function replacementOf(node: ASTNode): string | undefined {
  if (node.op !== "rcall") return undefined;
  const [method, , parameters] = node.args;
  if (method === "matches" && parameters.length === 1) return linearMatches;
  // Without a zone the library's own are right, but for this one, which goes by the host's.
  const isReplaced = TIME_PARTS.has(method) && (parameters.length === 1 || method === "getDayOfYear");
  return isReplaced ? zonedName(method) : undefined;
}

const msPerDay = 24 * 60 * 60_000;

/** From 0. */
function dayOfYear(local: Date): number {
  return Math.floor((local.getTime() - Date.UTC(local.getUTCFullYear(), 0, 1)) / msPerDay);
}

/** What the parts of a time are, of a moment whose UTC fields are local (CEL specification, "Timestamp" methods). */
const timeParts: Readonly<Record<string, (local: Date) => number>> = {
  getDate: (local) => local.getUTCDate(),
  getDayOfMonth: (local) => local.getUTCDate() - 1,
  getDayOfWeek: (local) => local.getUTCDay(),
  getDayOfYear: dayOfYear,
  getFullYear: (local) => local.getUTCFullYear(),
  getHours: (local) => local.getUTCHours(),
  getMilliseconds: (local) => local.getUTCMilliseconds(),
  getMinutes: (local) => local.getUTCMinutes(),
  getMonth: (local) => local.getUTCMonth(),
  getSeconds: (local) => local.getUTCSeconds(),
};

/** Patterns that are kept compiled, of all rules together. */
const maxPatterns = 2_000;
const patterns = new Map<string, RE2JS>();

/** @throws RangeError for a text that is no pattern, or too large a one: those that rules compute are checked only here */
function compiledPattern(pattern: string): RE2JS {
  const known = patterns.get(pattern);
  if (known !== undefined) return known;
  const reading = readPattern(pattern);
  if (!reading.ok) throw new RangeError(reading.problem);
  if (reading.instructions > RULE_LIMITS.patternInstructions) throw new RangeError("The pattern is too large.");
  if (patterns.size >= maxPatterns) patterns.clear();
  const compiled = RE2JS.compile(pattern);
  patterns.set(pattern, compiled);
  return compiled;
}

const environment = createEnvironment();

function createEnvironment(): Environment {
  const created = new Environment({
    unlistedVariablesAreDyn: true,
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: false,
    limits: {
      maxAstNodes: RULE_LIMITS.nodes,
      maxDepth: RULE_LIMITS.nesting,
      maxListElements: RULE_LIMITS.listElements,
      maxMapEntries: RULE_LIMITS.mapEntries,
      maxCallArguments: RULE_LIMITS.callArguments,
    },
  });
  created.registerFunction(`string.${linearMatches}(string): bool`, (text: string, pattern: string) =>
    compiledPattern(pattern).matcher(text).find(),
  );
  for (const [method, part] of Object.entries(timeParts)) {
    created.registerFunction(`google.protobuf.Timestamp.${zonedName(method)}(string): int`, (at: Date, zone: string) =>
      BigInt(part(localTime(zone, at.getTime()))),
    );
  }
  created.registerFunction(`google.protobuf.Timestamp.${zonedName("getDayOfYear")}(): int`, (at: Date) =>
    BigInt(dayOfYear(at)),
  );
  return created;
}
