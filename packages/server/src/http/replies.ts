/** Converts an outcome to an HTTP response. */
import { Readable } from "node:stream";
import type { Operation } from "@gatehouse/contract/operation";
import type { FastifyReply } from "fastify";
import { entityTag } from "../platform/call.ts";
import type { Outcome, StreamOutcome } from "../platform/outcome.ts";
import { contentTag } from "./response-headers.ts";

const json = "application/json; charset=utf-8";

export async function replyWithOutcome(
  operation: Operation,
  outcome: Outcome & { readonly replayed?: true },
  reply: FastifyReply,
): Promise<FastifyReply> {
  reply.status(operation.success.status);
  if ("version" in outcome && outcome.version !== undefined) reply.header("ETag", entityTag(outcome.version));
  if (outcome.event !== undefined) reply.header("Gatehouse-Event", outcome.event);
  if (outcome.replayed === true) reply.header("Idempotent-Replayed", "true");
  switch (outcome.kind) {
    case "empty":
      // The contract requires 200 without a body for one operation.
      return operation.success.status === 204 ? reply.send() : reply.header("Content-Length", "0").send("");
    case "record":
      if (outcome.location !== undefined) reply.header("Location", outcome.location);
      return sendJson(operation, reply, outcome.text ?? JSON.stringify(outcome.body));
    case "page":
      return sendJson(operation, reply, JSON.stringify(outcome.page));
    case "stream":
      return reply.send(await openStream(outcome, reply));
    case "array": {
      const array = await jsonArray(outcome.batches);
      if (typeof array === "string") return sendJson(operation, reply, array);
      return reply.header("Content-Type", json).send(array);
    }
  }
}

/** Sends a whole body. What is read without a version of its own gets a tag of its content. */
function sendJson({ method }: Operation, reply: FastifyReply, text: string): FastifyReply {
  if (method === "GET" && !reply.hasHeader("ETag")) reply.header("ETag", contentTag(text));
  return reply.header("Content-Type", json).send(text);
}

/** Produces the first chunk before anything is sent, so that an early error still gets an error response. */
async function openStream(
  { mediaType, fileName, stallMs, chunks }: StreamOutcome,
  reply: FastifyReply,
): Promise<Readable> {
  const closed = new AbortController();
  const close = () => closed.abort();
  reply.raw.once("close", close);
  const iterator = chunks(closed.signal)[Symbol.asyncIterator]();
  const first = await iterator.next();
  async function* text(): AsyncGenerator<string> {
    try {
      for (let next = first; next.done !== true; next = await iterator.next()) {
        // The reader requests more after it has consumed the previous chunk.
        const stalled = setTimeout(() => stream.destroy(), stallMs);
        try {
          yield next.value;
        } finally {
          clearTimeout(stalled);
        }
      }
    } finally {
      await iterator.return?.();
    }
  }
  const stream = Readable.from(text(), { objectMode: false });
  stream.once("close", close);
  // The client may have disconnected before the first chunk.
  if (reply.raw.destroyed) stream.destroy();
  reply.header("Content-Type", mediaType).header("Cache-Control", "no-store");
  if (fileName !== undefined) reply.header("Content-Disposition", `attachment; filename="${fileName}"`);
  // Buffering proxies would hold back a live response forever.
  else reply.header("X-Accel-Buffering", "no").header("Connection", "close");
  return stream;
}

/**
 * Streams a JSON array with backpressure. The first batch is read before anything is sent, so that an early error still
 * gets an error response. A later error closes the connection, and the array stays unterminated.
 */
async function jsonArray(batches: AsyncIterable<readonly unknown[]>): Promise<string | Readable> {
  const iterator = batches[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done === true) return "[]";
  const second = await iterator.next();
  if (second.done === true) return JSON.stringify(first.value);
  const early = [first.value, second.value];
  async function* text() {
    let separator = "[";
    for (;;) {
      const items = early.shift() ?? (await nextOf(iterator));
      if (items === undefined) break;
      yield separator + JSON.stringify(items).slice(1, -1);
      separator = ",";
    }
    yield "]";
  }
  return Readable.from(text(), { objectMode: false });
}

async function nextOf<T>(iterator: AsyncIterator<T>): Promise<T | undefined> {
  const next = await iterator.next();
  return next.done === true ? undefined : next.value;
}
