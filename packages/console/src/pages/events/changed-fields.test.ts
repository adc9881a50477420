import { expect, test } from "vitest";
import { formatTime } from "../../messages/format.ts";
import { changedFields } from "./changed-fields.ts";

test("lists fields that were changed, added or removed, and no others", () => {
  const before = { name: "Berlin", port: 1, tags: ["a"], gone: true };
  const after = { name: "Paris", port: 1, tags: ["a"], come: 2, empty: null };
  expect(changedFields(before, after)).toEqual([
    { field: "name", before: ["Berlin"], after: ["Paris"] },
    { field: "gone", before: ["yes"], after: undefined },
    { field: "come", before: undefined, after: ["2"] },
  ]);
  expect(changedFields(undefined, { id: "1" })).toEqual([{ field: "id", before: undefined, after: ["1"] }]);
});

test("shows statuses in the words of the pages", () => {
  expect(changedFields({ status: "PENDING" }, { status: "ONLINE" })).toEqual([
    { field: "status", before: ["Pending"], after: ["Online"] },
  ]);
});

test("shows the action of a policy as allow or deny", () => {
  expect(changedFields({ action: true, active: true }, { action: false, active: false })).toEqual([
    { field: "action", before: ["allow"], after: ["deny"] },
    { field: "active", before: ["yes"], after: ["no"] },
  ]);
});

test("shows times and durations as people read them", () => {
  const at = "2026-11-23T09:00:00.000Z";
  const shown = formatTime(at);
  expect(shown).not.toContain(at.slice(0, 10));
  expect(changedFields({ expiresAt: null, context: {} }, { expiresAt: at, context: { time: at } })).toEqual([
    { field: "expiresAt", before: undefined, after: [shown] },
    { field: "context", before: [""], after: [`time = ${shown}`] },
  ]);
  expect(changedFields({ sessionLifetime: 43_200 }, { sessionLifetime: 86_400 })).toEqual([
    { field: "sessionLifetime", before: ["12 hours"], after: ["1 day"] },
  ]);
});

test("shows removed and added items of a list by name, and both lists if only their order differs", () => {
  const [sales, support] = [
    { id: "1", name: "Sales" },
    { id: "2", name: "Support" },
  ];
  expect(changedFields({ groups: [sales] }, { groups: [sales, support] })).toEqual([
    { field: "groups", before: [], after: ["Support"], unchanged: ["Sales"] },
  ]);
  expect(changedFields({ groups: [support] }, { groups: [] })).toEqual([
    { field: "groups", before: ["Support"], after: [], unchanged: [] },
  ]);
  expect(changedFields({ groups: [sales, support] }, { groups: [support, sales] })).toEqual([
    { field: "groups", before: ["Sales", "Support"], after: ["Support", "Sales"] },
  ]);
  expect(changedFields({ rule: sales }, { rule: support })).toEqual([
    { field: "rule", before: ["Sales"], after: ["Support"] },
  ]);
});
