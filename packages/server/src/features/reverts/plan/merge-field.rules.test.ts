import fc from "fast-check";
import { expect, test } from "vitest";
import { restoreField } from "./merge-field.ts";
import type { ItemsField } from "./record-fields.ts";
import { itemsIn } from "./recorded-state.ts";

const field = (kind: ItemsField["kind"]): ItemsField => ({
  kind,
  name: "items",
  read: (state) => itemsIn(state, "items"),
});

function restored(kind: ItemsField["kind"], before: string[], after: string[], now: string[], missing: string[] = []) {
  const states = { before: { items: before }, after: { items: after }, now: { items: now } };
  return restoreField(field(kind), states, (id) => !missing.includes(id))?.restored;
}

test("retains later changes of other items", () => {
  expect(restored("set", ["a"], ["a", "b"], ["a", "b", "c"])).toEqual(["a", "c"]);
  expect(restored("set", ["a", "b"], ["a"], ["a", "c"])).toEqual(["a", "b", "c"]);
  expect(restored("set", ["a", "b"], ["a"], ["a", "b"])).toBeUndefined();
  expect(restored("set", ["a", "b"], ["b", "a"], ["c"])).toBeUndefined();
});

test("returns removed items to their former places in a list", () => {
  expect(restored("list", ["a", "b", "c"], ["a", "c"], ["a", "x", "c"])).toEqual(["a", "b", "x", "c"]);
  expect(restored("list", ["b", "a"], ["a"], ["a", "c"])).toEqual(["b", "a", "c"]);
});

test("restores a reordered list as a whole", () => {
  expect(restored("list", ["a", "b"], ["b", "a"], ["b", "c", "a"])).toEqual(["a", "b"]);
});

test("leaves out records that do not exist any more", () => {
  expect(restored("set", ["a", "b"], [], [], ["b"])).toEqual(["a"]);
  expect(restored("set", ["b"], [], [], ["b"])).toBeUndefined();
});

const subset = fc.shuffledSubarray(["a", "b", "c", "d", "e"]);

test("restores the previous items if nothing has changed since", () => {
  fc.assert(
    fc.property(fc.constantFrom("set", "list"), subset, subset, (kind, before, after) => {
      const result = restored(kind, before, after, after);
      const sort = (items: readonly string[]) => (kind === "set" ? [...items].sort() : items);
      expect(sort((result as string[] | undefined) ?? after)).toEqual(sort(before));
    }),
  );
});

test("changes only the items of the event, and each at most once", () => {
  fc.assert(
    fc.property(subset, subset, subset, (before, after, now) => {
      const result = (restored("set", before, after, now) as string[] | undefined) ?? now;
      for (const item of ["a", "b", "c", "d", "e"]) {
        const wanted = before.includes(item) === after.includes(item) ? now.includes(item) : before.includes(item);
        expect(result.filter((each) => each === item)).toHaveLength(wanted ? 1 : 0);
      }
    }),
  );
});
