import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ArrayReader } from "./array-reader.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("reading an array as it comes", () => {
  test("gives what JSON.parse gives, wherever its bytes are cut", () => {
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
          expect(reader.isWhole).toBe(true);
        },
      ),
    );
  });

  test("gives an item once it is complete, before the next one begins", () => {
    const reader = new ArrayReader();
    expect(reader.read(bytes('[{"id":"1"},{"i'))).toEqual([{ id: "1" }]);
    expect(reader.read(bytes('d":"2"}'))).toEqual([{ id: "2" }]);
    expect(reader.isWhole).toBe(false);
    expect(reader.read(bytes("]"))).toEqual([]);
    expect(reader.isWhole).toBe(true);
  });

  test.each(["{}", '{"data":[]}', "null", '"text"', "<html>", "  7", "[1,,2]", "[1}", "[nul]"])(
    "refuses %j",
    (text) => {
      expect(() => new ArrayReader().read(bytes(text))).toThrow(SyntaxError);
    },
  );

  test.each(["", " ", "[", '["a'])("knows that %j is not the whole of it", (text) => {
    const reader = new ArrayReader();
    reader.read(bytes(text));
    expect(reader.isWhole).toBe(false);
  });
});
