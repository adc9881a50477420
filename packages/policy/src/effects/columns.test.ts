import { expect, test } from "vitest";
import { NumberLists } from "./columns.ts";

test("lists of numbers keep their items, also empty lists and many items", () => {
  const lists = [[], [3], [], Array.from({ length: 1_000 }, (_, index) => index), [7, 7]];
  const stored = NumberLists.of(lists);
  const read = lists.map((_list, index) => {
    const items: number[] = [];
    for (let at = stored.start(index); at < stored.end(index); at += 1) items.push(stored.get(at));
    return items;
  });
  expect(read).toEqual(lists);
  expect(() => stored.end(lists.length)).toThrow(RangeError);
  expect(() => stored.get(stored.end(lists.length - 1))).toThrow(RangeError);
});
