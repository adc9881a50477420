import fc from "fast-check";
import { expect, test } from "vitest";
import { Moments } from "./moments.ts";

const step = fc.oneof(fc.record({ add: fc.nat(50) }), fc.record({ until: fc.nat(50) }));

test("whatever is added and taken in between, the earliest comes first, and nothing before it is due", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: "max" }), (steps) => {
      const moments = new Moments<number>();
      let naive: { at: number; item: number }[] = [];
      for (const [item, does] of steps.entries()) {
        if ("add" in does) {
          moments.add(does.add, item);
          naive.push({ at: does.add, item });
        } else {
          const taken: { at: number; item: number }[] = [];
          for (let due = moments.take(does.until); due !== undefined; due = moments.take(does.until)) taken.push(due);
          const times = taken.map(({ at }) => at);
          expect(times).toEqual([...times].sort((a, b) => a - b));
          expect(new Set(taken.map(({ item: one }) => one))).toEqual(
            new Set(naive.filter(({ at }) => at <= does.until).map(({ item: one }) => one)),
          );
          naive = naive.filter(({ at }) => at > does.until);
        }
        expect(moments.next).toBe(Math.min(Number.POSITIVE_INFINITY, ...naive.map(({ at }) => at)));
      }
    }),
  );
});
