import fc from "fast-check";
import { expect, test } from "vitest";
import { budgeted, expectedTally } from "../../../../test/budget.ts";
import { compile } from "../model/model.ts";
import { randomRequest } from "../testing/random-request.ts";
import { ids, randomTenant } from "../testing/random-tenant.ts";
import { decideAtGatewaysByContract } from "../testing/reference-decision-at-gateways.ts";
import { decide } from "./decide.ts";
import { decideAtGateways } from "./decide-at-gateways.ts";

const observed = fc
  .array(
    fc.tuple(
      fc.constantFrom(...ids.gateways),
      fc.constantFrom("192.0.2.7", "198.51.100.127", "2001:db8::7", "nonsense"),
    ),
    { maxLength: 3 },
  )
  .map((entries) => new Map(entries));

test("gateways that observed other addresses decide as in the reference", () => {
  const tally = { allowed: 0, different: 0 };
  fc.assert(
    fc.property(
      randomTenant,
      fc.array(randomRequest, { minLength: 8, maxLength: 8 }),
      observed,
      (facts, requests, at) => {
        const model = compile(facts);
        for (const request of requests) {
          const { validUntil: _, ...actual } = decideAtGateways(model, request, at);
          const { readsNow: __, gatewaysInAnyOrder, ...expected } = decideAtGatewaysByContract(facts, request, at);
          if (gatewaysInAnyOrder) {
            expect([...actual.gateways].sort()).toEqual([...expected.gateways].sort());
            expect(actual.allowed).toBe(expected.allowed);
          } else expect(actual).toEqual(expected);
          if (actual.allowed) tally.allowed += 1;
          const { validUntil: ___, ...elsewhere } = decide(model, request);
          if (JSON.stringify(elsewhere) !== JSON.stringify(actual)) tally.different += 1;
        }
      },
    ),
    { numRuns: budgeted(1_500, 150), unbiased: true },
  );
  expect(tally.allowed).toBeGreaterThanOrEqual(expectedTally(500));
  expect(tally.different).toBeGreaterThanOrEqual(expectedTally(20));
});
