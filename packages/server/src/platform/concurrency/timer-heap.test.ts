import fc from "fast-check";
import { expect, test } from "vitest";
import { TimerHeap } from "./timer-heap.ts";

const step = fc.oneof(fc.record({ add: fc.nat(50) }), fc.record({ until: fc.nat(50) }));

test("takes items in the order in which they are due, and none before its time", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: "max" }), (steps) => {
      const heap = new TimerHeap<number>();
      let naive: { at: number; item: number }[] = [];
      for (const [item, does] of steps.entries()) {
        if ("add" in does) {
          heap.add(does.add, item);
          naive.push({ at: does.add, item });
        } else {
          const taken: { at: number; item: number }[] = [];
          for (let due = heap.take(does.until); due !== undefined; due = heap.take(does.until)) taken.push(due);
          const times = taken.map(({ at }) => at);
          expect(times).toEqual([...times].sort((a, b) => a - b));
          expect(new Set(taken.map(({ item: one }) => one))).toEqual(
            new Set(naive.filter(({ at }) => at <= does.until).map(({ item: one }) => one)),
          );
          naive = naive.filter(({ at }) => at > does.until);
        }
        expect(heap.next).toBe(Math.min(Number.POSITIVE_INFINITY, ...naive.map(({ at }) => at)));
      }
    }),
  );
});
