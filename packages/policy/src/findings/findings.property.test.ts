import fc from "fast-check";
import { expect, test } from "vitest";
import { budgeted, expectedTally } from "../../../../test/budget.ts";
import { decide } from "../decisions/decide.ts";
import type { AccessRequest, Subject } from "../decisions/request.ts";
import type { PolicyFacts, TenantFacts } from "../model/facts.ts";
import { compile } from "../model/model.ts";
import { turningPoints } from "../testing/random-rule.ts";
import { ids, randomTenant } from "../testing/random-tenant.ts";
import { idlePolicies } from "./idle-policies.ts";
import { PossibleSources } from "./possible-sources.ts";
import { unreachableResources } from "./unreachable-resources.ts";

/** Before all turning points of rules, so that no rule has ended. */
const now = Date.parse("2026-01-01T00:00:00Z");

function findingsOf(facts: TenantFacts) {
  const model = compile(facts);
  const sources = new PossibleSources(model);
  const policies = [...idlePolicies(model, sources, now)].filter((found) => typeof found === "object");
  const idle = new Set(policies.map(({ policy }) => policy.facts.id));
  const resources = [...unreachableResources(model, sources, idle)].filter((found) => typeof found === "object");
  return { model, policies, resources };
}

const moments = turningPoints.flatMap((text) => [Date.parse(text) - 1, Date.parse(text), Date.parse(text) + 3_600_000]);

/** Requests of every subject for every destination from several places. */
function* requestsTo(facts: TenantFacts, places: readonly Place[]): Iterable<AccessRequest> {
  const subjects: readonly Subject[] = [
    ...facts.users.map(({ id }): Subject => ({ kind: "user", userId: id })),
    ...facts.devices.map(({ id }): Subject => ({ kind: "device", deviceId: id })),
    ...facts.gateways.map(({ id }): Subject => ({ kind: "site", gatewayId: id })),
  ];
  for (const subject of subjects) {
    for (const place of places) {
      for (const { id } of facts.resources) {
        yield { subject, ...place, destination: { kind: "resource", resourceId: id } };
      }
      yield { subject, ...place, destination: { kind: "address", address: "www.example.net" } };
    }
  }
}

type Place = Pick<AccessRequest, "sourceIp" | "country" | "now">;
const place: fc.Arbitrary<Place> = fc.record({
  sourceIp: fc.constantFrom(undefined, "192.0.2.7", "198.51.100.9", "2001:db8::7", "203.0.113.1"),
  country: fc.constantFrom(undefined, "DE", "US"),
  now: fc.constantFrom(...moments),
});

/** The same tenant without rules, so that more findings and more access occur. */
const plainTenant = randomTenant.map((facts): TenantFacts => {
  const plain = (policy: PolicyFacts): PolicyFacts => ({ ...policy, sourceIps: [], rule: ids.rules[0] ?? "" });
  return { ...facts, policies: facts.policies.map(plain) };
});

test("a reported policy never decides, and nobody reaches a reported resource", () => {
  let [policies, resources] = [0, 0];
  fc.assert(
    fc.property(
      fc.oneof(randomTenant, plainTenant),
      fc.array(place, { minLength: 4, maxLength: 4 }),
      (facts, places) => {
        const found = findingsOf(facts);
        policies += found.policies.length;
        resources += found.resources.length;
        const reasons = new Map(found.policies.map(({ policy, reason }) => [policy.facts.id, reason]));
        const unreachable = new Set(found.resources.map(({ resource }) => resource.id));
        // A decision by id ignores the services of a resource, so resources without any are excluded.
        const isOffered = new Set(
          facts.resources
            .filter(({ addresses }) => addresses.some(({ protocols }) => protocols.length > 0))
            .map(({ id }) => id),
        );
        for (const request of requestsTo(facts, places)) {
          const { allowed, policy, resource, gateways } = decide(found.model, request);
          const reason = policy === undefined ? undefined : reasons.get(policy.id);
          expect(reason === undefined || (reason === "no_gateways" && gateways.length === 0), reason).toBe(true);
          const reached = allowed && gateways.length > 0 && resource !== undefined && isOffered.has(resource.id);
          expect(reached && unreachable.has(resource.id)).toBe(false);
        }
      },
    ),
    { numRuns: budgeted(300, 50) },
  );
  expect(policies).toBeGreaterThanOrEqual(expectedTally(300));
  expect(resources).toBeGreaterThanOrEqual(expectedTally(300));
});

test("without rules and denials, every unreachable resource is reported", () => {
  let unreached = 0;
  fc.assert(
    fc.property(plainTenant, (given) => {
      const facts = { ...given, policies: given.policies.map((policy) => ({ ...policy, action: true, gateways: [] })) };
      const { model, resources } = findingsOf(facts);
      const reached = new Set<string>();
      for (const request of requestsTo(facts, [{ now }])) {
        const { allowed, resource, gateways } = decide(model, request);
        if (allowed && resource !== undefined && gateways.length > 0) reached.add(resource.id);
      }
      const expected = facts.resources.filter(
        ({ id, type, addresses }) =>
          type !== "INTERNET" && (!reached.has(id) || !addresses.some(({ protocols }) => protocols.length > 0)),
      );
      unreached += expected.length;
      expect(resources.map(({ resource }) => resource.id)).toEqual(expected.map(({ id }) => id).sort());
    }),
    { numRuns: budgeted(300, 50) },
  );
  expect(unreached).toBeGreaterThanOrEqual(expectedTally(100));
});
