import { finish } from "@gatehouse/policy/work";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RecordedChange } from "../change.ts";
import { newId } from "../ids.ts";
import { EntrySerializer } from "./audit.queries.ts";
import { entryHash, hashingEntry } from "./chain.ts";
import { newEntry } from "./entry.ts";
import type { RecordLine } from "./record-lines.ts";
import { csvRows, lineParts } from "./write-export.ts";

const origin = { actor: { type: "system", name: "Test" }, operation: "test", requestId: "r", at: new Date() } as const;
/** About 1 ms. */
const longestStretch = 50_000;

function recorded(count: number, characters: number): readonly RecordedChange[] {
  return Array.from({ length: count }, (_, index) => ({
    id: newId(),
    origin,
    change: { type: "group", id: newId(), name: `Group ${index}`, after: { description: "x".repeat(characters) } },
  }));
}

function serialized(changes: readonly RecordedChange[]) {
  const serializer = new EntrySerializer(changes);
  const costs: number[] = [];
  const chunks: { readonly json: string; readonly count: number }[] = [];
  while (!serializer.isOver) {
    const work = serializer.next();
    let step = work.next();
    for (; step.done !== true; step = work.next()) costs.push(step.value);
    chunks.push(step.value);
  }
  return { costs, chunks, stored: serializer.stored(chunks.at(-1) ?? { json: "[]", count: 0 }) };
}

describe("the entries of a large command", () => {
  test.each([
    [12_000, 300],
    [100, 20_000],
  ])("%d of %d characters are serialized in short stretches", (count, characters) => {
    const { costs } = serialized(recorded(count, characters));
    expect(Math.max(...costs)).toBeLessThan(longestStretch);
    expect(costs.length).toBeGreaterThanOrEqual(count);
  });

  test("are stored by several statements of limited size", () => {
    const { chunks, stored } = serialized(recorded(3_000, 300));
    expect(chunks.length).toBeGreaterThan(3);
    for (const { json, count } of chunks) {
      expect(JSON.parse(json)).toHaveLength(count);
      expect(json.length).toBeLessThan(300_000);
    }
    expect(chunks.reduce((sum, { count }) => sum + count, 0)).toBe(3_000);
    expect(stored).toMatchObject({ last: chunks.at(-1), total: 3_000 });
    expect(stored.hashes).toHaveLength(3_000 * 32);
  });
});

test("a small command has one chunk, with the hash of each entry and a part of the outbox entry", () => {
  const few = recorded(2, 10);
  const {
    chunks,
    stored: { hashes, changes },
  } = serialized(few);
  expect(chunks).toHaveLength(1);
  expect(hashes).toEqual(Buffer.concat(few.map(({ id, change }) => entryHash(newEntry(id, origin, change)))));
  expect(JSON.parse(changes)).toEqual(few.map(({ change: { type, id } }) => ({ type, id, change: "created" })));
});

test("one large entry is serialized and hashed in short stretches, with the same result", () => {
  const networkProtocols = Array.from({ length: 100 }, (_, index) => ({ protocol: "TCP", port: `${1 + index}` }));
  const protocols = Array.from({ length: 100 }, (_, index) => ({ id: newId(), name: `P${index}`, networkProtocols }));
  const before = { name: "Large", addresses: [{ address: "192.0.2.9", protocols }], description: undefined };
  const change = {
    type: "resource",
    id: newId(),
    name: "Large",
    before,
    after: { ...before, name: "Renamed" },
  } as const;
  const { costs, chunks, stored } = serialized([{ id: newId(), origin, change }]);
  expect(Math.max(...costs)).toBeLessThan(longestStretch);
  expect(costs.reduce((sum, cost) => sum + cost, 0)).toBeGreaterThan(10 * longestStretch);
  const [row] = JSON.parse(chunks[0]?.json ?? "");
  expect(row).toMatchObject({ before: JSON.parse(JSON.stringify(before)), after: { name: "Renamed" } });
  expect(stored.hashes).toEqual(entryHash(newEntry(row.id, origin, change)));
});

test("the hash of an entry does not depend on slices", () => {
  const long = fc.array(fc.jsonValue(), { minLength: 3, maxLength: 8 });
  const states = fc.record({ list: long, ö: long, a: fc.jsonValue(), none: fc.constant(undefined) });
  fc.assert(
    fc.property(states, fc.constantFrom(1, 30, 300), (state, times) => {
      const after = { ...state, many: Array.from({ length: times }, (_, index) => ({ ...state, index })) };
      const entry = newEntry(newId(), origin, { type: "group", id: newId(), after });
      expect(finish(hashingEntry(entry))).toEqual(entryHash(entry));
    }),
    { numRuns: 20 },
  );
});

test("an export serializes its entries in short stretches, with the text of one stretch", () => {
  const event = {
    id: newId(),
    position: 1,
    createdAt: new Date(0).toISOString(),
    generation: 1,
    actor: { type: "system", name: "Test" },
    operation: "test",
    target: { type: "group", id: newId() },
    requestId: "r",
    after: { items: Array.from({ length: 20_000 }, (_, index) => ({ name: `Item "${index}"`, left: undefined })) },
  } as const;
  const line: RecordLine = { type: "event", event };
  const [lineCosts, rowCosts]: [number[], number[]] = [[], []];
  const serializing = lineParts(line);
  let step = serializing.next();
  for (; step.done !== true; step = serializing.next()) lineCosts.push(step.value);
  expect(step.value.join("")).toBe(`${JSON.stringify(line)}\n`);
  expect(Math.max(...lineCosts)).toBeLessThan(longestStretch);
  const rows = csvRows(Array.from({ length: 100 }, () => ({ ...event, after: { text: "x".repeat(20_000) } })));
  for (let row = rows.next(); row.done !== true; row = rows.next()) rowCosts.push(row.value);
  expect(rowCosts).toHaveLength(100);
  expect(Math.max(...rowCosts)).toBeLessThan(longestStretch);
});
