import { expect, test } from "vitest";
import { countMet, isUnreported, namesIn, readFactValue, valuesIn } from "./fact-counts.ts";

const devices = {
  facts: [{ diskEncrypted: true, osVersion: 14 }, { diskEncrypted: true, osVersion: 13 }, { diskEncrypted: false }, {}],
  groups: [],
};

test("values are counted, the most frequent first", () => {
  expect(namesIn(devices)).toEqual(["diskEncrypted", "osVersion"]);
  expect(valuesIn(devices, "diskEncrypted")).toEqual([
    ["true", 2],
    ["false", 1],
  ]);
});

test.each([
  ["diskEncrypted", "==", true, 2],
  // A missing fact meets no comparison.
  ["diskEncrypted", "!=", true, 1],
  ["osVersion", ">=", 14, 1],
  ["osVersion", "<=", 14, 2],
  // Values of another type are never ordered.
  ["osVersion", ">=", "14", 0],
] as const)("%s %s %j is met by %i devices", (name, comparison, value, count) => {
  expect(countMet({ kind: "posture", name, comparison, value }, devices)).toBe(count);
});

test.each([
  ["posture", "diskEncrypted", "yes", true],
  ["posture", "diskEncrypted", "No", false],
  // The usual posture needs no device that reports it.
  ["posture", "osUpToDate", "yes", true],
  ["posture", "osVersion", "14", 14],
  ["posture", "managedBy", "yes", "yes"],
  ["user", "diskEncrypted", "true", true],
] as const)("a condition on the %s %s reads %s as %j", (kind, name, text, value) => {
  expect(readFactValue(kind, name, text, devices.facts)).toBe(value);
});

test("a fact that no record has is found, but not a field that each user has", () => {
  expect(isUnreported("posture", "diskEncypted", devices)).toBe(true);
  expect(isUnreported("posture", "osVersion", devices)).toBe(false);
  expect(isUnreported("user", "email", devices)).toBe(false);
});

test("users are counted by group", () => {
  const users = { facts: [{}, {}, {}], groups: [["Sales"], ["Sales", "All"], []] };
  expect(countMet({ kind: "group", not: false, group: "Sales" }, users)).toBe(2);
  expect(countMet({ kind: "group", not: true, group: "Sales" }, users)).toBe(1);
  expect(countMet({ kind: "hours", zone: "UTC", from: 1, to: 2 }, users)).toBeUndefined();
});
