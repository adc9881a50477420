import fc from "fast-check";
import { expect, test } from "vitest";
import { mergeValues } from "./merge-values.ts";

const values = fc.record({ name: fc.constantFrom("a", "b", "c"), size: fc.constantFrom(1, 2, 3) });

test("keeps every change of either side, and reports fields that both changed", () => {
  fc.assert(
    fc.property(values, values, values, (base, mine, stored) => {
      const { merged, contested, theirs } = mergeValues(base, mine, stored);
      for (const name of ["name", "size"] as const) {
        const [isMine, isTheirs] = [mine[name] !== base[name], stored[name] !== base[name]];
        expect(merged[name]).toBe(isMine ? mine[name] : stored[name]);
        expect(contested.includes(name)).toBe(isMine && isTheirs && mine[name] !== stored[name]);
        expect(theirs.includes(name)).toBe(!isMine && isTheirs);
      }
    }),
  );
});
