import { operations } from "@gatehouse/contract/operations/all";
import { describe, expect, test } from "vitest";
import { routes } from "../../routes.ts";
import { operationCases } from "./operation-cases.ts";
import { referenceFields } from "./reference-fields.ts";

describe("every operation of the contract", () => {
  test.each(operations)("$id has one route", (operation) => {
    expect(routes.filter((route) => route.operation === operation)).toHaveLength(1);
  });

  test.each(operations)("$id has one case in operation-cases.ts", (operation) => {
    expect(operationCases.filter((known) => known.operation === operation)).toHaveLength(1);
  });

  test.each(operationCases.map((known) => ({ id: known.operation.id, ...known })))(
    "$id has a case for each reference field",
    ({ operation, references = [] }) => {
      const tested = references.map(({ field }) => field);
      const missing = referenceFields(operation.body).filter((field) => !tested.includes(field));
      expect(missing).toEqual([]);
    },
  );

  test("has a unique id, and a unique method and path", () => {
    const ids = operations.map(({ id }) => id);
    const places = operations.map(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, "{}")}`);
    expect([...new Set(ids)]).toEqual(ids);
    expect([...new Set(places)]).toEqual(places);
  });

  test("declares each brace of its path", () => {
    for (const { path, parameters = {} } of operations) {
      const braces = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(Object.keys(parameters), path).toEqual(braces);
    }
  });
});

test("every route and every case belongs to an operation of the contract", () => {
  const known = new Set(operations);
  const strangers = [...routes, ...operationCases].filter(({ operation }) => !known.has(operation));
  expect(strangers.map(({ operation }) => operation.id)).toEqual([]);
});
