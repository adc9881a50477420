import type { ASTNode } from "@marcbachmann/cel-js";
import { Instant, Span } from "./cel-time.ts";
import { isUint, type Uint, uintOf } from "./cel-uint.ts";

/**
 * Operators of CEL that the library evaluates differently from the specification: equality and order across the numeric
 * types, indexes, membership, maps with keys that are not texts, and overflow.
 */

/** The part of the library's evaluator that operators use. */
interface Evaluator {
  run(node: ASTNode, context: unknown): unknown;
}

/** Evaluates a node in a context of the library. */
type NodeEvaluation = (evaluator: Evaluator, node: ASTNode, context: unknown) => unknown;

const binaryOperators: ReadonlyMap<string, (left: unknown, right: unknown) => unknown> = new Map([
  ["==", areEqual],
  ["!=", (left: unknown, right: unknown) => !areEqual(left, right)],
  ["<", (left, right) => orderOf(left, right, "<") < 0],
  ["<=", (left, right) => orderOf(left, right, "<=") <= 0],
  [">", (left, right) => orderOf(left, right, ">") > 0],
  [">=", (left, right) => orderOf(left, right, ">=") >= 0],
  ["in", isMember],
  ["/", quotient],
  ["[]", elementAt],
]);

/**
 * Replaces the evaluation of a node if the library's evaluation deviates. Each node of a parsed rule has a method
 * `evaluate`, which the library itself replaces in the same way.
 */
export function correctOperator(node: ASTNode): void {
  const evaluate = evaluationOf(node);
  if (evaluate !== undefined) Object.assign(node, { evaluate });
}

function evaluationOf(node: ASTNode): NodeEvaluation | undefined {
  if (node.op === "map") {
    const entries = node.args;
    return (evaluator, _node, context) =>
      mapOf(entries.map(([key, value]) => [evaluator.run(key, context), evaluator.run(value, context)]));
  }
  if (node.op === "-_") {
    const operand = node.args;
    return (evaluator, _node, context) => negated(evaluator.run(operand, context));
  }
  const operator = binaryOperators.get(node.op);
  if (operator === undefined || !isBinary(node)) return undefined;
  const [left, right] = node.args;
  return (evaluator, _node, context) => operator(evaluator.run(left, context), evaluator.run(right, context));
}

function isBinary(node: ASTNode): node is Extract<ASTNode, { op: "==" | "[]" }> {
  return Array.isArray(node.args) && node.args.length === 2;
}

// Equality ----------------------------------------------------------------------------------------------------------

function areEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (isNumber(left)) return isNumber(right) && areEqualNumbers(plainNumber(left), plainNumber(right));
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return false;
  if (left instanceof Instant) return right instanceof Instant && left.ms === right.ms && left.nanos === right.nanos;
  if (left instanceof Span) return right instanceof Span && left.nanos === right.nanos;
  if (left instanceof Uint8Array) return right instanceof Uint8Array && orderOfBytes(left, right) === 0;
  if (Array.isArray(left)) return Array.isArray(right) && haveEqualElements(left, right);
  return isMap(left) && isMap(right) && haveEqualEntries(left, right);
}

/** Compares int and double by value. JavaScript compares them exactly, but not with ===. */
function areEqualNumbers(left: number | bigint, right: number | bigint): boolean {
  return left <= right && left >= right;
}

function haveEqualElements(left: readonly unknown[], right: readonly unknown[]): boolean {
  return left.length === right.length && left.every((element, index) => areEqual(element, right[index]));
}

function haveEqualEntries(left: object, right: object): boolean {
  const entries = entriesOf(left);
  if (entries.length !== entriesOf(right).length) return false;
  return entries.every(([key, value]) => {
    const other = valueOfKey(right, key);
    return other !== undefined && areEqual(value, other);
  });
}

// Order -------------------------------------------------------------------------------------------------------------

/** Negative, zero or positive. NaN if the values have no order. */
function orderOf(left: unknown, right: unknown, operator: string): number {
  if (isNumber(left) && isNumber(right)) return orderOfNumbers(plainNumber(left), plainNumber(right));
  if (typeof left === "string" && typeof right === "string") return orderOfTexts(left, right);
  if (typeof left === "boolean" && typeof right === "boolean") return Number(left) - Number(right);
  if (left instanceof Instant && right instanceof Instant) return left.ms - right.ms || left.nanos - right.nanos;
  if (left instanceof Span && right instanceof Span) return orderOfNumbers(left.nanos, right.nanos);
  if (left instanceof Uint8Array && right instanceof Uint8Array) return orderOfBytes(left, right);
  throw noOverload(left, operator, right);
}

function orderOfNumbers(left: number | bigint, right: number | bigint): number {
  // An int is converted if the other number is a double, as in the reference implementation.
  const [a, b] = typeof left === typeof right ? [left, right] : [Number(left), Number(right)];
  if (a < b) return -1;
  if (a > b) return 1;
  return a === b ? 0 : Number.NaN;
}

/** Compares by Unicode characters. JavaScript compares UTF-16 units, in which U+10000 comes before U+E000. */
function orderOfTexts(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    if (a === b) continue;
    return a >= 0xd800 && b >= 0xd800 ? isSurrogate(a) - isSurrogate(b) || a - b : a - b;
  }
  return left.length - right.length;
}

function isSurrogate(unit: number): number {
  return unit <= 0xdfff ? 1 : 0;
}

function orderOfBytes(left: Uint8Array, right: Uint8Array): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

// Numbers -----------------------------------------------------------------------------------------------------------

function isNumber(value: unknown): value is number | bigint | Uint {
  return typeof value === "number" || typeof value === "bigint" || isUint(value);
}

function plainNumber(value: number | bigint | Uint): number | bigint {
  return isUint(value) ? value.value : value;
}

const minInt = -(2n ** 63n);

function negated(value: unknown): number | bigint {
  if (typeof value === "number") return -value;
  if (typeof value !== "bigint") throw new TypeError(`no such overload: -${typeOf(value)}`);
  if (value === minInt) throw new RangeError("integer overflow");
  return -value;
}

function quotient(left: unknown, right: unknown): unknown {
  if (typeof left === "number" && typeof right === "number") return left / right;
  if (typeof left === "bigint" && typeof right === "bigint") {
    if (right === 0n) throw new RangeError("division by zero");
    if (left === minInt && right === -1n) throw new RangeError("integer overflow");
    return left / right;
  }
  if (isUint(left) && isUint(right)) {
    if (right.value === 0n) throw new RangeError("division by zero");
    return uintOf(left.value / right.value);
  }
  throw noOverload(left, "/", right);
}

// Lists and maps ----------------------------------------------------------------------------------------------------

function isMap(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return value instanceof Map || prototype === null || prototype === Object.prototype;
}

/** The entries of a map. Attributes and posture are objects, or maps whose keys are texts. */
function entriesOf(map: object): readonly (readonly [unknown, unknown])[] {
  return map instanceof Map ? [...map] : Object.entries(map);
}

function valueOfKey(map: object, key: unknown): unknown {
  if (!(map instanceof Map)) {
    // A record of facts. Reflect reads a field of an object of unknown type.
    return typeof key === "string" && Object.hasOwn(map, key) ? Reflect.get(map, key) : undefined;
  }
  const exact: unknown = map.get(key);
  if (exact !== undefined || !isNumber(key)) return exact;
  // Numbers of different types are the same key.
  for (const [other, value] of map) if (areEqual(other, key)) return value;
  return undefined;
}

/** Builds a map. Keys are texts, whole numbers or bools, and appear once. */
function mapOf(entries: readonly (readonly [unknown, unknown])[]): Map<unknown, unknown> {
  const map = new Map<unknown, unknown>();
  for (const [key, value] of entries) {
    const isKey = typeof key === "string" || typeof key === "bigint" || typeof key === "boolean";
    if (!isKey && !isUint(key)) throw new TypeError(`${typeOf(key)} cannot be the key of a map`);
    if (valueOfKey(map, key) !== undefined) throw new RangeError(`the key ${String(key)} is repeated`);
    map.set(key, value);
  }
  return map;
}

function isMember(value: unknown, collection: unknown): boolean {
  if (Array.isArray(collection)) {
    for (const element of collection) if (areEqual(element, value)) return true;
    return false;
  }
  if (typeof collection === "object" && collection !== null && isMap(collection)) {
    return valueOfKey(collection, value) !== undefined;
  }
  throw noOverload(value, "in", collection);
}

function elementAt(collection: unknown, key: unknown): unknown {
  const element = findElement(collection, key);
  if (element === undefined) throw new RangeError(`No such key: ${String(key)}`);
  return element;
}

function findElement(collection: unknown, key: unknown): unknown {
  if (Array.isArray(collection)) return isNumber(key) ? collection[Number(plainNumber(key))] : undefined;
  if (typeof collection !== "object" || collection === null || !isMap(collection)) {
    throw new TypeError(`Cannot index ${typeOf(collection)}`);
  }
  return valueOfKey(collection, key);
}

// Errors ------------------------------------------------------------------------------------------------------------

function noOverload(left: unknown, operator: string, right: unknown): TypeError {
  return new TypeError(`no such overload: ${typeOf(left)} ${operator} ${typeOf(right)}`);
}

/** The name of the type of a value, for messages. */
function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "bigint") return "int";
  if (typeof value === "number") return "double";
  if (typeof value === "boolean") return "bool";
  if (typeof value !== "object") return typeof value;
  if (Array.isArray(value)) return "list";
  if (isUint(value)) return "uint";
  if (value instanceof Instant) return "timestamp";
  if (value instanceof Span) return "duration";
  return value instanceof Uint8Array ? "bytes" : "map";
}
