import { finish } from "@gatehouse/policy/work";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { embedJson } from "./embedded-json.ts";
import { hasLargeBody, jsonBytes, jsonParts, withSerializedBody } from "./json-slices.ts";
import type { RecordOutcome } from "./outcome.ts";

test("the parts of a value are its JSON", () => {
  const leaf = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.integer(),
    fc.constantFrom(null, undefined, "x".repeat(100_000)),
    fc.constant(Array.from({ length: 1_500 }, (_, index) => index)),
  );
  const { value: anyValue } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.array(tie("value"), { maxLength: 5 }),
      fc.dictionary(fc.string({ maxLength: 3 }), tie("value"), { maxKeys: 5 }),
    ),
  }));
  fc.assert(
    fc.property(anyValue, (value) => {
      expect(finish(jsonParts(value)).join("")).toBe(JSON.stringify(value) ?? "null");
      expect(finish(jsonBytes(value)).toString()).toBe(JSON.stringify(value) ?? "null");
    }),
    { numRuns: 100 },
  );
});

test("large embedded JSON is copied, and never parsed", () => {
  const text = `[${Array.from({ length: 20_000 }, (_, index) => `{"id":"${index}"}`).join(",")}]`;
  const parse = vi.spyOn(JSON, "parse");
  const outcome: RecordOutcome = { kind: "record", body: { name: "Staff", users: embedJson(text) } };
  expect(hasLargeBody(outcome)).toBe(true);
  const { bytes } = finish(withSerializedBody(outcome));
  expect(parse).not.toHaveBeenCalled();
  parse.mockRestore();
  expect(bytes?.toString()).toBe(`{"name":"Staff","users":${text}}`);
});

test("only a large body that was not serialized before is serialized", () => {
  const large = Array.from({ length: 2_000 }, (_, index) => ({ index }));
  const small = { kind: "record", body: { index: 1 } } as const;
  expect(hasLargeBody(small)).toBe(false);
  expect(hasLargeBody({ kind: "record", body: large, text: "[]" })).toBe(false);
  const outcome: RecordOutcome = { kind: "record", body: large, version: 3 };
  expect(hasLargeBody(outcome)).toBe(true);
  const { bytes, ...rest } = finish(withSerializedBody(outcome));
  expect(rest).toEqual(outcome);
  expect(bytes?.toString()).toBe(JSON.stringify(large));
});

test("no step costs more than a small value", () => {
  const work = jsonParts({ list: Array.from({ length: 50_000 }, (_, index) => ({ index, name: "name" })) });
  let [steps, most] = [0, 0];
  for (let step = work.next(); step.done !== true; step = work.next()) {
    steps += 1;
    most = Math.max(most, step.value);
  }
  expect(steps).toBeGreaterThan(100);
  expect(most).toBeLessThan(20_000);
});
