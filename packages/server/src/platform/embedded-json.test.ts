import { expect, test } from "vitest";
import { embedJson, jsonPieces } from "./embedded-json.ts";

const inner = '[{"a":"\\"x\\""},1]';

test("embedded JSON is a piece of its own", () => {
  const value = { one: embedJson(inner), two: ["é", embedJson("[]")] };
  expect(jsonPieces(value)).toEqual(['{"one":', inner, ',"two":["é",', "[]", "]}"]);
  expect(jsonPieces({ one: 1 })).toEqual(['{"one":1}']);
});

test("other serializers write embedded JSON too", () => {
  expect(JSON.stringify({ one: embedJson(inner) })).toBe(`{"one":${inner}}`);
});
