/** A client can tell that a response is incomplete. */
import { connect, constants, type Settings } from "node:http2";
import { exportEvents } from "@gatehouse/contract/operations/events.operations";
import { finish } from "@gatehouse/policy/work";
import fastify, { type FastifyInstance } from "fastify";
import { expect, onTestFinished, test } from "vitest";
import type { Outcome } from "../platform/outcome.ts";
import { replyWithOutcome } from "./replies.ts";

/** The code with which the server closes the stream of a response over HTTP/2. */
async function closeCodeOf(outcome: Outcome, settings: Settings = {}): Promise<number> {
  const app = fastify({ http2: true }) as unknown as FastifyInstance;
  // Otherwise the client counts as disconnected.
  app.decorateRequest("observed", true);
  app.get("/", (_request, reply) => replyWithOutcome(exportEvents, outcome, reply, async (work) => finish(work)));
  const session = connect(await app.listen({ port: 0, host: "127.0.0.1" }), { settings });
  onTestFinished(async () => {
    session.destroy();
    await app.close();
  });
  const stream = session.request({ ":path": "/" }).resume();
  stream.on("error", () => undefined);
  await new Promise((resolve) => stream.once("close", resolve));
  return stream.rstCode;
}

/** More than a response holds back. */
const large = "x".repeat(100_000);

async function* cut<Part>(parts: readonly Part[]): AsyncGenerator<Part> {
  yield* parts;
  throw new Error("the database has gone");
}

test("an export that fails midway ends with an error", async () => {
  const outcome = {
    kind: "stream",
    mediaType: "text/csv",
    stallMs: 10_000,
    chunks: () => cut(["id\n", "1\n"]),
  } as const;
  expect(await closeCodeOf(outcome)).toBe(constants.NGHTTP2_INTERNAL_ERROR);
});

test("an array that fails midway ends with an error", async () => {
  const outcome = { kind: "array", batches: cut([[large], [large], [large]]) } as const;
  expect(await closeCodeOf(outcome)).toBe(constants.NGHTTP2_INTERNAL_ERROR);
});

test("an export that is not read in time ends with an error", async () => {
  async function* chunks() {
    for (;;) yield "x".repeat(1_000_000);
  }
  const outcome = { kind: "stream", mediaType: "text/csv", stallMs: 20, chunks } as const;
  expect(await closeCodeOf(outcome, { initialWindowSize: 0 })).toBe(constants.NGHTTP2_INTERNAL_ERROR);
});

test("a whole response ends without an error", async () => {
  async function* chunks() {
    yield "id\n";
    yield "x".repeat(1_000_000);
  }
  const outcome = { kind: "stream", mediaType: "text/csv", stallMs: 10_000, chunks } as const;
  expect(await closeCodeOf(outcome)).toBe(constants.NGHTTP2_NO_ERROR);
});
