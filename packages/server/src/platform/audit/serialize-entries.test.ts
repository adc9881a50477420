import { describe, expect, test } from "vitest";
import { newId } from "../ids.ts";
import { serializeEntries } from "./audit.queries.ts";
import { entryHash } from "./chain.ts";
import { newEntry } from "./entry.ts";
import type { RecordLine } from "./record-lines.ts";
import { csvRows, lineParts } from "./write-export.ts";

const origin = { actor: { type: "system", name: "Test" }, operation: "test", requestId: "r", at: new Date() } as const;
/** About 1 ms. */
const longestStretch = 50_000;

function entries(count: number, characters: number) {
  return Array.from({ length: count }, (_, index) =>
    newEntry(newId(), origin, {
      type: "group",
      id: newId(),
      name: `Group ${index}`,
      after: { description: "x".repeat(characters) },
    }),
  );
}

function serialized(count: number, characters: number) {
  const work = serializeEntries(entries(count, characters));
  const costs: number[] = [];
  for (;;) {
    const step = work.next();
    if (step.done === true) return { costs, result: step.value };
    costs.push(step.value);
  }
}

describe("the entries of a large command", () => {
  test.each([
    [12_000, 300],
    [100, 20_000],
  ])("%d of %d characters are serialized in short stretches", (count, characters) => {
    const { costs } = serialized(count, characters);
    expect(Math.max(...costs)).toBeLessThan(longestStretch);
    expect(costs.length).toBeGreaterThanOrEqual(count);
  });

  test("are stored by several statements of limited size", () => {
    const { chunks } = serialized(3_000, 300).result;
    expect(chunks.length).toBeGreaterThan(3);
    for (const { json, count } of chunks) {
      expect(JSON.parse(json)).toHaveLength(count);
      expect(json.length).toBeLessThan(300_000);
    }
    expect(chunks.reduce((sum, { count }) => sum + count, 0)).toBe(3_000);
  });
});

test("a small command has one chunk, with the hash of each entry and a part of the outbox entry", () => {
  const few = entries(2, 10);
  const work = serializeEntries(few);
  let step = work.next();
  while (step.done !== true) step = work.next();
  const { chunks, hashes, changes } = step.value;
  expect(chunks).toHaveLength(1);
  expect(hashes).toEqual(Buffer.concat(few.map((entry) => entryHash(entry))));
  expect(JSON.parse(changes)).toEqual(few.map(({ target: { type, id } }) => ({ type, id, change: "created" })));
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
