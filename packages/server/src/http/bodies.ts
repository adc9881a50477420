/** Reads JSON bodies. Rejects bodies that are not JSON in UTF-8, or that could not be stored unchanged. */
import { isUtf8 } from "node:buffer";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { AppError } from "../platform/app-error.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The body as sent; undefined if there is none. */
    bodyText: string | undefined;
  }
}

/** Accepts only complete JSON bodies. An empty body counts as none, whatever its content type. */
export function readBodies(app: FastifyInstance): void {
  app.decorateRequest("bodyText", undefined);
  app.removeAllContentTypeParsers();
  const parse = app.getDefaultJsonParser("error", "error");
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    const text = bodyText(request, body as Buffer); // requested as a buffer
    if (text === "") return done(null, undefined);
    if (isNestedTooDeeply(text)) throw new AppError("invalid_json", { detail: tooDeep });
    request.bodyText = text;
    void parse(request, text, (error, value) => {
      if (error === null) done(null, value);
      else done(new AppError("invalid_json", { cause: error, detail: syntaxErrorText(text) }), undefined);
    });
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
 * The deepest nesting of a body. No operation uses more than five levels, and parsing hundreds of thousands takes long.
 */
const maxNesting = 100;
const tooDeep = `The nesting of the body exceeds ${maxNesting} levels.`;

function isNestedTooDeeply(json: string): boolean {
  let depth = 0;
  let inText = false;
  for (let index = 0; index < json.length; index += 1) {
    const character = json.charCodeAt(index);
    if (inText) {
      if (character === backslash) index += 1;
      else if (character === quote) inText = false;
    } else if (character === quote) inText = true;
    else if (character === openBrace || character === openBracket) {
      depth += 1;
      if (depth > maxNesting) return true;
    } else if (character === closeBrace || character === closeBracket) depth -= 1;
  }
  return false;
}

const [quote, backslash] = [0x22, 0x5c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/** @throws AppError unsupported_media_type, invalid_json */
function bodyText(request: FastifyRequest, body: Buffer): string {
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    throw new AppError("unsupported_media_type", {
      detail: `The body is encoded as ${JSON.stringify(encoding.slice(0, 80))}. Send it without Content-Encoding.`,
    });
  }
  if (!isUtf8(body)) throw new AppError("invalid_json", { detail: "The body is not encoded in UTF-8." });
  const text = body.toString("utf8");
  if (hasLoneSurrogate(text)) {
    throw new AppError("invalid_json", {
      detail: "The body has a \\u escape for half of a surrogate pair. Escape both halves.",
    });
  }
  return text;
}

/** Whether the JSON escapes a lone half of a surrogate pair (RFC 8259, section 8.2), which UTF-8 cannot represent. */
function hasLoneSurrogate(json: string): boolean {
  if (!/\\u[dD][89a-fA-F]/.test(json)) return false;
  // A complete pair, half of one, or the start of any other escape.
  const escapes = json.matchAll(/\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(?<half>\\u[dD][89a-fA-F])|\\[\s\S]/g);
  for (const { groups } of escapes) if (groups?.half !== undefined) return true;
  return false;
}
