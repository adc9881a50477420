import { type ASTNode, Environment, serialize } from "@marcbachmann/cel-js";
import { RE2JS } from "re2js";
import { conversionFunctions, registerTextFunctions, textMethods } from "./cel-text.ts";
import { Instant, registerTimes, Span, timeFunctions } from "./cel-time.ts";
import { correctOperator } from "./cel-values.ts";
import { ENVIRONMENT_OPTIONS, RULE_LIMITS, SESSION_VARIABLE, TIME_VARIABLE } from "./rule-language.ts";
import { readPattern } from "./rule-patterns.ts";
import { asLiteralText, walkRule } from "./rule-syntax.ts";

/**
 * The variables of a rule. An unknown variable or field is absent. Reading it is an error, and a rule with an error is
 * not met.
 */
export interface RuleContext {
  readonly user?: object | undefined;
  readonly device?: object | undefined;
  /** The session of the device. Its age follows from `now`. */
  readonly session?: RuleSession | undefined;
  readonly source: object;
  readonly resource?: object | undefined;
  readonly now: Date;
}

/** The variable `session`, without its age. An absent field must not be a key. */
export interface RuleSession {
  /** Milliseconds since 1970. */
  readonly authenticatedAt: number;
  readonly methods: readonly string[];
  readonly provider?: string;
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
 * Prepares a rule for evaluation. Where the library deviates from the CEL specification, calls and operators are
 * replaced (docs/decisions/0085-cel-conformance.md). `matches` would run a backtracking engine; the replacement takes
 * linear time (RE2 syntax).
 *
 * @throws the library's ParseError for an invalid text
 */
export function prepareRule(text: string): PreparedRule {
  const { ast } = environment.parse(text);
  const evaluate = environment.parse(text);
  let readsTime = false;
  let readsSession = false;
  walkRule(evaluate.ast, (node) => {
    if (node.op === "id" && node.args === TIME_VARIABLE) readsTime = true;
    if (node.op === "id" && node.args === SESSION_VARIABLE) readsSession = true;
    correctCall(node);
    correctOperator(node);
    return true;
  });
  const hasType = () => evaluate.check().valid;
  if (!readsTime && !readsSession) return { ast, evaluate, hasType };
  return {
    ast,
    evaluate: (context) => evaluate(readsSession ? withSession(context) : withTime(context)),
    hasType,
  };
}

function withTime(context: RuleContext): object {
  return { ...context, now: new Instant(context.now.getTime()) };
}

function withSession(context: RuleContext): object {
  const { session, ...others } = context;
  // A key without a value would make the variable known.
  if (session === undefined) return withTime(others);
  const age = new Span(BigInt(context.now.getTime() - session.authenticatedAt) * nanosPerMs);
  return { ...withTime(others), session: { ...session, authenticatedAt: new Instant(session.authenticatedAt), age } };
}

const nanosPerMs = 1_000_000n;

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

/** The most times that `textOfPart` parses a part of a rule. */
export function mostAttempts(text: string): number {
  return (1 + longestRun(text, "(")) * (1 + longestRun(text, ")"));
}

/** The number of brackets in the longest run, up to the number that is considered. */
function longestRun(text: string, bracket: "(" | ")"): number {
  let longest = 0;
  let run = 0;
  for (const character of text) {
    if (character === bracket) run += 1;
    else if (character.trim() !== "") run = 0;
    longest = Math.max(longest, run);
  }
  return Math.min(longest, maxBrackets);
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

const linearMatches = "matchesLinear";
/** The function for patterns that rules compute. Their size is known only during the evaluation. */
const computedMatches = "matchesComputed";

/** Renames a call to the function that replaces the library's. */
function correctCall(node: ASTNode): void {
  if (node.op === "call") {
    const name = conversionFunctions.get(node.args[0]) ?? timeFunctions.get(node.args[0]);
    if (name !== undefined) node.args[0] = name;
  } else if (node.op === "rcall") {
    const [method, , args] = node.args;
    const isLiteral = args.every((argument) => asLiteralText(argument) !== undefined);
    const matches = isLiteral ? linearMatches : computedMatches;
    const name = method === "matches" ? matches : textMethods.get(method);
    if (name !== undefined) node.args[0] = name;
  }
}

/** The maximum number of cached patterns of all rules. */
const maxPatterns = 2_000;
const patterns = new Map<string, { readonly compiled: RE2JS; readonly instructions: number }>();

/**
 * Compiles a pattern. Patterns that rules compute are checked only here.
 *
 * @throws RangeError for an invalid or oversized pattern
 */
function compiledPattern(pattern: string, maxInstructions: number): RE2JS {
  let known = patterns.get(pattern);
  if (known === undefined) {
    const reading = readPattern(pattern);
    if (!reading.ok) throw new RangeError(reading.problem);
    if (patterns.size >= maxPatterns) patterns.clear();
    known = { compiled: RE2JS.compile(pattern), instructions: reading.instructions };
    patterns.set(pattern, known);
  }
  if (known.instructions > maxInstructions) throw new RangeError("The pattern is too large.");
  return known.compiled;
}

const environment = createEnvironment();

function createEnvironment(): Environment {
  const created = new Environment({ unlistedVariablesAreDyn: true, ...ENVIRONMENT_OPTIONS });
  for (const [name, maxInstructions] of [
    [linearMatches, RULE_LIMITS.patternInstructions],
    [computedMatches, RULE_LIMITS.computedPatternInstructions],
  ] as const) {
    created.registerFunction(`string.${name}(string): bool`, (text: string, pattern: string) =>
      compiledPattern(pattern, maxInstructions).matcher(text).find(),
    );
  }
  registerTimes(created);
  registerTextFunctions(created);
  return created;
}
