import type { Environment } from "@marcbachmann/cel-js";
import { type Uint, uintOf } from "./cel-uint.ts";

/**
 * Functions of CEL whose implementation in the library deviates from the specification. Positions in a text count
 * Unicode characters, letters are ASCII letters, and conversions refuse what the specification refuses.
 */

/** Functions of the specification and the names under which this module registers them. */
export const conversionFunctions: ReadonlyMap<string, string> = new Map([
  ["double", "toDouble"],
  ["int", "toInt"],
  ["string", "toText"],
  ["uint", "toUint"],
]);

/** Methods of the specification and the names under which this module registers them. */
export const textMethods: ReadonlyMap<string, string> = new Map([
  ["indexOf", "textIndexOf"],
  ["lastIndexOf", "textLastIndexOf"],
  ["lowerAscii", "textLower"],
  ["split", "textSplit"],
  ["substring", "textSubstring"],
  ["trim", "textTrim"],
  ["upperAscii", "textUpper"],
]);

export function registerTextFunctions(environment: Environment): void {
  registerConversions(environment);
  environment
    .registerFunction("string.textLower(): string", (text: string) => shifted(text, "A", "Z", 32))
    .registerFunction("string.textUpper(): string", (text: string) => shifted(text, "a", "z", -32))
    .registerFunction("string.textTrim(): string", trim)
    .registerFunction("string.textSubstring(int): string", (text: string, start: bigint) =>
      substring(text, start, undefined),
    )
    .registerFunction("string.textSubstring(int, int): string", substring)
    .registerFunction("string.textIndexOf(string): int", (text: string, search: string) => indexOf(text, search, 0n))
    .registerFunction("string.textIndexOf(string, int): int", (text: string, search: string, from: bigint) => {
      requirePosition(text, from);
      return indexOf(text, search, from);
    })
    .registerFunction("string.textLastIndexOf(string): int", (text: string, search: string) =>
      lastIndexOf(text, search, undefined),
    )
    .registerFunction("string.textLastIndexOf(string, int): int", (text: string, search: string, from: bigint) => {
      requirePosition(text, from);
      return lastIndexOf(text, search, from);
    })
    .registerFunction("string.textSplit(string): list<string>", (text: string, separator: string) =>
      split(text, separator, -1n),
    )
    .registerFunction("string.textSplit(string, int): list<string>", split);
}

const minInt = -(2n ** 63n);
const maxInt = 2n ** 63n - 1n;
const maxUint = 2n ** 64n - 1n;

function registerConversions(environment: Environment): void {
  environment
    .registerFunction("toInt(int): int", (value: bigint) => value)
    .registerFunction("toInt(uint): int", (value: Uint) => intInRange(value.value))
    .registerFunction("toInt(string): int", (text: string) => intInRange(wholeNumber(text, /^[+-]?\d{1,30}$/)))
    // Both bounds are excluded, because a double cannot hold the largest int.
    .registerFunction("toInt(double): int", (value: number) => {
      if (value > -(2 ** 63) && value < 2 ** 63) return BigInt(Math.trunc(value));
      throw new RangeError("The number is out of range for int().");
    })
    .registerFunction("toUint(uint): uint", (value: Uint) => value)
    .registerFunction("toUint(int): uint", uintInRange)
    .registerFunction("toUint(string): uint", (text: string) => uintInRange(wholeNumber(text, /^\d{1,30}$/)))
    .registerFunction("toUint(double): uint", (value: number) => {
      if (value >= 0 && value < 2 ** 64) return uintOf(BigInt(Math.trunc(value)));
      throw new RangeError("The number is out of range for uint().");
    })
    .registerFunction("toDouble(double): double", (value: number) => value)
    .registerFunction("toDouble(int): double", Number)
    .registerFunction("toDouble(uint): double", (value: Uint) => Number(value.value))
    .registerFunction("toDouble(string): double", doubleOf)
    .registerFunction("toText(string): string", (value: string) => value)
    .registerFunction("toText(bool): string", String)
    .registerFunction("toText(int): string", String)
    .registerFunction("toText(uint): string", (value: Uint) => String(value.value))
    .registerFunction("toText(double): string", textOfDouble)
    .registerFunction("toText(bytes): string", textOfBytes);
}

function wholeNumber(text: string, form: RegExp): bigint {
  if (!form.test(text)) throw new RangeError("The text is not a whole number.");
  return BigInt(text.replace(/^\+/, ""));
}

function intInRange(value: bigint): bigint {
  if (value >= minInt && value <= maxInt) return value;
  throw new RangeError("The number is out of range for int().");
}

function uintInRange(value: bigint): Uint {
  if (value >= 0n && value <= maxUint) return uintOf(value);
  throw new RangeError("The number is out of range for uint().");
}

function doubleOf(text: string): number {
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) {
    const value = Number(text);
    if (Number.isFinite(value)) return value;
  }
  switch (text.toLowerCase()) {
    case "inf":
    case "+inf":
    case "infinity":
    case "+infinity":
      return Number.POSITIVE_INFINITY;
    case "-inf":
    case "-infinity":
      return Number.NEGATIVE_INFINITY;
    case "nan":
      return Number.NaN;
    default:
      throw new RangeError("The text is not a number.");
  }
}

function textOfDouble(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}

/** Decodes UTF-8 strictly. Neither TextDecoder nor Buffer is part of the language. */
function textOfBytes(bytes: Uint8Array): string {
  let encoded = "";
  for (const byte of bytes) encoded += `%${byte.toString(16).padStart(2, "0")}`;
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw new RangeError("The bytes are not UTF-8.");
  }
}

/** UTF-16 units that are converted to a text at once. */
const unitsAtOnce = 1_024;

/**
 * Adds a number to the code of each ASCII letter in a range. The time hardly depends on the text: replacing each run of
 * letters takes five times as long if there are many runs.
 */
function shifted(text: string, first: string, last: string, by: number): string {
  const [low, high] = [first.charCodeAt(0), last.charCodeAt(0)];
  let result = "";
  for (let start = 0; start < text.length; start += unitsAtOnce) {
    const units = new Array<number>(Math.min(unitsAtOnce, text.length - start));
    for (let index = 0; index < units.length; index += 1) {
      const unit = text.charCodeAt(start + index);
      units[index] = unit >= low && unit <= high ? unit + by : unit;
    }
    result += String.fromCharCode.apply(undefined, units);
  }
  return result;
}

/** Unicode white space. A pattern would be slow for a long text of spaces. */
const spaces: ReadonlySet<number> = new Set([
  ...[0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20, 0x85, 0xa0, 0x1680],
  ...[0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a],
  ...[0x2028, 0x2029, 0x202f, 0x205f, 0x3000],
]);

/** Removes Unicode white space. Invisible characters such as U+200B are not white space. */
function trim(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && spaces.has(text.charCodeAt(start))) start++;
  while (end > start && spaces.has(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

/** Whether every character is one UTF-16 unit, so that positions in JavaScript are positions in CEL. */
function isSimple(text: string): boolean {
  return !/[\ud800-\udfff]/.test(text);
}

function lengthOf(text: string): number {
  return isSimple(text) ? text.length : [...text].length;
}

/** The index in UTF-16 units of a position in characters. */
function unitAt(text: string, position: number): number {
  return isSimple(text) ? position : [...text].slice(0, position).join("").length;
}

/** The position in characters of an index in UTF-16 units. */
function positionAt(text: string, unit: number): bigint {
  return BigInt(unit < 0 ? -1 : lengthOf(text.slice(0, unit)));
}

function requirePosition(text: string, position: bigint): void {
  if (position < 0n || position >= BigInt(lengthOf(text))) throw new RangeError("The position is out of range.");
}

function substring(text: string, from: bigint, to: bigint | undefined): string {
  const length = BigInt(lengthOf(text));
  const end = to ?? length;
  if (from < 0n || end < from || end > length) throw new RangeError("The range is outside of the text.");
  return text.slice(unitAt(text, Number(from)), unitAt(text, Number(end)));
}

function indexOf(text: string, search: string, from: bigint): bigint {
  return positionAt(text, text.indexOf(search, unitAt(text, Number(from))));
}

function lastIndexOf(text: string, search: string, from: bigint | undefined): bigint {
  const start = from === undefined ? text.length : unitAt(text, Number(from));
  return positionAt(text, text.lastIndexOf(search, start));
}

/** Splits at most `limit - 1` times. A negative limit splits at every separator. */
function split(text: string, separator: string, limit: bigint): string[] {
  if (limit === 0n) return [];
  const parts = separator === "" ? [...text] : text.split(separator);
  if (limit < 0n || limit >= BigInt(parts.length)) return parts;
  const kept = Number(limit) - 1;
  return [...parts.slice(0, kept), parts.slice(kept).join(separator)];
}
