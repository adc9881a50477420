import { expect, test } from "vitest";
import { fieldChanges } from "./field-changes.ts";

test("says nothing of settings that are the same", () => {
  const settings = { name: "A", gateways: ["x", "y"], attributes: { a: 1 }, mode: null };
  expect(fieldChanges(settings, structuredClone(settings), [])).toBeUndefined();
});

test("tells values and ordered lists from and to, sets by what they gain and lose, facts by those that differ", () => {
  const before = { port: 1, gateways: ["x", "y"], groups: ["a", "b"], attributes: { kept: 1, old: true, title: "A" } };
  const after = { port: 2, gateways: ["y", "x"], groups: ["b", "c"], attributes: { kept: 1, new: 0, title: "B" } };
  expect(fieldChanges<object>(before, after, ["groups"])).toEqual([
    { field: "port", before: 1, after: 2 },
    { field: "gateways", before: ["x", "y"], after: ["y", "x"] },
    { field: "groups", added: ["c"], removed: ["a"] },
    { field: "attributes", before: { old: true, title: "A" }, after: { new: 0, title: "B" } },
  ]);
});

test("takes the items of a set for what they hold", () => {
  const addresses = (...protocols: string[]) => ({ addresses: [{ address: "git.example.com", protocols }] });
  expect(fieldChanges(addresses("SSH"), addresses("SSH"), ["addresses"])).toBeUndefined();
  expect(fieldChanges(addresses("SSH"), addresses("SSH", "HTTPS"), ["addresses"])).toEqual([
    {
      field: "addresses",
      added: [{ address: "git.example.com", protocols: ["SSH", "HTTPS"] }],
      removed: [{ address: "git.example.com", protocols: ["SSH"] }],
    },
  ]);
});
