import { RecentValues } from "@gatehouse/policy/model/recent-values";
import { Table } from "@gatehouse/policy/model/table";
import { finish } from "@gatehouse/policy/work";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PackedPages, PackedRecords, type RowFormat } from "./packed-records.ts";
import { PageLists } from "./page-lists.ts";

interface Item {
  readonly id: string;
  readonly text: string;
}

const format: RowFormat<Item> = {
  encode: ({ id, text }) => JSON.stringify([[id, text]]),
  decode(row) {
    const [[id, text]] = JSON.parse(row) as [[string, string]];
    return { id, text };
  },
  linked: (bytes, start, end) => [bytes.toString("utf8", start, end)],
};

/** Some ids have the same hash, because only their ends are hashed. */
const idOf = (number: number) =>
  `0000000${number % 3}-0000-7000-8000-${String(Math.floor(number / 3)).padStart(12, "0")}`;

/** The row of an item, which refers to no list. */
const rowOf = (item: Item) => format.encode(item, new PageLists());

function packed(items: readonly Item[], rowsOfPage = 3): PackedRecords<Item> {
  const pages = new PackedPages();
  for (let start = 0; start < items.length; start += rowsOfPage) {
    const rows = items.slice(start, start + rowsOfPage);
    finish(pages.adding(Buffer.from(rows.map(rowOf).join("\n")), rows.length));
  }
  return finish(PackedRecords.indexing(pages, format));
}

const itemArbitrary = fc.record({ id: fc.nat(40).map(idOf), text: fc.string({ unit: "grapheme" }) });
const itemsArbitrary = fc.uniqueArray(itemArbitrary, { selector: ({ id }) => id, maxLength: 30 });
const changesArbitrary = fc
  .array(fc.tuple(fc.nat(60).map(idOf), fc.option(fc.string({ unit: "grapheme" }), { nil: undefined })))
  .map((changes) => new Map(changes.map(([id, text]) => [id, text === undefined ? undefined : { id, text }])));

describe("packed records", () => {
  test("have the contents and the order of a map, before and after changes", () => {
    fc.assert(
      fc.property(itemsArbitrary, fc.array(changesArbitrary, { maxLength: 4 }), (items, batches) => {
        let records = packed(items);
        const map = new Map(items.map((item) => [item.id, item]));
        const compare = () => {
          expect([...records]).toEqual([...map]);
          expect(records.size).toBe(map.size);
          for (let number = 0; number < 70; number += 1) {
            expect(records.get(idOf(number))).toEqual(map.get(idOf(number)));
          }
          const texts = [...records.references()].map((reference) => [
            records.idAt(reference),
            records.textAt(reference),
          ]);
          expect(texts).toEqual([...map].map(([id, { text }]) => [id, text]));
        };
        compare();
        for (const changes of batches) {
          records = finish(records.changing(changes));
          for (const [id, item] of changes) {
            if (item === undefined) map.delete(id);
            else map.set(id, item);
          }
          compare();
        }
      }),
    );
  });

  test("serve a table, which merges its changes into them", () => {
    const items = Array.from({ length: 500 }, (_, index) => ({ id: idOf(index), text: `Text ${index}` }));
    const changes = new Map(items.slice(0, 300).map((item) => [item.id, { ...item, text: "New" }]));
    const before = Table.ofRecords(packed(items, 100));
    const after = finish(before.changing(changes));
    expect([...after.values()]).toEqual(items.map((item) => changes.get(item.id) ?? item));
    expect([...before.values()]).toEqual(items);
    expect(finish(after.merging())).toBeInstanceOf(PackedRecords);
    expect(after.get(idOf(7))).toEqual({ id: idOf(7), text: "New" });
  });

  test("return the same object as long as it is in use", () => {
    const records = packed([{ id: idOf(1), text: "one" }]);
    expect(records.get(idOf(1))).toBe(records.get(idOf(1)));
    expect(records.get("no id")).toBeUndefined();
  });

  test("share pages without changes", () => {
    const records = packed(Array.from({ length: 9 }, (_, index) => ({ id: idOf(index), text: "" })));
    records.get(idOf(3));
    const changed = finish(records.changing(new Map([[idOf(4), { id: idOf(4), text: "new" }]])));
    // Objects that are in use stay so.
    expect(changed.get(idOf(3))).toBe(records.get(idOf(3)));
    expect(changed.pages.map((page, index) => page === records.pages[index])).toEqual([true, false, true]);
  });

  test("are indexed and changed in short steps", () => {
    const items = Array.from({ length: 5_000 }, (_, index) => ({ id: idOf(index), text: "" }));
    const pages = new PackedPages();
    const costs = [
      ...pages.adding(Buffer.from(items.map(rowOf).join("\n")), items.length),
      ...PackedRecords.indexing(pages, format),
      ...packed(items, 5_000).changing(new Map(items.slice(0, 2_000).map((item) => [item.id, item]))),
    ];
    expect(costs.length).toBeGreaterThan(200);
    expect(Math.max(...costs)).toBeLessThanOrEqual(25_000);
  });

  test.each([1, 3])("refuse a page of two rows that is announced with %d", (rows) => {
    const page = Buffer.from(`${rowOf({ id: idOf(1), text: "" })}\n${rowOf({ id: idOf(2), text: "" })}`);
    expect(() => finish(new PackedPages().adding(page, rows))).toThrow("rows");
  });
});

test("recent values are retained up to the capacity, and at most twice as many", () => {
  const values = new RecentValues<number>(10);
  for (let number = 0; number < 10; number += 1) values.set(String(number), number);
  expect(values.get("0")).toBe(0);
  for (let number = 10; number < 15; number += 1) values.set(String(number), number);
  expect(values.get("0")).toBe(0);
  for (let number = 15; number < 35; number += 1) values.set(String(number), number);
  expect(values.get("1")).toBeUndefined();
  expect(values.get("34")).toBe(34);
});

test("recent values count by their weights", () => {
  const values = new RecentValues<number>(10, (weight) => weight);
  values.set("large", 10);
  values.set("small", 1);
  expect(values.get("large")).toBe(10);
  for (let number = 0; number < 4; number += 1) values.set(`large ${number}`, 10);
  expect(values.get("small")).toBeUndefined();
  expect(values.get("large 3")).toBe(10);
});
