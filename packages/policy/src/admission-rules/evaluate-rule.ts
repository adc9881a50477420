import { type ASTNode, Environment, serialize } from "@marcbachmann/cel-js";
import { RE2JS } from "re2js";
import { localTime } from "./local-time.ts";
import { RULE_LIMITS, TIME_PARTS } from "./rule-language.ts";
import { readPattern } from "./rule-patterns.ts";
import { positionOf } from "./rule-problems.ts";
import { walkRule } from "./rule-syntax.ts";

/**
 * The variables of a rule. An unknown variable or field is absent. Reading it is an error, and a rule with an error is
 * not met.
 */
export interface RuleContext {
  readonly user?: object | undefined;
  readonly device?: object | undefined;
  readonly source: object;
  readonly resource?: object | undefined;
  readonly now: Date;
}

/**
 * Evaluates a rule or a part of it.
 *
 * @throws the error that ends the evaluation
 */
export type Evaluation = (context: RuleContext) => unknown;

export interface PreparedRule {
  readonly ast: ASTNode;
  readonly evaluate: Evaluation;
  /** Whether the types in the rule fit. If they do not, every evaluation ends in an error. */
  hasType(): boolean;
}

/**
 * Prepares a rule for evaluation, and replaces two kinds of calls. `matches` would run a backtracking engine; the
 * replacement takes linear time (RE2 syntax). Time parts in a zone would query Intl each time; the replacement caches
 * the offset of the zone.
 *
 * @throws the library's ParseError for an invalid text
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

/** Prepares a part of a rule. The part must not read variables of a surrounding comprehension. */
export function preparePart(part: ASTNode): Evaluation {
  return prepareRule(textOfPart(part)).evaluate;
}

/** The maximum number of consecutive brackets to consider. */
const maxBrackets = 8;

/**
 * The source text of a part. The library does not include surrounding brackets in either neighbor, so the brackets are
 * matched here. If that fails, the part is serialized.
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
    // The text contains only one bracket of a pair.
    return undefined;
  }
}

/** The places of the opening brackets directly before a part, the nearest first. */
function bracketsBefore({ input, start }: ASTNode): readonly number[] {
  const run = /[(\s]*$/.exec(input.slice(0, start))?.[0] ?? "";
  const places = [...run].flatMap((character, index) => (character === "(" ? [start - run.length + index] : []));
  return places.reverse().slice(0, maxBrackets);
}

/** The places after the closing brackets directly after a part, the nearest first. */
function bracketsAfter({ input, end }: ASTNode): readonly number[] {
  const run = /^[)\s]*/.exec(input.slice(end))?.[0] ?? "";
  return [...run].flatMap((character, index) => (character === ")" ? [end + index + 1] : [])).slice(0, maxBrackets);
}

const linearMatches = "reMatch";

/** The replacement of a method: `locHours` for `getHours`. */
function zonedName(method: string): string {
  return `loc${method.slice("get".length)}`;
}

function replacementOf(node: ASTNode): string | undefined {
  if (node.op !== "rcall") return undefined;
  const [method, , parameters] = node.args;
  if (method === "matches" && parameters.length === 1) return linearMatches;
  // Without a zone, the library's methods are correct except for this one, which uses the host's zone.
  const isReplaced = TIME_PARTS.has(method) && (parameters.length === 1 || method === "getDayOfYear");
  return isReplaced ? zonedName(method) : undefined;
}

const msPerDay = 24 * 60 * 60_000;

/** The day of the year, starting at 0. */
function dayOfYear(local: Date): number {
  return Math.floor((local.getTime() - Date.UTC(local.getUTCFullYear(), 0, 1)) / msPerDay);
}

/** Parts of a time whose UTC fields hold local time (CEL specification, "Timestamp" methods). */
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

/** The maximum number of cached patterns of all rules. */
const maxPatterns = 2_000;
const patterns = new Map<string, RE2JS>();

/**
 * Compiles a pattern. Patterns that rules compute are checked only here.
 *
 * @throws RangeError for an invalid or oversized pattern
 */
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
