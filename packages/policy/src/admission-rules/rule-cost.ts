import type { ASTNode } from "@marcbachmann/cel-js";
import { largestRecords, type RecordSizes } from "./record-sizes.ts";
import {
  type FieldType,
  FUNCTIONS,
  METHODS,
  RECORDS,
  type ResultSize,
  RULE_LIMITS,
  SEARCHES,
  SESSION_VARIABLE,
  TIME_PARTS,
  TIME_VARIABLE,
} from "./rule-language.ts";
import type { RuleFault } from "./rule-problems.ts";
import { asComprehension, asSelection, type Comprehension, type Selection, walkRule } from "./rule-syntax.ts";
import {
  bounded,
  concatenated,
  elementOf,
  larger,
  listSize,
  literalSize,
  SCALAR,
  type Size,
  textSize,
} from "./value-size.ts";

interface Estimate {
  readonly cost: number;
  readonly size: Size;
  /** Whether the value is a timestamp or a duration, as far as the text shows it. */
  readonly isTime?: boolean;
}

const TEXT_FIELD = 256;
const POSTURE_ENTRY = 256;

/**
 * Units of about 20 ns, measured with `npm run bench:rules`. docs/benchmarks.md has the figures. Every part of a rule
 * is counted, also parts that an evaluation skips.
 */
const operatorCost = 2;
/** The step of a comprehension, without its body. */
const stepCost = 2.5;
const comprehensionCost = 5;
const indexCost = 4;
const mapEntryCost = 2;
const elementCost = 0.5;
/** Sums and differences of timestamps and durations. */
const timeArithmeticCost = 20;
const timeComparisonCost = 2;
/** The session with its age is prepared once for each evaluation. */
const sessionCost = 20;
/** Costs that were changed by 0169 (docs/decisions/0169-sliced-models-and-calibrated-rules.md). */
interface Prices {
  readonly functions: ReadonlyMap<string, number>;
  readonly methods: ReadonlyMap<string, number>;
  readonly copiedElement: number;
  /** Characters whose case is changed in a unit. */
  readonly changedPerUnit: number;
  /** Characters that are searched backwards in a unit. */
  readonly searchedBackwardsPerUnit: number;
  /** Instructions of a pattern that a unit covers, for one character of the text. */
  readonly instructionsPerUnit: number;
  /** Instructions that are assumed for a pattern that a rule computes. */
  readonly computedInstructions: number;
}
/** The costs of functions, without their arguments. */
export const functionCosts: ReadonlyMap<string, number> = new Map([
  ["has", 2],
  ["type", 8],
  ["dyn", 5],
  ["bool", 3],
  ["bytes", 7],
  ["double", 8],
  ["duration", 30],
  ["int", 8],
  ["size", 7],
  ["string", 8],
  ["timestamp", 34],
  ["uint", 8],
]);
/** The costs of methods, without their operands and the characters that they read. */
export const methodCosts: ReadonlyMap<string, number> = new Map([
  ["contains", 6],
  ["endsWith", 6],
  ["indexOf", 9],
  ["join", 4],
  ["lastIndexOf", 9],
  ["lowerAscii", 4],
  ["matches", 64],
  ["size", 7],
  ["split", 9],
  ["startsWith", 6],
  ["substring", 9],
  ["trim", 6],
  ["upperAscii", 4],
]);
const timePartCost = 18;
/** A part of local time. The offset of a zone is cached for `now`. */
const zoneCost = 28;
const uncachedZoneCost = 2004;
const patternCompilation = 20_000;
const searchStepsPerUnit = 256;
/** The cost of a character that a pattern is matched against, without the instructions of the pattern. */
const matchedCharacterCost = 3.3;
/**
 * An error that a comprehension absorbs. Errors outside of comprehensions are not counted: the length of the text
 * bounds their number.
 */
const errorCost = 150;
/** Characters that a function reads or copies in a unit. */
const charactersPerUnit = 64;
/** Characters that are counted or split in a unit. */
const countedPerUnit = 4;
/** Characters that are compared in a unit. */
const comparedPerUnit = 512;

const measuredPrices: Prices = {
  functions: functionCosts,
  methods: methodCosts,
  copiedElement: 0.75,
  changedPerUnit: 3,
  searchedBackwardsPerUnit: 16,
  instructionsPerUnit: 1.5,
  computedInstructions: RULE_LIMITS.computedPatternInstructions,
};

/** At most the former costs. Rules that were stored then must stay acceptable. */
const formerPrices: Prices = {
  functions: new Map([
    ...functionCosts,
    ["type", 2],
    ["dyn", 1],
    ["bytes", 5],
    ["duration", 26],
    ["int", 6],
    ["size", 4],
    ["timestamp", 26],
    ["uint", 5],
  ]),
  methods: new Map([...methodCosts].map(([name, cost]) => [name, name === "matches" ? cost : 4])),
  copiedElement: elementCost,
  changedPerUnit: charactersPerUnit,
  searchedBackwardsPerUnit: Number.POSITIVE_INFINITY,
  instructionsPerUnit: 24,
  computedInstructions: RULE_LIMITS.patternInstructions,
};

/**
 * Estimates the work of one evaluation from the text alone, so that nested comprehensions or growing lists cannot delay
 * decisions. Recursive: the depth of the tree must be bounded before.
 *
 * @param patternSizes instructions per character of the literal patterns, by the node of the pattern
 * @returns the first part that exceeds a limit, or undefined
 */
export function costFault(root: ASTNode, patternSizes: ReadonlyMap<ASTNode, number>): RuleFault | undefined {
  const estimator = new CostEstimator(patternSizes, largestRecords, measuredPrices);
  const { cost } = estimator.estimate(root, new Map());
  if (estimator.tooNested !== undefined) {
    const message = `Lists and maps can be nested at most ${RULE_LIMITS.valueNesting} levels deep.`;
    return { message, at: estimator.tooNested.pos };
  }
  if (cost <= RULE_LIMITS.cost) return undefined;
  const former = new CostEstimator(patternSizes, largestRecords, formerPrices).estimate(root, new Map()).cost;
  if (former <= RULE_LIMITS.cost && cost <= RULE_LIMITS.formerCost) return undefined;
  return {
    message: "The rule could take too long. Use fewer nested comprehensions, or shorter lists and patterns.",
    at: root.start,
  };
}

/**
 * The cost of one evaluation of a stored rule, whose limits were checked before.
 *
 * @param sizes the sizes of the records that the rule reads
 */
export function costOfRule(root: ASTNode, patternSizes: ReadonlyMap<ASTNode, number>, sizes: RecordSizes): number {
  return new CostEstimator(patternSizes, sizes, measuredPrices).estimate(root, new Map()).cost;
}

class CostEstimator {
  tooNested: ASTNode | undefined;
  readonly #patternSizes: ReadonlyMap<ASTNode, number>;
  readonly #prices: Prices;
  readonly #attribute: Size;
  readonly #record: Size;
  readonly #fieldSizes: Readonly<Record<FieldType, Size>>;

  constructor(
    patternSizes: ReadonlyMap<ASTNode, number>,
    { text, groups, groupName, postureEntries }: RecordSizes,
    prices: Prices,
  ) {
    this.#patternSizes = patternSizes;
    this.#prices = prices;
    this.#attribute = textSize(text);
    this.#record = listSize(groups, text, 2);
    this.#fieldSizes = {
      string: textSize(Math.min(text, TEXT_FIELD)),
      bool: SCALAR,
      "list<string>": listSize(groups, groupName, 1),
      "map<string, dyn>": listSize(postureEntries, POSTURE_ENTRY, 1),
      "google.protobuf.Timestamp": SCALAR,
      "google.protobuf.Duration": SCALAR,
    };
  }

  estimate(node: ASTNode, bound: ReadonlyMap<string, Size>): Estimate {
    const result = this.#estimateNode(node, bound);
    if (result.size.nesting > RULE_LIMITS.valueNesting) this.tooNested ??= node;
    return result;
  }

  #estimateNode(node: ASTNode, bound: ReadonlyMap<string, Size>): Estimate {
    const comprehension = asComprehension(node);
    if (comprehension !== undefined) return this.#comprehension(comprehension, bound);
    switch (node.op) {
      case "value":
        return { cost: 1, size: literalSize(node.args) };
      case "id":
        if (node.args === TIME_VARIABLE && !bound.has(TIME_VARIABLE)) return { cost: 1, size: SCALAR, isTime: true };
        return { cost: 1, size: bound.get(node.args) ?? (RECORDS.has(node.args) ? this.#record : SCALAR) };
      case ".":
      case ".?":
      case "[]":
      case "[?]":
        return this.#selection(node, bound);
      case "call":
        return this.#functionCall(node.args[0], this.#all(node.args[1], bound));
      case "rcall":
        return this.#methodCall(node, bound);
      case "list": {
        const elements = this.#all(node.args, bound);
        return { cost: 1 + totalCost(elements), size: literalAggregate(elements, node.args.length) };
      }
      case "map": {
        const parts = this.#all(node.args.flat(), bound);
        const cost = 1 + totalCost(parts) + mapEntryCost * node.args.length;
        return { cost, size: literalAggregate(parts, node.args.length) };
      }
      case "?:": {
        const [condition, ...branches] = node.args;
        const estimates = this.#all(branches, bound);
        const cost = 1 + this.estimate(condition, bound).cost + totalCost(estimates);
        return { cost, size: estimates.map(({ size }) => size).reduce(larger) };
      }
      case "!_":
      case "-_":
        return { cost: 1 + this.estimate(node.args, bound).cost, size: SCALAR };
      default: {
        const operands = this.#all(node.args, bound);
        const [left = SCALAR, right = SCALAR] = operands.map(({ size }) => size);
        const hasTime = operands.some(({ isTime }) => isTime === true);
        const errors = node.op === "&&" || node.op === "||" ? errorsIn(node.args, bound) : 0;
        const cost = bounded(errors + totalCost(operands) + operationCost(node.op, left, right, hasTime, this.#prices));
        const size = node.op === "+" ? concatenated(left, right) : SCALAR;
        return { cost, size, isTime: hasTime && (node.op === "+" || node.op === "-") };
      }
    }
  }

  #all(nodes: readonly ASTNode[], bound: ReadonlyMap<string, Size>): Estimate[] {
    return nodes.map((node) => this.estimate(node, bound));
  }

  #selection(node: ASTNode, bound: ReadonlyMap<string, Size>): Estimate {
    const selection = asSelection(node);
    if (selection === undefined) return { cost: 1, size: SCALAR };
    const { operand, name } = selection;
    const ownCost = node.op === "[]" ? indexCost + this.estimate(node.args[1], bound).cost : 0;
    const record = operand.op === "id" && !bound.has(operand.args) ? RECORDS.get(operand.args) : undefined;
    if (record !== undefined) {
      const type = name === undefined ? undefined : record.fields.get(name);
      const cost = 2 + ownCost + (operand.args === SESSION_VARIABLE ? sessionCost : 0);
      const isTime = type === "google.protobuf.Timestamp" || type === "google.protobuf.Duration";
      return { cost, size: type === undefined ? this.#attribute : this.#fieldSizes[type], isTime };
    }
    const { cost, size } = this.estimate(operand, bound);
    return { cost: 1 + cost + ownCost, size: elementOf(size) };
  }

  #comprehension({ method, receiver, variable, body }: Comprehension, bound: ReadonlyMap<string, Size>): Estimate {
    const range = this.estimate(receiver, bound);
    const inner = new Map(bound).set(variable, elementOf(range.size));
    const steps = this.#all(body, inner);
    const step = stepCost + errorsIn(body, inner) + totalCost(steps);
    const cost = bounded(comprehensionCost + range.cost + range.size.count * step);
    if (method === "filter") return { cost, size: range.size };
    const transformed = steps.at(-1)?.size;
    if (method !== "map" || transformed === undefined) return { cost, size: SCALAR };
    return { cost, size: listSize(range.size.count, transformed.weight, transformed.nesting + 1) };
  }

  #functionCall(name: string, operands: readonly Estimate[]): Estimate {
    const weight = weightOf(operands);
    const perUnit = name === "size" ? countedPerUnit : charactersPerUnit;
    // `has` and `type` read no characters. Long texts are not timestamps.
    const isUnread =
      name === "has" || name === "type" || name === "dyn" || (name === "size" && operands[0]?.size.isList === true);
    const read = isUnread ? 0 : weight / perUnit;
    return {
      cost: bounded((this.#prices.functions.get(name) ?? 0) + totalCost(operands) + read),
      size: resultSize(FUNCTIONS.get(name) ?? "text", operands, weight),
      isTime: name === "timestamp" || name === "duration",
    };
  }

  #methodCall(node: ASTNode & { op: "rcall" }, bound: ReadonlyMap<string, Size>): Estimate {
    const [method, receiver, args] = node.args;
    const operands = this.#all([receiver, ...args], bound);
    const weight = weightOf(operands);
    const cost =
      (this.#prices.methods.get(method) ?? 0) +
      totalCost(operands) +
      this.#methodWork(method, operands, receiver, args);
    return { cost: bounded(cost), size: resultSize(METHODS.get(method) ?? "text", operands, weight) };
  }

  /** The work of a method beyond its call. */
  #methodWork(method: string, operands: readonly Estimate[], receiver: ASTNode, args: readonly ASTNode[]): number {
    const sizes = operands.map(({ size }) => size);
    const [text = 1, argument = 0] = sizes.map(({ weight }) => weight);
    if (TIME_PARTS.has(method)) {
      if (args.length === 0) return timePartCost;
      return receiver.op === "id" && receiver.args === TIME_VARIABLE ? zoneCost : uncachedZoneCost;
    }
    switch (method) {
      case "size":
        return sizes[0]?.isList === true ? 0 : text / countedPerUnit;
      case "lastIndexOf":
        return text / this.#prices.searchedBackwardsPerUnit + (text * argument) / searchStepsPerUnit;
      case "lowerAscii":
      case "upperAscii":
        return text / this.#prices.changedPerUnit;
      case "split":
        return text / countedPerUnit + (text * argument) / searchStepsPerUnit;
      case "join":
        return (sizes[0]?.count ?? 0) * 3 * elementCost + text / charactersPerUnit;
      case "matches": {
        const pattern = args[0];
        const known = pattern === undefined ? undefined : this.#patternSizes.get(pattern);
        const instructions = known ?? this.#prices.computedInstructions;
        return (
          (known === undefined ? patternCompilation : 0) +
          text * (matchedCharacterCost + instructions / this.#prices.instructionsPerUnit)
        );
      }
      default:
        return SEARCHES.has(method) ? (text * argument) / searchStepsPerUnit : text / charactersPerUnit;
    }
  }
}

/** The cost of the errors of operands inside a comprehension. */
function errorsIn(operands: readonly ASTNode[], bound: ReadonlyMap<string, Size>): number {
  if (bound.size === 0) return 0;
  return (
    errorCost * operands.filter((operand) => operand.op !== "&&" && operand.op !== "||" && mayFail(operand)).length
  );
}

/** Whether the evaluation of a condition can end in an error. */
function mayFail(root: ASTNode): boolean {
  let fails = false;
  walkRule(root, (node) => {
    const selection = asSelection(node);
    if (node.op === "call") fails ||= !safeFunctions.has(node.args[0]);
    else if (node.op === "rcall") fails ||= !safeMethods.has(node.args[0]) && asComprehension(node) === undefined;
    else if (selection !== undefined) fails ||= !isBuiltInField(selection);
    else fails ||= !safeOperators.has(node.op);
    // The argument of `has` may be absent.
    return !fails && !(node.op === "call" && node.args[0] === "has");
  });
  return fails;
}

const safeOperators: ReadonlySet<string> = new Set(["value", "id", "==", "!=", "&&", "||", "!_", "?:", "in", "list"]);
const safeFunctions: ReadonlySet<string> = new Set(["has", "size", "type", "dyn"]);
const safeMethods: ReadonlySet<string> = new Set([
  "startsWith",
  "endsWith",
  "contains",
  "matches",
  "lowerAscii",
  "upperAscii",
  "trim",
  "size",
]);

/** A device has no fields for a user without a device, and neither has a session. */
function isBuiltInField({ operand, name }: Selection): boolean {
  if (operand.op !== "id" || operand.args === "device" || operand.args === SESSION_VARIABLE || name === undefined)
    return false;
  return RECORDS.get(operand.args)?.fields.has(name) === true;
}

function weightOf(operands: readonly Estimate[]): number {
  return operands.reduce((sum, { size }) => sum + size.weight, 0);
}

/** The cost of an operator without its operands. */
function operationCost(operator: string, left: Size, right: Size, hasTime: boolean, { copiedElement }: Prices): number {
  switch (operator) {
    case "&&":
    case "||":
      return 1;
    case "in":
      return operatorCost + right.count * elementCost;
    case "+":
    case "-":
      if (hasTime) return timeArithmeticCost;
      // The elements of lists are copied, but not their characters.
      if (left.isList === true || right.isList === true) {
        return operatorCost + (left.count + right.count) * copiedElement;
      }
      return operatorCost + (left.count + right.count) * elementCost + (left.weight + right.weight) / charactersPerUnit;
    default: {
      // Only as many elements or characters are compared as the smaller operand has.
      const count = left.nesting + right.nesting === 0 ? 0 : Math.min(left.count, right.count);
      const compared = count * 3 * elementCost + Math.min(left.weight, right.weight) / comparedPerUnit;
      return operatorCost + (hasTime ? timeComparisonCost : 0) + compared;
    }
  }
}

function resultSize(result: ResultSize, operands: readonly Estimate[], weight: number): Size {
  const [first = SCALAR, second] = operands.map(({ size }) => size);
  switch (result) {
    case "scalar":
      return SCALAR;
    case "argument":
      return first;
    case "text":
      // A character has up to three bytes. A number has fewer than 32 characters.
      return textSize(32 + 3 * weight);
    case "part":
      // No text grows: only the case of ASCII letters changes. A number has fewer than 32 characters.
      return textSize(Math.max(32, first.weight));
    case "parts":
      return {
        weight: bounded(2 * weight),
        count: bounded(weight + 1),
        each: bounded(weight),
        nesting: 1,
        isList: true,
      };
    case "joined":
      return textSize(first.weight + first.count * (second?.weight ?? 0));
  }
}

function literalAggregate(parts: readonly Estimate[], count: number): Size {
  const sizes = parts.map(({ size }) => size);
  return {
    weight: bounded(1 + sizes.reduce((sum, size) => sum + size.weight, 0)),
    count,
    each: Math.max(0, ...sizes.map((size) => size.weight)),
    nesting: 1 + Math.max(0, ...sizes.map((size) => size.nesting)),
    isList: true,
  };
}

function totalCost(estimates: readonly Estimate[]): number {
  return bounded(estimates.reduce((sum, { cost }) => sum + cost, 0));
}
