import { expect, test } from "vitest";
import { compile } from "../model/model.ts";
import { expectationOf, inNames, readGoldenCases } from "../testing/golden-case.ts";
import { decideAtGateways } from "./decide-at-gateways.ts";

test.each(readGoldenCases().map((golden) => [golden.title, golden] as const))("%s", (_, golden) => {
  const { facts, request, observed, expected, why } = golden;
  const { validUntil, ...decision } = decideAtGateways(compile(facts), request, observed);
  expect(inNames(golden, decision), why).toEqual(expectationOf(golden));
  if (expected.changesAt === undefined) expect(validUntil, why).toBeUndefined();
  if (validUntil !== undefined) expect(validUntil, why).toBeGreaterThan(request.now);
  if (expected.changesAt === undefined || expected.changesAt === "never") return;
  expect(validUntil, why).toBeDefined();
  expect(validUntil, why).toBeLessThanOrEqual(Date.parse(expected.changesAt));
});
