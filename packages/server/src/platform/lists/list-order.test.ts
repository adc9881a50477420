import fc from "fast-check";
import { expect, test } from "vitest";
import { ListOrder, nameSeparator } from "./list-order.ts";

const pause = () => Promise.resolve();
const idOf = (number: number) => Buffer.from(number.toString(16).padStart(32, "0"), "hex");

function orderOf(names: readonly string[], perChunk: number): Promise<ListOrder | undefined> {
  const chunks = [];
  for (let from = 0; from < names.length; from += perChunk) {
    const part = names.slice(from, from + perChunk);
    const ids = Buffer.concat(part.map((_, index) => idOf(from + index)));
    chunks.push({ ids, names: part.join(nameSeparator) });
  }
  return ListOrder.of(1, chunks, pause);
}

function numbersIn(ids: Buffer): number[] {
  return Array.from({ length: ids.length / 16 }, (_, index) => ids.readUInt32BE(index * 16 + 12));
}

test("finds the names that contain a part, with their number", async () => {
  const name = fc.string({ unit: fc.constantFrom("a", "b", "ä", "東"), maxLength: 5 });
  const asked = fc.record({
    names: fc.array(name, { maxLength: 20 }),
    part: fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 3 }),
    perChunk: fc.integer({ min: 1, max: 7 }),
    offset: fc.nat(8),
    limit: fc.integer({ min: 1, max: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(asked, async ({ names, part, perChunk, offset, limit }) => {
      const order = await orderOf(names, perChunk);
      const matching = names.flatMap((text, number) => (text.includes(part) ? [number] : []));
      const found = order?.search(part, offset, limit);
      expect(found && { total: found.total, numbers: numbersIn(found.ids) }).toEqual({
        total: matching.length,
        numbers: matching.slice(offset, offset + limit),
      });
    }),
    { numRuns: 500 },
  );
});

test.each([
  [0, 2, [0, 1]],
  [4, 5, [4]],
  [5, 5, []],
  [9_000, 5, []],
])("returns the page at offset %i with a limit of %i", async (offset, limit, expected) => {
  const order = await orderOf(["a", "b", "c", "d", "e"], 2);
  const page = order?.page(offset, limit);
  expect(page && { total: page.total, numbers: numbersIn(page.ids) }).toEqual({ total: 5, numbers: expected });
});

test("is not searched if a name contains the separator", async () => {
  expect(await orderOf(["a", `b${nameSeparator}c`], 2)).toBeUndefined();
});
