import { finish } from "@gatehouse/policy/work";
import fc from "fast-check";
import { expect, test } from "vitest";
import { AppError } from "../platform/app-error.ts";
import { readLargeJson } from "./large-json.ts";

const parse = (text: string): unknown => JSON.parse(text);
const read = (text: string | Buffer) => finish(readLargeJson(Buffer.from(text), parse));

/** Text that is not parsed at once. */
const filler = JSON.stringify("x".repeat(40_000));

function outcomeOf(text: string): unknown {
  try {
    return { value: read(text).value };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "invalid_json") throw error;
    return "invalid";
  }
}

function expectedOf(text: string): unknown {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return "invalid";
  }
}

test("large values equal the results of the native parser", () => {
  const leaf = fc.oneof(
    fc.integer(),
    fc.string({ unit: "grapheme" }),
    fc.constant(null),
    fc.constant("x".repeat(40_000)),
  );
  const { value: anyValue } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      leaf,
      fc.array(tie("value"), { maxLength: 6 }),
      fc.dictionary(
        fc.string({ maxLength: 3 }).filter((key) => key !== "__proto__"),
        tie("value"),
        { maxKeys: 6 },
      ),
    ),
  }));
  fc.assert(
    fc.property(anyValue, fc.constantFrom(undefined, 1), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      expect(read(text).value).toEqual(JSON.parse(text));
    }),
    { numRuns: 60 },
  );
});

test("a text with one changed byte is valid if it is valid for the native parser", () => {
  const text = JSON.stringify({
    a: [{ b: [1, "[,]", { c: [] }], d: "x".repeat(33_000) }, {}, []],
    e: { f: [[]] },
    g: 1,
  });
  const places = [...text].flatMap((character, index) => (character === "x" ? [] : [index]));
  fc.assert(
    fc.property(fc.constantFrom(...places), fc.constantFrom(...'[]{},:"1 '), (place, character) => {
      const changed = text.slice(0, place) + character + text.slice(place + 1);
      expect(outcomeOf(changed)).toEqual(expectedOf(changed));
    }),
    { numRuns: 150 },
  );
});

test.each([
  ["a trailing comma", `[${filler},]`, "line 1, column 40005"],
  ["a missing member", `[${filler},,1]`, 'unexpected ","'],
  ["a trailing comma in an object", `{"a":${filler},\n}`, "line 2, column 1"],
  ["another bracket", `[${filler}}`, "line 1, column 40004"],
  ["more text", `[[${filler}]] 1`, "line 1, column 40008"],
  ["no end", `[[${filler}]`, "it ends prematurely"],
  ["a broken string", `[${filler},"a`, "it ends prematurely"],
  ["a missing colon", `[{"a" [${filler}]}]`, "line 1, column 7"],
  ["text before a large value", `[1 [${filler}]]`, "line 1, column 4"],
])("%s is reported with its position", (_what, text, detail) => {
  expect(() => read(text)).toThrow(detail);
  expect(expectedOf(text)).toBe("invalid");
});

test.each([
  ["a forbidden key of a large value", `{"__proto__":[${filler}]}`, "__proto__"],
  ["a prototype in a large value", `{"constructor":{"a":${filler},"prototype":1}}`, "prototype"],
  ["half of a surrogate pair", `["\\ud800",${filler}]`, "surrogate"],
  ["deep nesting", "[".repeat(101) + filler + "]".repeat(101), "100 levels"],
  ["a string of more than 1 MiB", JSON.stringify(["x".repeat(1_100_000)]), "longer than 1 MiB"],
])("%s is refused", (_what, text, detail) => {
  expect(() => read(text)).toThrow(detail);
});

test("text that is not UTF-8 is refused", () => {
  const bytes = Buffer.from(`["é",${filler}]`);
  bytes[3] = 0x20;
  expect(() => read(bytes)).toThrow("UTF-8");
});

test("no step costs more than a chunk", () => {
  const text = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => ({ index, text: "y".repeat(100) })));
  const work = readLargeJson(Buffer.from(text), parse);
  let [steps, most, sum] = [0, 0, 0];
  for (let step = work.next(); step.done !== true; step = work.next()) {
    steps += 1;
    sum += step.value;
    most = Math.max(most, step.value);
  }
  expect(steps).toBeGreaterThan(text.length / 40_000);
  expect(most).toBeLessThanOrEqual(20_000);
  expect(sum).toBeGreaterThan(text.length / 3);
});
