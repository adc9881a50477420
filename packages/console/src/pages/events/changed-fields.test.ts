import { expect, test } from "vitest";
import { changedFields } from "./changed-fields.ts";

test("tells fields that changed, came, or went, and no others", () => {
  const before = { name: "Berlin", port: 1, tags: ["a"], gone: true };
  const after = { name: "Paris", port: 1, tags: ["a"], come: null };
  expect(changedFields(before, after)).toEqual([
    { field: "name", before: "Berlin", after: "Paris" },
    { field: "gone", before: "yes", after: undefined },
    { field: "come", before: undefined, after: "null" },
  ]);
  expect(changedFields(undefined, { id: "1" })).toEqual([{ field: "id", before: undefined, after: "1" }]);
});

test("tells what a policy does, and not yes or no", () => {
  expect(changedFields({ action: true, active: true }, { action: false, active: false })).toEqual([
    { field: "action", before: "allow", after: "deny" },
    { field: "active", before: "yes", after: "no" },
  ]);
});

test("tells of lists what went and what came, by name, and of another order both", () => {
  const [sales, support] = [
    { id: "1", name: "Sales" },
    { id: "2", name: "Support" },
  ];
  expect(changedFields({ groups: [sales] }, { groups: [sales, support] })).toEqual([
    { field: "groups", before: undefined, after: "added: Support" },
  ]);
  expect(changedFields({ groups: [support] }, { groups: [] })).toEqual([
    { field: "groups", before: "removed: Support", after: undefined },
  ]);
  expect(changedFields({ groups: [sales, support] }, { groups: [support, sales] })).toEqual([
    { field: "groups", before: "Sales, Support", after: "Support, Sales" },
  ]);
  expect(changedFields({ rule: sales }, { rule: support })).toEqual([
    { field: "rule", before: "Sales", after: "Support" },
  ]);
});
