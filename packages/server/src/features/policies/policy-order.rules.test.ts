import { describe, expect, test } from "vitest";
import type { PlacedPolicy } from "./policy-order.queries.ts";
import { planOrder } from "./policy-order.rules.ts";

function policiesOf(...ids: string[]): PlacedPolicy[] {
  return ids.map((id, index) => ({ id, name: id.toUpperCase(), order: index + 1, is_default: id === "d" }));
}

describe("planOrder", () => {
  test("moves only policies whose position changes", () => {
    expect(planOrder(policiesOf("a", "b", "c"), ["b", "a", "c"])).toEqual({
      ok: true,
      moved: [
        { id: "b", name: "B", from: 2, order: 1 },
        { id: "a", name: "A", from: 1, order: 2 },
      ],
    });
    expect(planOrder(policiesOf("a", "b"), ["a", "b"])).toEqual({ ok: true, moved: [] });
    expect(planOrder([], [])).toEqual({ ok: true, moved: [] });
  });

  test("the default policy may be missing or last", () => {
    const moved = [
      { id: "b", name: "B", from: 2, order: 1 },
      { id: "a", name: "A", from: 1, order: 2 },
    ];
    expect(planOrder(policiesOf("a", "b", "d"), ["b", "a"])).toEqual({ ok: true, moved });
    expect(planOrder(policiesOf("a", "b", "d"), ["b", "a", "d"])).toEqual({ ok: true, moved });
    expect(planOrder(policiesOf("a", "b", "d"), ["b", "d", "a"])).toMatchObject({
      ok: false,
      errors: [{ pointer: "/policies/1", message: expect.stringContaining("always last") }],
    });
  });

  test("accepts ids in either letter case, and reports unknown, repeated and missing ones", () => {
    expect(planOrder(policiesOf("a", "b", "c"), ["A", "x", "a"])).toEqual({
      ok: false,
      detail: "Missing policies of this type: 2. Invalid entries: 2.",
      errors: [
        { pointer: "/policies/1", message: 'no policy of this type has the id "x"' },
        { pointer: "/policies/2", message: "A is already in the list" },
        { pointer: "/policies", message: "B is missing, id b" },
        { pointer: "/policies", message: "C is missing, id c" },
      ],
    });
  });

  test("reports 50 problems, of both kinds if both occur", () => {
    const ids = Array.from({ length: 100 }, (_, index) => `p${index}`);
    const strangers = ids.map((id) => `x${id}`);
    const plan = planOrder(policiesOf(...ids), strangers);
    const pointers = plan.ok ? [] : plan.errors.map(({ pointer }) => pointer);
    expect(pointers).toHaveLength(50);
    expect(pointers.filter((pointer) => pointer === "/policies")).toHaveLength(25);
  });
});
