import fc from "fast-check";
import { expect, test } from "vitest";
import { finish } from "../work.ts";
import type { PolicyFacts } from "./facts.ts";
import { PolicyList } from "./policy-list.ts";

function policy(id: string, isDefault = false): PolicyFacts {
  return {
    ...{ id, name: id, type: "INTERNET", isDefault, active: true, action: true, mode: "LOCAL", rule: "allow" },
    ...{ allGroups: false, allUsers: true, allDevices: false, allResources: true },
    ...{ groups: [], users: [], devices: [], resources: [], gateways: [], sourceIps: [] },
  };
}

const ids = ["a", "b", "c", "d", "e", "f", "g"];
const place = fc.nat(ids.length - 1);

test("policies move to the requested order, one at a time or all at once", () => {
  const moves = fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.record({ from: place, to: place }) },
      { weight: 1, arbitrary: fc.shuffledSubarray(ids, { minLength: ids.length }) },
    ),
    { maxLength: 20 },
  );
  fc.assert(
    fc.property(moves, fc.boolean(), (steps, hasDefault) => {
      const last = hasDefault ? ["default"] : [];
      let order = [...ids];
      let list = PolicyList.of("INTERNET", [...ids.map((id) => policy(id)), ...last.map((id) => policy(id, true))]);
      for (const step of steps) {
        if (Array.isArray(step)) order = step;
        else {
          const [moved = ""] = order.splice(step.from, 1);
          order.splice(step.to, 0, moved);
        }
        list = finish(list.ordering([...order, ...last]));
        expect(list.policies.map(({ facts }) => facts.id)).toEqual([...order, ...last]);
        expect(list.anywhere.policies.map(({ facts }) => facts.id)).toEqual(order);
        const ranks = list.policies.map(({ rank }) => rank);
        expect(ranks).toEqual([...new Set(ranks)].sort((a, b) => a - b));
      }
    }),
  );
});

test("a default policy stays last, whatever the requested order", () => {
  const list = PolicyList.of("INTERNET", [policy("a"), policy("b"), policy("default", true)]);
  for (const order of ["default a b", "a default b", "b default a"]) {
    expect(finish(list.ordering(order.split(" "))).policies.at(-1)?.facts.id).toBe("default");
  }
});
