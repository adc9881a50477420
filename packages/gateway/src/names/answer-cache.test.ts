import { expect, test } from "vitest";
import { AnswerCache } from "./answer-cache.ts";

test("returns an answer until it expires", () => {
  const cache = new AnswerCache<string>();
  cache.set("a", "answer", 10, 1);
  expect([cache.get("a", 9), cache.get("a", 10), cache.get("b", 9)]).toEqual(["answer", undefined, undefined]);
});

test("evicts the oldest answers beyond its size", () => {
  const cache = new AnswerCache<string>({ mostAnswers: 2, mostBytes: 100 });
  for (const key of ["a", "b", "a", "c"]) cache.set(key, key, 10, 1);
  expect(["a", "b", "c"].map((key) => cache.get(key, 0))).toEqual(["a", undefined, "c"]);
  cache.set("d", "d", 10, 99);
  expect(["a", "c", "d"].map((key) => cache.get(key, 0))).toEqual([undefined, "c", "d"]);
});

test("does not retain an answer that is larger than the cache, and forgets sizes", () => {
  const cache = new AnswerCache<string>({ mostAnswers: 10, mostBytes: 100 });
  cache.set("a", "a", 10, 101);
  expect(cache.get("a", 0)).toBeUndefined();
  cache.set("b", "b", 10, 100);
  cache.clear();
  cache.set("c", "c", 10, 60);
  cache.set("c", "c", 10, 60);
  cache.set("d", "d", 10, 40);
  expect([cache.get("c", 0), cache.get("d", 0)]).toEqual(["c", "d"]);
});
