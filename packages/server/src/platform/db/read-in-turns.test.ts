import { PassThrough, Readable } from "node:stream";
import { expect, test } from "vitest";
import { readInTurns } from "./read-in-turns.ts";

test("a turn of the event loop reads a part of a large answer, and the next turns read the rest", async () => {
  const stream = new PassThrough({ highWaterMark: 4_194_304 });
  const turns: number[] = [0];
  stream.on("data", () => (turns[turns.length - 1] = (turns.at(-1) ?? 0) + 1));
  readInTurns(stream);
  for (let count = 0; count < 32; count += 1) stream.write(Buffer.alloc(16_384));
  while (turns.reduce((sum, count) => sum + count, 0) < 32) {
    await new Promise((resolve) => setImmediate(resolve));
    turns.push(0);
  }
  // A turn can end one part and read the next.
  expect(Math.max(...turns)).toBeLessThanOrEqual(8);
});

test("small answers do not interrupt the reading", async () => {
  const stream = Readable.from([Buffer.alloc(100), Buffer.alloc(16_000), Buffer.alloc(100)]);
  let bytes = 0;
  stream.on("data", (chunk: Buffer) => (bytes += chunk.length));
  readInTurns(stream);
  await new Promise((resolve) => stream.once("end", resolve));
  expect(bytes).toBe(16_200);
});
