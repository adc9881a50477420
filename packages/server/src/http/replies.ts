/** Converts an outcome to an HTTP response. */
import type { ServerResponse } from "node:http";
import { constants, type Http2ServerResponse } from "node:http2";
import { finished, Readable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import type { Operation } from "@gatehouse/contract/operation";
import type { Work } from "@gatehouse/policy/work";
import type { FastifyReply } from "fastify";
import { jsonPieces } from "../platform/embedded-json.ts";
import { entityTag } from "../platform/entity-tag.ts";
import type { Outcome, StreamOutcome } from "../platform/outcome.ts";
import { PreparedAnswer } from "../platform/prepared-answer.ts";
import { onceClosed } from "./client-disconnect.ts";
import { chooseEncoding, compress, leastCompressedBytes } from "./compression.ts";
import { readableOf } from "./readable-of.ts";
import { contentTag, hasTag, tagOfHash } from "./response-headers.ts";
import { allowStall, defaultStallMs } from "./stalled-responses.ts";
import { endTurn } from "./stream-turns.ts";
import { leastCountedBytes } from "./unsent-bytes.ts";
import { holdUnsent } from "./unsent-of-callers.ts";

const json = "application/json; charset=utf-8";

/** Finishes work of the caller's tenant in slices. */
type InSlices = <Result>(work: Work<Result>) => Promise<Result>;

export async function replyWithOutcome(
  operation: Operation,
  outcome: Outcome & { readonly replayed?: true },
  reply: FastifyReply,
  inSlices: InSlices,
): Promise<FastifyReply> {
  reply.status(operation.success.status);
  if (outcome.kind === "prepared") return replyWithPrepared(operation, outcome.answer, reply, inSlices);
  if ("version" in outcome && outcome.version !== undefined) reply.header("ETag", entityTag(outcome.version));
  if (outcome.event !== undefined) reply.header("Gatehouse-Event", outcome.event);
  if (outcome.replayed === true) reply.header("Idempotent-Replayed", "true");
  switch (outcome.kind) {
    case "empty":
      // The contract requires 200 without a body for one operation.
      return operation.success.status === 204 ? reply.send() : reply.header("Content-Length", "0").send("");
    case "record":
      if (outcome.location !== undefined) reply.header("Location", outcome.location);
      return sendJson(operation, reply, outcome.bytes ?? outcome.text ?? JSON.stringify(outcome.body));
    case "page":
      return sendList(operation, reply, JSON.stringify(outcome.page));
    case "stream":
      return sendStream(reply, await openStream(outcome, reply));
    case "array": {
      const array = await jsonArray(outcome.batches);
      if (array instanceof Readable) return sendStream(reply.header("Content-Type", json), array);
      if (operation.method !== "GET") return sendJson(operation, reply, JSON.stringify(array));
      const answer = await inSlices(PreparedAnswer.inSlices(() => ({ body: array })));
      return replyWithPrepared(operation, answer, reply, inSlices);
    }
  }
}

/**
 * Sends a list, or 304 if the caller has it already. The list was read with the caller's permissions, so the tag
 * reveals nothing else.
 */
async function sendList(operation: Operation, reply: FastifyReply, text: string): Promise<FastifyReply> {
  if (operation.method !== "GET") return sendJson(operation, reply, text);
  const tag = contentTag(text);
  reply.header("ETag", tag);
  if (hasTag(reply.request.headers["if-none-match"], tag)) return reply.status(304).send();
  return sendEncoded(operation, reply, Buffer.from(text));
}

/** Sends an answer that was serialized before. Only lists are answered with 304 (docs/decisions/0007). */
export function replyWithPrepared(
  operation: Operation,
  answer: PreparedAnswer,
  reply: FastifyReply,
  inSlices: InSlices,
): FastifyReply | Promise<FastifyReply> {
  if (!answer.isLarge || answer.tag !== undefined || answer.version !== undefined) {
    return replyWithTagged(operation, answer, reply);
  }
  return inSlices(answer.hash()).then((digest) => {
    answer.tag = tagOfHash(digest);
    return replyWithTagged(operation, answer, reply);
  });
}

/** Sends an answer. If it is large, its tag is known. */
function replyWithTagged(
  operation: Operation,
  answer: PreparedAnswer,
  reply: FastifyReply,
): FastifyReply | Promise<FastifyReply> {
  reply.status(operation.success.status);
  if (answer.version !== undefined) {
    return sendBytes(reply.header("etag", entityTag(answer.version)).header("content-type", json), answer.content());
  }
  answer.tag ??= contentTag(answer.content());
  reply.header("etag", answer.tag);
  const isKnown = hasTag(reply.request.headers["if-none-match"], answer.tag);
  if (operation.success.kind !== "record" && isKnown) return reply.status(304).send();
  if (!answer.hasSecrets) return sendEncoded(operation, reply, answer.content(), answer);
  return sendBytes(reply.header("content-type", json), answer.content());
}

/**
 * Sends JSON, compressed if the client accepts that. Compression reveals parts of a secret beside text that others
 * choose, so answers that may contain secrets are sent as they are. So are records: their ETag is strong, and would
 * have to differ for each encoding.
 *
 * @param answer retains the compressed content
 */
async function sendEncoded(
  operation: Operation,
  reply: FastifyReply,
  bytes: Buffer,
  answer?: PreparedAnswer,
): Promise<FastifyReply> {
  reply.header("Content-Type", json);
  const encoding = chooseEncoding(reply.request.headers["accept-encoding"]);
  const mayContainSecret = operation.method !== "GET" || reply.getHeader("Cache-Control") === "no-store";
  if (encoding === undefined || mayContainSecret || bytes.length < leastCompressedBytes) return sendBytes(reply, bytes);
  const encoded = answer?.encoded(encoding) ?? (await compress(encoding, bytes));
  answer?.retainEncoded(encoding, encoded);
  return sendBytes(reply.header("Content-Encoding", encoding), encoded);
}

/** Maximum bytes written per turn of the event loop: TLS encrypts each write in one step. */
const writtenBytes = 65_536;

/** Sends bytes. Many of them are written in slices, as fast as the client reads. */
export function sendBytes(reply: FastifyReply, bytes: Buffer): FastifyReply {
  const { unsent } = reply.server;
  holdUnsent(reply, bytes);
  if (bytes.length <= 4 * writtenBytes) {
    unsent.wrote(reply.raw, bytes.length);
    return reply.send(bytes);
  }
  async function* slices(): AsyncGenerator<Buffer> {
    for (let start = 0; start < bytes.length; start += writtenBytes) {
      if (start > 0) await turn();
      const slice = bytes.subarray(start, start + writtenBytes);
      unsent.wrote(reply.raw, slice.length);
      yield slice;
    }
  }
  // The bytes are in memory, so the limit of all responses is enough.
  return sendStream(reply.header("content-length", bytes.length), Readable.from(slices(), { objectMode: false }));
}

function sendStream(reply: FastifyReply, stream: Readable): FastifyReply {
  finished(stream, { writable: false }, (error) => {
    if (error) resetStream(reply.raw);
  });
  return reply.send(stream);
}

/**
 * Over HTTP/2, ends a response whose content was cut with an error. Otherwise its client could take a part for the
 * whole, because Fastify closes the stream without a code.
 */
function resetStream(response: ServerResponse | Http2ServerResponse): void {
  // Before the first content, Fastify sends the error as the response.
  if (response.headersSent && "stream" in response) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
}

/** Sends a whole body. A body without a version gets a tag of its content. */
function sendJson({ method }: Operation, reply: FastifyReply, text: string | Buffer): FastifyReply {
  if (method === "GET" && !reply.hasHeader("ETag")) reply.header("ETag", contentTag(text));
  reply.header("Content-Type", json);
  // A short text is sent as it is.
  return text.length <= leastCountedBytes
    ? reply.send(text)
    : sendBytes(reply, typeof text === "string" ? Buffer.from(text) : text);
}

/** Produces the first chunk before anything is sent, so that an early error still gets an error response. */
async function openStream(
  { mediaType, fileName, stallMs, chunks }: StreamOutcome,
  reply: FastifyReply,
): Promise<Readable> {
  const closed = new AbortController();
  onceClosed(reply, () => closed.abort());
  const iterator = chunks(closed.signal)[Symbol.asyncIterator]();
  const first = await iterator.next();
  async function* text(): AsyncGenerator<string> {
    try {
      for (let next = first; next.done !== true; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  }
  const stream = readableOf(text(), stallMs);
  stream.once("close", () => closed.abort());
  // The stream may have no reader yet that would destroy it.
  closed.signal.addEventListener("abort", () => stream.destroy(), { once: true });
  // The client may have disconnected before the first chunk.
  if (closed.signal.aborted) stream.destroy();
  allowStall(reply.raw, stallMs);
  reply.header("Content-Type", mediaType).header("Cache-Control", "no-store");
  if (fileName !== undefined) reply.header("Content-Disposition", `attachment; filename="${fileName}"`);
  // Buffering proxies would hold back a live response forever.
  else {
    endTurn(reply.raw);
    reply.header("X-Accel-Buffering", "no");
    // HTTP/2 has no such header; its connections carry other requests.
    if (reply.request.raw.httpVersionMajor === 1) reply.header("Connection", "close");
  }
  return stream;
}

/**
 * Streams a JSON array with backpressure, or returns the items of a single batch. The first batch is read before
 * anything is sent, so that an early error still gets an error response. A later error closes the connection, and the
 * array stays unterminated.
 */
async function jsonArray(batches: AsyncIterable<readonly unknown[]>): Promise<readonly unknown[] | Readable> {
  const iterator = batches[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done === true) return [];
  const second = await iterator.next();
  if (second.done === true) return first.value;
  const early = [first.value, second.value];
  async function* text() {
    let text = "";
    let separator = "[";
    for (;;) {
      const items = early.shift() ?? (await nextOf(iterator));
      if (items === undefined) break;
      for (const item of items) {
        const pieces = jsonPieces(item);
        text += separator + (pieces.length === 1 ? pieces[0] : pieces.join(""));
        separator = ",";
        if (text.length < writtenBytes) continue;
        yield text;
        text = "";
        await turn();
      }
    }
    yield `${text}]`;
  }
  return readableOf(text(), defaultStallMs);
}

async function nextOf<T>(iterator: AsyncIterator<T>): Promise<T | undefined> {
  const next = await iterator.next();
  return next.done === true ? undefined : next.value;
}
