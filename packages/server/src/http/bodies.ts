/** Reads JSON bodies. Rejects bodies that are not JSON in UTF-8, or that could not be stored unchanged. */
import { isUtf8 } from "node:buffer";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { AppError } from "../platform/app-error.ts";
import type { TenantPace } from "../platform/concurrency/tenant-pace.ts";
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
    /** Whether the request waited for its tenant's turn before its body was read, and the tenant is charged for it. */
    isBodyCharged: boolean;
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

/**
 * Larger bodies are read when it is their tenant's turn, and the tenant is charged for the time (docs/decisions/0208).
 * A batch of a few decisions is smaller. In bytes.
 */
const chargedBodyBytes = 4_096;

/** Work for all tenants without one, such as operator requests. */
export const noTenant = "";

/** The parts of the platform that reading bodies uses. */
export interface BodyReading {
  /** Performs the work for large bodies. */
  readonly evaluator: Pick<Evaluator, "decide">;
  readonly pace: Pick<TenantPace, "turn" | "readBody">;
}

/** Accepts only complete JSON bodies. An empty body counts as none, whatever its content type. */
export function readBodies(app: FastifyInstance, { evaluator, pace }: BodyReading): void {
  app.decorateRequest("bodyText", undefined);
  app.decorateRequest("largeBody", undefined);
  app.decorateRequest("isBodyCharged", false);
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
    const tenantId = request.caller?.tenantId;
    const read = () => {
      if (bytes.length > largeBodyBytes) {
        readLarge(request, bytes, evaluator, parseText).then(
          (value) => done(null, value),
          (error: Error) => done(error, undefined),
        );
        return;
      }
      let value: unknown;
      try {
        value =
          tenantId === undefined || !request.isBodyCharged
            ? readSmall(request, bytes, parseText)
            : pace.readBody(tenantId, () => readSmall(request, bytes, parseText));
      } catch (error) {
        return done(error as Error, undefined); // nothing else is thrown
      }
      done(null, value);
    };
    if (tenantId === undefined || bytes.length <= chargedBodyBytes) return read();
    request.isBodyCharged = true;
    const turn = pace.turn(tenantId);
    if (turn === undefined) read();
    else {
      void turn.then(() => {
        // The memory of the body is no longer counted after the client has disconnected.
        if (request.observed) read();
        else done(new AppError("request_timeout"), undefined);
      });
    }
  });
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => {
    if (body.length === 0) done(null, undefined);
    else done(new AppError("unsupported_media_type"), undefined);
  });
}

/** @throws AppError unsupported_media_type, invalid_json */
async function readLarge(
  request: FastifyRequest,
  bytes: Buffer,
  evaluator: Pick<Evaluator, "decide">,
  parseText: ParseText,
): Promise<unknown> {
  requireNoEncoding(request);
  const reading = readLargeJson(bytes, parseText);
  const { value, mayHaveNul } = await evaluator.decide(request.caller?.tenantId ?? noTenant, reading);
  request.largeBody = { bytes, mayHaveNul };
  return value;
}

/** @throws AppError unsupported_media_type, invalid_json */
function readSmall(request: FastifyRequest, bytes: Buffer, parseText: ParseText): unknown {
  const text = bodyText(request, bytes);
  if (text === "") return undefined;
  if (isNestedTooDeeply(text)) throw new AppError("invalid_json", { detail: nestedTooDeeply });
  request.bodyText = text;
  try {
    return mayBeRefused.test(text) ? parseText(text) : JSON.parse(text);
  } catch (error) {
    throw new AppError("invalid_json", { cause: error, detail: syntaxErrorText(text) });
  }
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
