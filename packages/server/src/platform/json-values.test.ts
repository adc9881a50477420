import { expect, test } from "vitest";
import { hasMoreValues } from "./json-values.ts";

test.each<[string, number]>([
  ["7", 0],
  ['"a,[{"', 0],
  ['"a\\",[{"', 0],
  ['"a\\\\",[{', 3],
  ["[]", 1],
  ["[1,2,3]", 3],
  ['{"a":{},"b":[1]}', 4],
])("counts the values of %s outside of strings", (json, values) => {
  expect(hasMoreValues(json, values)).toBe(false);
  if (values > 0) expect(hasMoreValues(json, values - 1)).toBe(true);
});

test("counting terminates for text that is not JSON", () => {
  expect(hasMoreValues('"\\', 0)).toBe(false);
  expect(hasMoreValues("[".repeat(100), 99)).toBe(true);
});
