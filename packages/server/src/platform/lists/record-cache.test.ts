import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { PreparedAnswer } from "../prepared-answer.ts";
import { RecordCache } from "./record-cache.ts";
import { RecordSerializer } from "./serialized-record.ts";

const state = { generation: 1, observations: 1 };
const capacity = 4 * 1_048_576;

interface Row {
  readonly id: string;
  readonly text: string;
  readonly gateway?: string;
}

function serialized(rows: readonly Row[], isObserved = true) {
  const serializer = new RecordSerializer();
  return rows.map(({ id, text, gateway }) =>
    serializer.serialize({ id, version: text.length }, (share) => ({
      text,
      gateways: gateway === undefined ? [] : [share(gateway, isObserved, () => ({ name: gateway }))],
      end: "ü",
    })),
  );
}

const bytesOf = (ids: readonly string[]) => Buffer.from(ids.join("").replaceAll("-", ""), "hex");

function found(cache: RecordCache, ids: readonly string[], at = state, name = "table"): (string | undefined)[] {
  return cache
    .find(name, at, bytesOf(ids))
    .map((record) => record && JSON.parse(PreparedAnswer.joined(record.pieces).content().toString()).text);
}

describe("the cache of records", () => {
  test("returns records with their shared parts", () => {
    const cache = new RecordCache(capacity);
    const rows = ["a", "b"].map((text) => ({ id: randomUUID(), text, gateway: "Berlin" }));
    cache.add("table", state, cache.epoch, serialized(rows));
    const ids = [...rows.map(({ id }) => id), randomUUID()];
    expect(found(cache, ids)).toEqual(["a", "b", undefined]);
    const [record] = cache.find("table", state, bytesOf(ids));
    expect(record?.version).toBe(1);
    expect(
      JSON.parse(
        PreparedAnswer.joined(record?.pieces ?? [])
          .content()
          .toString(),
      ),
    ).toEqual({
      text: "a",
      gateways: [{ name: "Berlin" }],
      end: "ü",
    });
    expect(found(cache, ids, state, "another table")).toEqual([undefined, undefined, undefined]);
  });

  test("uses records at their generation only", () => {
    const cache = new RecordCache(capacity);
    const id = randomUUID();
    cache.add("table", state, cache.epoch, serialized([{ id, text: "old" }]));
    const later = { ...state, generation: 2 };
    expect(found(cache, [id], later)).toEqual([undefined]);
    cache.add("table", later, cache.epoch, serialized([{ id, text: "new" }]));
    cache.add("table", state, cache.epoch, serialized([{ id, text: "old" }]));
    expect(found(cache, [id], later)).toEqual(["new"]);
    expect(found(cache, [id])).toEqual([undefined]);
  });

  test.each([
    [true, [undefined, "b"]],
    [false, ["a", "b"]],
  ])("checks observations for parts of which that is %s", (isObserved, expected) => {
    const cache = new RecordCache(capacity);
    const rows = [
      { id: randomUUID(), text: "a", gateway: "Berlin" },
      { id: randomUUID(), text: "b" },
    ];
    cache.add("table", state, cache.epoch, serialized(rows, isObserved));
    const ids = rows.map(({ id }) => id);
    const heard = { ...state, observations: 2 };
    expect(found(cache, ids, heard)).toEqual(expected);
    cache.add("table", heard, cache.epoch, serialized(rows.slice(0, 1), isObserved));
    expect(found(cache, ids, heard)).toEqual(["a", "b"]);
  });

  test("stays within its capacity, and returns no wrong record", () => {
    const cache = new RecordCache(capacity);
    const rows = Array.from({ length: 30_000 }, (_, number) => ({
      id: randomUUID(),
      text: `${number} ${"x".repeat(400)}`,
      gateway: `${number % 7}`,
    }));
    for (let from = 0; from < rows.length; from += 50) {
      cache.add("table", state, cache.epoch, serialized(rows.slice(from, from + 50)));
    }
    expect(cache.state.bytes).toBeLessThanOrEqual(capacity);
    expect(cache.state.records).toBeGreaterThan(5_000);
    const ids = rows.map(({ id }) => id);
    let hits = 0;
    for (const [index, text] of found(cache, ids).entries()) {
      if (text === undefined) continue;
      expect(text).toBe(rows[index]?.text);
      hits += 1;
    }
    expect(hits).toBe(cache.state.records);
  });

  test("ignores what was read before it was cleared", () => {
    const cache = new RecordCache(capacity);
    const { epoch } = cache;
    const id = randomUUID();
    cache.clear();
    cache.add("table", state, epoch, serialized([{ id, text: "old" }]));
    expect(found(cache, [id])).toEqual([undefined]);
  });
});
