import { expect, test } from "vitest";
import { changedFields } from "./changed-fields.ts";

test("tells fields that changed, came, or went, and no others", () => {
  const before = { name: "Berlin", port: 1, tags: ["a"], gone: true };
  const after = { name: "Paris", port: 1, tags: ["a"], come: null };
  expect(changedFields(before, after)).toEqual([
    { field: "name", before: "Berlin", after: "Paris" },
    { field: "gone", before: "true", after: undefined },
    { field: "come", before: undefined, after: "null" },
  ]);
  expect(changedFields(undefined, { id: "1" })).toEqual([{ field: "id", before: undefined, after: "1" }]);
});
