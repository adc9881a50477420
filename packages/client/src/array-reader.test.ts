import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ArrayReader } from "./array-reader.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("reading a streamed array", () => {
  test("returns the same items as JSON.parse for any split of the bytes", () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue()),
        fc.array(fc.nat(40)),
        fc.constantFrom("", " ", "\n\t\r "),
        (items, cuts, space) => {
          let rest = bytes(`${space}${JSON.stringify(items, undefined, space)}${space}`);
          const reader = new ArrayReader();
          const read: unknown[] = [];
          for (const cut of cuts) {
            read.push(...reader.read(rest.slice(0, cut)));
            rest = rest.slice(cut);
          }
          read.push(...reader.read(rest));
          expect(read).toEqual(JSON.parse(JSON.stringify(items)));
          expect(reader.isComplete).toBe(true);
        },
      ),
    );
  });

  test("returns an item as soon as it is complete", () => {
    const reader = new ArrayReader();
    expect(reader.read(bytes('[{"id":"1"},{"i'))).toEqual([{ id: "1" }]);
    expect(reader.read(bytes('d":"2"}'))).toEqual([{ id: "2" }]);
    expect(reader.isComplete).toBe(false);
    expect(reader.read(bytes("]"))).toEqual([]);
    expect(reader.isComplete).toBe(true);
  });

  test.each(["{}", '{"data":[]}', "null", '"text"', "<html>", "  7", "[1,,2]", "[1}", "[nul]"])(
    "rejects %j",
    (text) => {
      expect(() => new ArrayReader().read(bytes(text))).toThrow(SyntaxError);
    },
  );

  test.each(["", " ", "[", '["a'])("treats %j as incomplete", (text) => {
    const reader = new ArrayReader();
    reader.read(bytes(text));
    expect(reader.isComplete).toBe(false);
  });
});
