import fc from "fast-check";
import { expect, test } from "vitest";
import { ListOrder, nameSeparator } from "./list-order.ts";

const pause = () => Promise.resolve();
const idOf = (number: number) => Buffer.from(number.toString(16).padStart(32, "0"), "hex");

function orderOf(names: readonly string[]): Promise<ListOrder | undefined> {
  const ids = Buffer.concat(names.map((_, index) => idOf(index)));
  return ListOrder.of(1, ids, Buffer.from(names.join(nameSeparator)), pause);
}

function numbersIn(ids: Buffer): number[] {
  return Array.from({ length: ids.length / 16 }, (_, index) => ids.readUInt32BE(index * 16 + 12));
}

test("finds the names that contain a part, with their number", async () => {
  const name = fc.string({ unit: fc.constantFrom("a", "b", "ä", "東"), maxLength: 5 });
  const asked = fc.record({
    names: fc.array(name, { maxLength: 20 }),
    part: fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 3 }),
    /** Longer lists are searched in several chunks. */
    repeated: fc.constantFrom(1, 1, 1, 1, 500),
    offset: fc.nat(8),
    limit: fc.integer({ min: 1, max: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(asked, async ({ names: some, part, repeated, offset, limit }) => {
      const names = Array.from({ length: repeated }, () => some).flat();
      const order = await orderOf(names);
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
  const order = await orderOf(["a", "b", "c", "d", "e"]);
  const page = order?.page(offset, limit);
  expect(page && { total: page.total, numbers: numbersIn(page.ids) }).toEqual({ total: 5, numbers: expected });
});

test("is not searched if a name contains the separator", async () => {
  for (const place of [0, 4_094, 4_095, 4_096, 5_000]) {
    const names = Array.from({ length: 5_001 }, (_, index) => (index === place ? `b${nameSeparator}c` : "a"));
    expect(await orderOf(names)).toBeUndefined();
  }
});
