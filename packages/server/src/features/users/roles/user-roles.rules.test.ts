import { expect, test } from "vitest";
import { addedAndRemoved, rolesShown } from "./user-roles.rules.ts";

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

test("roles that are both added and removed are reported by their index in the removed list", () => {
  expect(addedAndRemoved(["a", "b"], ["c", "b", "a"])).toEqual([1, 2]);
});
