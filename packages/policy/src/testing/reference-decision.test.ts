import { expect, test } from "vitest";
import { expectationOf, type GoldenCase, inNames, readGoldenCases } from "./golden-case.ts";
import { decideAtGatewaysByContract } from "./reference-decision-at-gateways.ts";

const cases = readGoldenCases();

test.each(cases.map((golden) => [golden.title, golden] as const))("%s", (_, golden) => {
  const { facts, request, observed, expected } = golden;
  const decision = decideAtGatewaysByContract(facts, request, observed);
  expect(inNames(golden, decision), golden.why).toEqual(expectationOf(golden));
  expect(decision.readsNow, "changesAt belongs to decisions that look at the clock").toBe(
    expected.changesAt !== undefined,
  );
  if (expected.changesAt === undefined || expected.changesAt === "never") return;
  const changesAt = Date.parse(expected.changesAt);
  const step = (changesAt - 1 - request.now) / 40;
  for (let steps = 1; steps <= 40; steps += 1) {
    expect(decideThen(golden, Math.floor(request.now + steps * step))).toEqual(expectationOf(golden));
  }
  expect(decideThen(golden, changesAt)).not.toEqual(expectationOf(golden));
});

function decideThen(golden: GoldenCase, now: number) {
  return inNames(golden, decideAtGatewaysByContract(golden.facts, { ...golden.request, now }, golden.observed));
}

test("there are at least 150 cases with unique titles", () => {
  const titles = cases.map(({ title }) => title.replace(/\d+-/, ""));
  expect(new Set(titles).size).toBe(titles.length);
  expect(titles.length).toBeGreaterThanOrEqual(150);
});
