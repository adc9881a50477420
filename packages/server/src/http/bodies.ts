/** Reads JSON bodies. Rejects bodies that are not JSON in UTF-8, or that could not be stored unchanged. */
import { isUtf8 } from "node:buffer";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { AppError } from "../platform/app-error.ts";
import type { Evaluator } from "../platform/evaluation/evaluator.ts";
import {
  character,
  halfSurrogate,
  hasLoneSurrogate,
  maxNesting,
  nestedTooDeeply,
  notUtf8,
  type ParseText,
  readLargeJson,
} from "./large-json.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The body as sent. Undefined if the request has none, or if it is large. */
    bodyText: string | undefined;
    largeBody: LargeBody | undefined;
  }
}

/** A body that is parsed and validated in slices. */
export interface LargeBody {
  readonly bytes: Buffer;
  /** Whether the body may contain the NUL character. */
  readonly mayHaveNul: boolean;
}

/** Larger bodies are parsed and validated in slices. In bytes; such a body has more than 65,536 characters. */
export const largeBodyBytes = 262_144;

/** Work for all tenants without one, such as operator requests. */
export const noTenant = "";

/**
 * Accepts only complete JSON bodies. An empty body counts as none, whatever its content type.
 *
 * @param evaluator performs the work for large bodies
 */
export function readBodies(app: FastifyInstance, evaluator: Evaluator): void {
  app.decorateRequest("bodyText", undefined);
  app.decorateRequest("largeBody", undefined);
  app.removeAllContentTypeParsers();
  const parse = app.getDefaultJsonParser("error", "error");
  const parseText: ParseText = (text) => {
    let result: { readonly value: unknown } | undefined;
    // The parser does not use the request.
    void parse(undefined as unknown as FastifyRequest, text, (error, value) => {
      if (error === null) result = { value };
    });
    if (result === undefined) throw new SyntaxError("not accepted");
    return result.value;
  };
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    const bytes = body as Buffer; // requested as a buffer
    if (bytes.length > largeBodyBytes) {
      requireNoEncoding(request);
      evaluator.decide(request.caller?.tenantId ?? noTenant, readLargeJson(bytes, parseText)).then(
        ({ value, mayHaveNul }) => {
          request.largeBody = { bytes, mayHaveNul };
          done(null, value);
        },
        (error: Error) => done(error, undefined),
      );
      return;
    }
    const text = bodyText(request, bytes);
    if (text === "") return done(null, undefined);
    if (isNestedTooDeeply(text)) throw new AppError("invalid_json", { detail: nestedTooDeeply });
    request.bodyText = text;
    let value: unknown;
    try {
      value = mayBeRefused.test(text) ? parseText(text) : JSON.parse(text);
    } catch (error) {
      return done(new AppError("invalid_json", { cause: error, detail: syntaxErrorText(text) }), undefined);
    }
    done(null, value);
  });
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => {
    if (body.length === 0) done(null, undefined);
    else done(new AppError("unsupported_media_type"), undefined);
  });
}

/** Describes a syntax error and its position, as far as Node.js reports it. */
function syntaxErrorText(text: string): string {
  let reason: string;
  try {
    JSON.parse(text);
    return "The body contains __proto__ or a constructor's prototype. No operation has such a field.";
  } catch (error) {
    reason = String(error);
  }
  const problem = "The body is not valid JSON";
  if (/Unexpected end|Unterminated string/.test(reason)) return `${problem}: it ends prematurely.`;
  const position = /at position (\d+)/.exec(reason)?.[1];
  if (position !== undefined) {
    const lines = text.slice(0, Number(position)).split("\n");
    return `${problem}: see line ${lines.length}, column ${[...(lines.at(-1) ?? "")].length + 1}.`;
  }
  const token = /Unexpected token '(.)'/su.exec(reason)?.[1];
  return token === undefined ? `${problem}.` : `${problem}: unexpected ${JSON.stringify(token)}.`;
}

/**
 * A text without a match needs no search for the names that the parser refuses. The search takes a quarter of the time
 * of parsing. The parser also skips a byte order mark.
 */
const mayBeRefused = /^\uFEFF|__proto__|constructor|\\u/;

function isNestedTooDeeply(json: string): boolean {
  let depth = 0;
  for (let index = 0; index < json.length; index += 1) {
    const code = json.charCodeAt(index);
    if (code === quote) index = endOfString(json, index);
    else if (code === openBrace || code === openBracket) {
      depth += 1;
      if (depth > maxNesting) return true;
    } else if (code === closeBrace || code === closeBracket) depth -= 1;
  }
  return false;
}

/** The index of the quotation mark that ends a string, or of the end of an incomplete text. */
function endOfString(json: string, start: number): number {
  // Native searches are faster than a loop over the characters.
  for (let end = json.indexOf('"', start + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let escapes = 0;
    while (json.charCodeAt(end - 1 - escapes) === backslash) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return json.length;
}

const { quote, backslash, openBrace, closeBrace, openBracket, closeBracket } = character;

/** @throws AppError unsupported_media_type, invalid_json */
function bodyText(request: FastifyRequest, body: Buffer): string {
  requireNoEncoding(request);
  if (!isUtf8(body)) throw new AppError("invalid_json", { detail: notUtf8 });
  const text = body.toString("utf8");
  if (hasLoneSurrogate(text)) {
    throw new AppError("invalid_json", { detail: halfSurrogate });
  }
  return text;
}

/** @throws AppError unsupported_media_type */
function requireNoEncoding(request: FastifyRequest): void {
  const encoding = request.headers["content-encoding"];
  if (encoding === undefined || encoding === "identity") return;
  throw new AppError("unsupported_media_type", {
    detail: `The body is encoded as ${JSON.stringify(encoding.slice(0, 80))}. Send it without Content-Encoding.`,
  });
}
