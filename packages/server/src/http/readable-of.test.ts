import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { readableOf } from "./readable-of.ts";

async function* chunks(count: number, ended: () => void = () => undefined) {
  try {
    for (let index = 0; index < count; index += 1) yield Buffer.alloc(65_536, "x");
  } finally {
    ended();
  }
}

test("a stream that is read ends with all of its chunks", async () => {
  expect(await text(readableOf(chunks(5), 10_000))).toHaveLength(5 * 65_536);
});

test("a stream whose reader stalls is destroyed, and its source ends", async () => {
  let ended = false;
  const stream = readableOf(
    chunks(1_000, () => {
      ended = true;
    }),
    20,
  );
  stream.read();
  await once(stream, "close");
  expect([stream.readableEnded, ended]).toEqual([false, true]);
});
