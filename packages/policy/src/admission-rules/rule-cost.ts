import type { ASTNode } from "@marcbachmann/cel-js";
import { FUNCTIONS, METHODS, RECORDS, type ResultSize, RULE_LIMITS, SEARCHES, TIME_PARTS } from "./rule-language.ts";
import type { RuleFault } from "./rule-problems.ts";
import { asComprehension, asSelection, type Comprehension } from "./rule-syntax.ts";
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
}

// What the records are assumed to hold at most; larger ones only scale the estimate.
const LONGEST_TEXT = 1024;
const LONGEST_GROUP_NAME = 120;
const MAX_GROUPS = 256;
const MAX_POSTURE_ENTRIES = 64;
const POSTURE_ENTRY = 256;
const ATTRIBUTE = textSize(LONGEST_TEXT);
const FIELD_SIZES = {
  string: textSize(256),
  "list<string>": listSize(MAX_GROUPS, LONGEST_GROUP_NAME, 1),
  "map<string, dyn>": listSize(MAX_POSTURE_ENTRIES, POSTURE_ENTRY, 1),
} as const;
const RECORD: Size = listSize(MAX_GROUPS, LONGEST_TEXT, 2);

const ZONE_LOOKUP = 2000;
const PATTERN_COMPILATION = 20_000;
const WEIGHT_PER_UNIT = 64;
const SEARCH_STEPS_PER_UNIT = 256;
const INSTRUCTIONS_PER_UNIT = 32;

/**
 * Estimates the work of one evaluation from the text alone, so that no rule can be stored whose nested comprehensions
 * or growing lists would hold up decisions. Recursive: the depth of the tree must have been bounded before.
 *
 * @param patternSizes instructions of the literal patterns, by the pattern's node
 * @returns the first thing over its limit, or undefined
 */
export function costFault(root: ASTNode, patternSizes: ReadonlyMap<ASTNode, number>): RuleFault | undefined {
  const estimator = new CostEstimator(patternSizes);
  const { cost } = estimator.estimate(root, new Map());
  if (estimator.tooNested !== undefined) {
    const message = `Lists and maps can be nested at most ${RULE_LIMITS.valueNesting} deep.`;
    return { message, at: estimator.tooNested.pos };
  }
  if (cost <= RULE_LIMITS.cost) return undefined;
  return {
    message: "The rule could take too long: use fewer comprehensions within each other, or shorter lists and patterns.",
    at: root.start,
  };
}

class CostEstimator {
  tooNested: ASTNode | undefined;
  readonly #patternSizes: ReadonlyMap<ASTNode, number>;

  constructor(patternSizes: ReadonlyMap<ASTNode, number>) {
    this.#patternSizes = patternSizes;
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
        return { cost: 1, size: bound.get(node.args) ?? (RECORDS.has(node.args) ? RECORD : SCALAR) };
      case ".":
      case ".?":
      case "[]":
      case "[?]":
        return this.#selection(node, bound);
      case "call":
        return this.#call(FUNCTIONS.get(node.args[0]) ?? "text", this.#all(node.args[1], bound));
      case "rcall":
        return this.#methodCall(node, bound);
      case "list": {
        const elements = this.#all(node.args, bound);
        return { cost: 1 + totalCost(elements), size: literalAggregate(elements, node.args.length) };
      }
      case "map": {
        const parts = this.#all(node.args.flat(), bound);
        return { cost: 1 + totalCost(parts), size: literalAggregate(parts, node.args.length) };
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
        const steps = stepsOf(node.op, left, right) + (left.weight + right.weight) / WEIGHT_PER_UNIT;
        const cost = bounded(totalCost(operands) + steps);
        return { cost, size: node.op === "+" ? concatenated(left, right) : SCALAR };
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
    const indexCost = node.op === "[]" ? this.estimate(node.args[1], bound).cost : 0;
    const record = operand.op === "id" && !bound.has(operand.args) ? RECORDS.get(operand.args) : undefined;
    if (record !== undefined) {
      const type = name === undefined ? undefined : record.fields.get(name);
      return { cost: 2 + indexCost, size: type === undefined ? ATTRIBUTE : FIELD_SIZES[type] };
    }
    const { cost, size } = this.estimate(operand, bound);
    return { cost: 1 + cost + indexCost, size: elementOf(size) };
  }

  #comprehension({ method, receiver, variable, body }: Comprehension, bound: ReadonlyMap<string, Size>): Estimate {
    const range = this.estimate(receiver, bound);
    const steps = this.#all(body, new Map(bound).set(variable, elementOf(range.size)));
    const cost = bounded(1 + range.cost + range.size.count * (1 + totalCost(steps)));
    if (method === "filter") return { cost, size: range.size };
    const transformed = steps.at(-1)?.size;
    if (method !== "map" || transformed === undefined) return { cost, size: SCALAR };
    return { cost, size: listSize(range.size.count, transformed.weight, transformed.nesting + 1) };
  }

  #methodCall(node: ASTNode & { op: "rcall" }, bound: ReadonlyMap<string, Size>): Estimate {
    const [method, receiver, args] = node.args;
    const operands = this.#all([receiver, ...args], bound);
    const call = this.#call(METHODS.get(method) ?? "text", operands);
    return { cost: bounded(call.cost + this.#extraWork(method, operands, args)), size: call.size };
  }

  /** What a method costs beyond passing once over its operands. */
  #extraWork(method: string, operands: readonly Estimate[], args: readonly ASTNode[]): number {
    const [text = 1, argument = 0] = operands.map(({ size }) => size.weight);
    if (TIME_PARTS.has(method)) return args.length > 0 ? ZONE_LOOKUP : 0;
    if (SEARCHES.has(method)) return (text * argument) / SEARCH_STEPS_PER_UNIT + (method === "split" ? text : 0);
    if (method !== "matches") return 0;
    const pattern = args[0];
    const known = pattern === undefined ? undefined : this.#patternSizes.get(pattern);
    const instructions = known ?? RULE_LIMITS.patternInstructions;
    return (known === undefined ? PATTERN_COMPILATION : 0) + text * (1 + instructions / INSTRUCTIONS_PER_UNIT);
  }

  #call(result: ResultSize, operands: readonly Estimate[]): Estimate {
    const weight = operands.reduce((sum, { size }) => sum + size.weight, 0);
    return { cost: 1 + totalCost(operands) + weight / WEIGHT_PER_UNIT, size: resultSize(result, operands, weight) };
  }
}

/** Elements that an operator goes through one by one. */
function stepsOf(operator: string, left: Size, right: Size): number {
  if (operator === "in") return right.count;
  return operator === "+" ? left.count + right.count : 1;
}

function resultSize(result: ResultSize, operands: readonly Estimate[], weight: number): Size {
  const [first = SCALAR, second] = operands.map(({ size }) => size);
  switch (result) {
    case "scalar":
      return SCALAR;
    case "argument":
      return first;
    case "text":
      // Changing the case can make one character three; a number is written with fewer than 32.
      return textSize(32 + 3 * weight);
    case "parts":
      return { weight: bounded(2 * weight), count: bounded(weight + 1), each: bounded(weight), nesting: 1 };
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
  };
}

function totalCost(estimates: readonly Estimate[]): number {
  return bounded(estimates.reduce((sum, { cost }) => sum + cost, 0));
}
