/**
 * Parses large JSON bodies in slices (docs/decisions/0079). Members of large containers are parsed in chunks by the
 * native parser, so the result equals that of JSON.parse. Pure.
 */
import { isUtf8 } from "node:buffer";
import type { Work } from "@gatehouse/policy/work";
import { AppError } from "../platform/app-error.ts";

/** The length of the text that is parsed at once, in bytes. */
const chunkBytes = 32_768;

/** The longest string, number or white space of a large body, in bytes. It is read at once. */
const maxTokenBytes = 1_048_576;

/**
 * The deepest nesting of a body. No operation uses more than five levels, and parsing hundreds of thousands is slow.
 */
export const maxNesting = 100;
export const nestedTooDeeply = `The nesting of the body exceeds ${maxNesting} levels.`;
export const notUtf8 = "The body is not encoded in UTF-8.";
export const halfSurrogate = "The body has a \\u escape for half of a surrogate pair. Escape both halves.";
const forbiddenField = "The body contains __proto__ or a constructor's prototype. No operation has such a field.";
const notValid = "The body is not valid JSON";

export const character = {
  quote: 0x22,
  backslash: 0x5c,
  openBrace: 0x7b,
  closeBrace: 0x7d,
  openBracket: 0x5b,
  closeBracket: 0x5d,
  comma: 0x2c,
  lineFeed: 0x0a,
} as const;
const { quote, backslash, openBrace, closeBrace, openBracket, closeBracket, comma, lineFeed } = character;

export interface LargeJson {
  readonly value: unknown;
  /** Whether the text may contain an escaped NUL character. */
  readonly mayHaveNul: boolean;
}

/** @throws for invalid JSON, and for fields that would change prototypes */
export type ParseText = (text: string) => unknown;

/**
 * Parses a body.
 *
 * @throws the work: AppError invalid_json
 */
export function* readLargeJson(bytes: Buffer, parse: ParseText): Work<LargeJson> {
  yield* requireShallow(bytes);
  const reader = new Reader(bytes, parse);
  return { value: yield* reader.read(), mayHaveNul: reader.mayHaveNul };
}

function* requireShallow(bytes: Buffer): Work<void> {
  let depth = 0;
  let inText = false;
  for (let index = 0; index < bytes.length; index += 1) {
    if (index % chunkBytes === 0) yield chunkBytes / 16;
    const byte = bytes[index];
    if (inText) {
      if (byte === backslash) index += 1;
      else if (byte === quote) inText = false;
    } else if (byte === quote) inText = true;
    else if (byte === openBrace || byte === openBracket) {
      depth += 1;
      if (depth > maxNesting) throw new AppError("invalid_json", { detail: nestedTooDeeply });
    } else if (byte === closeBrace || byte === closeBracket) depth -= 1;
  }
}

/** A member of a container, as far as it was scanned. */
interface Member {
  /** The position after the member; of the opening bracket of a value that is too large to parse at once. */
  readonly end: number;
  readonly isLarge: boolean;
}

class Reader {
  mayHaveNul = false;
  readonly #bytes: Buffer;
  readonly #parse: ParseText;

  constructor(bytes: Buffer, parse: ParseText) {
    this.#bytes = bytes;
    this.#parse = parse;
  }

  *read(): Work<unknown> {
    const start = yield* this.#skipSpace(0);
    const first = this.#bytes[start];
    if (first !== openBrace && first !== openBracket) {
      if (this.#bytes.length > maxTokenBytes) throw tooLong();
      return yield* this.#parsed("", 0, this.#bytes.length, "");
    }
    const { value, end } = yield* this.#container(start);
    const rest = yield* this.#skipSpace(end);
    if (rest < this.#bytes.length) throw yield* this.#syntaxError(rest);
    return value;
  }

  /** @param start the position of the opening bracket */
  *#container(start: number): Work<{ readonly value: unknown; readonly end: number }> {
    const isArray = this.#bytes[start] === openBracket;
    const items: unknown[] = [];
    const fields: Record<string, unknown> = {};
    /** The start of the members that were not parsed yet. */
    let chunk = start + 1;
    let next = chunk;
    for (;;) {
      const { end, isLarge } = yield* this.#member(next, isArray ? closeBracket : closeBrace);
      let after = end;
      if (isLarge) {
        if (next > chunk) yield* this.#take(isArray, chunk, next - 1, items, fields);
        const key = yield* this.#keyOf(isArray, next, end);
        const inner = yield* this.#container(end);
        if (key === undefined) items.push(inner.value);
        else addField(fields, key, inner.value);
        after = yield* this.#skipSpace(inner.end);
        chunk = after + 1;
      }
      const byte = this.#bytes[after];
      if (byte !== comma) {
        if (byte !== (isArray ? closeBracket : closeBrace)) throw yield* this.#syntaxError(after);
        const isEmpty = !isLarge && chunk === start + 1 && next === chunk;
        if (!isLarge && (yield* this.#take(isArray, chunk, after, items, fields)) === 0 && !isEmpty)
          throw yield* this.#syntaxError(after);
        return { value: isArray ? items : fields, end: after + 1 };
      }
      next = after + 1;
      if (!isLarge && next - chunk > chunkBytes) {
        if ((yield* this.#take(isArray, chunk, after, items, fields)) === 0) throw yield* this.#syntaxError(after);
        chunk = next;
      }
    }
  }

  /** Finds the end of a member. Its content is not validated. */
  *#member(start: number, close: number): Work<Member> {
    const bytes = this.#bytes;
    let depth = 0;
    let inText = false;
    let opened = -1;
    for (let index = start; index < bytes.length; index += 1) {
      if (opened >= 0) {
        if (index - opened > chunkBytes) return { end: opened, isLarge: true };
      } else if ((index - start) % chunkBytes === chunkBytes - 1) {
        if (index - start > maxTokenBytes) throw tooLong();
        yield chunkBytes / 16;
      }
      const byte = bytes[index];
      if (inText) {
        if (byte === backslash) index += 1;
        else if (byte === quote) inText = false;
      } else if (byte === quote) inText = true;
      else if (byte === openBrace || byte === openBracket) {
        if (depth === 0) opened = index;
        depth += 1;
      } else if (byte === closeBrace || byte === closeBracket) {
        if (depth === 0) {
          if (byte === close) return { end: index, isLarge: false };
          throw yield* this.#syntaxError(index);
        }
        depth -= 1;
        // A closed member is short, so it is parsed with its neighbours.
        if (depth === 0) opened = -1;
      } else if (byte === comma && depth === 0) return { end: index, isLarge: false };
    }
    throw endsPrematurely();
  }

  /** Parses members, adds them, and returns how many there were. */
  *#take(
    isArray: boolean,
    start: number,
    end: number,
    items: unknown[],
    fields: Record<string, unknown>,
  ): Work<number> {
    if (isArray) {
      const parsed = (yield* this.#parsed("[", start, end, "]")) as unknown[]; // the text is an array
      for (const item of parsed) items.push(item);
      return parsed.length;
    }
    const parsed = (yield* this.#parsed("{", start, end, "}")) as Record<string, unknown>; // the text is an object
    const entries = Object.entries(parsed);
    for (const [key, value] of entries) addField(fields, key, value);
    return entries.length;
  }

  /** The key before a large value; undefined in an array. */
  *#keyOf(isArray: boolean, start: number, end: number): Work<string | undefined> {
    if (isArray) {
      yield* this.#parsed("[", start, end, "0]");
      return undefined;
    }
    return Object.keys((yield* this.#parsed("{", start, end, "0}")) as object)[0]; // the text is an object
  }

  *#parsed(before: string, start: number, end: number, after: string): Work<unknown> {
    yield (end - start) / 2;
    const bytes = this.#bytes.subarray(start, end);
    if (!isUtf8(bytes)) throw new AppError("invalid_json", { detail: notUtf8 });
    const text = bytes.toString("utf8");
    if (hasLoneSurrogate(text)) throw new AppError("invalid_json", { detail: halfSurrogate });
    if (text.includes("\\u0000")) this.mayHaveNul = true;
    try {
      return this.#parse(before + text + after);
    } catch (error) {
      const reason = syntaxErrorOf(before + text + after);
      if (reason === undefined) throw new AppError("invalid_json", { detail: forbiddenField, cause: error });
      const position = /at position (\d+)/.exec(reason)?.[1];
      if (position !== undefined) {
        const characters = Math.min(Math.max(0, Number(position) - before.length), text.length);
        throw yield* this.#syntaxError(start + Buffer.byteLength(text.slice(0, characters)));
      }
      const token = /Unexpected token '(.)'/su.exec(reason)?.[1];
      const what = token === undefined ? "." : `: unexpected ${JSON.stringify(token)}.`;
      throw new AppError("invalid_json", { detail: `${notValid}${what}`, cause: error });
    }
  }

  *#skipSpace(start: number): Work<number> {
    let index = start;
    while (isSpace(this.#bytes[index])) {
      index += 1;
      if ((index - start) % chunkBytes === 0) yield chunkBytes / 16;
    }
    return index;
  }

  *#syntaxError(position: number): Work<AppError> {
    if (position >= this.#bytes.length) return endsPrematurely();
    let [line, column] = [1, 1];
    for (let index = 0; index < position; index += 1) {
      if (index % chunkBytes === 0) yield chunkBytes / 16;
      const byte = this.#bytes[index] ?? 0;
      if (byte === lineFeed) [line, column] = [line + 1, 1];
      // Continuation bytes belong to the character before them.
      else if ((byte & 0xc0) !== 0x80) column += 1;
    }
    return new AppError("invalid_json", { detail: `${notValid}: see line ${line}, column ${column}.` });
  }
}

function addField(fields: Record<string, unknown>, key: string, value: unknown): void {
  // Small objects are checked when they are parsed.
  const isPrototype =
    key === "constructor" && typeof value === "object" && value !== null && Object.hasOwn(value, "prototype");
  if (key === "__proto__" || isPrototype) throw new AppError("invalid_json", { detail: forbiddenField });
  fields[key] = value;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === lineFeed || byte === 0x0d || byte === 0x09;
}

function endsPrematurely(): AppError {
  return new AppError("invalid_json", { detail: `${notValid}: it ends prematurely.` });
}

function tooLong(): AppError {
  const detail = "A string, a number or white space of the body is longer than 1 MiB. No operation has such a field.";
  return new AppError("invalid_json", { detail });
}

/** The native parser's message; undefined for valid JSON. */
function syntaxErrorOf(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return String(error);
  }
}

/** Whether the JSON escapes a lone half of a surrogate pair (RFC 8259, section 8.2), which UTF-8 cannot represent. */
export function hasLoneSurrogate(json: string): boolean {
  if (!/\\u[dD][89a-fA-F]/.test(json)) return false;
  // A complete pair, half of one, or the start of any other escape.
  const escapes = json.matchAll(/\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(?<half>\\u[dD][89a-fA-F])|\\[\s\S]/g);
  for (const { groups } of escapes) if (groups?.half !== undefined) return true;
  return false;
}
