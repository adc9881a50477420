import { expect, test } from "vitest";
import { namedTwice, rolesShown } from "./user-roles.rules.ts";

const held = [
  { name: "direct", direct: true, groups: null },
  { name: "inherited", direct: false, groups: ["Sales"] },
  { name: "both", direct: true, groups: ["Sales"] },
];

test.each([
  [false, false, ["direct", "inherited", "both"]],
  [true, false, ["inherited", "both"]],
  [false, true, ["direct", "both"]],
  [true, true, ["both"]],
])("groupsOnly %s and rolesOnly %s show %j", (groupsOnly, rolesOnly, expected) => {
  expect(rolesShown(held, { groupsOnly, rolesOnly }).map(({ name }) => name)).toEqual(expected);
});

test("what is named twice is told by its place among the removed", () => {
  expect(namedTwice(["a", "b"], ["c", "b", "a"])).toEqual([1, 2]);
});
