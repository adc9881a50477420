import { checkExpectation } from "@gatehouse/policy/effects/check-expectation";
import type { FactChange, PolicyFacts, TenantFacts, UserFacts } from "@gatehouse/policy/model/facts";
import { compile, type Model, update } from "@gatehouse/policy/model/model";
import { finish } from "@gatehouse/policy/work";
import fc from "fast-check";
import { expect, test } from "vitest";
import { budgeted } from "../../../../../test/budget.ts";
import type { StoredQuestion } from "./access-tests.queries.ts";
import { brokenTests } from "./broken-tests.ts";
import { expectationOf } from "./evaluate-tests.ts";

const userIds = ["u1", "u2", "u3", "u4"];
const groupIds = ["g1", "g2"];
const deviceIds = ["d1", "d2"];
const resourceIds = ["r1", "r2", "r3"];
const policyIds = ["p1", "p2", "p3", "p4"];
const texts = ["true", 'resource.name == "r1"', 'user.status == "active"', 'device.os == "ios"', "false"];

const someOf = (ids: readonly string[]) => fc.subarray([...ids]);

const userOf = (id: string): fc.Arbitrary<UserFacts> =>
  fc.record({ status: fc.constantFrom("active", "inactive"), groups: someOf(groupIds) }).map((fields) => ({
    id,
    email: `${id}@example.com`,
    firstName: "",
    lastName: "",
    attributes: {},
    ...fields,
  }));

const ruleOf = (id: string) =>
  fc.constantFrom(...texts).map((text) => ({ id, name: id, type: "CUSTOM" as const, text }));

const policyOf = (id: string, isDefault = false): fc.Arbitrary<PolicyFacts> =>
  fc
    .record({
      active: fc.boolean(),
      action: fc.boolean(),
      allUsers: fc.boolean(),
      allGroups: fc.boolean(),
      allResources: fc.boolean(),
      groups: someOf(groupIds),
      users: someOf(userIds),
      devices: someOf(deviceIds),
      resources: someOf(resourceIds),
      sourceIps: someOf(["192.0.2.0/24"]),
      rule: fc.constantFrom("allow", "custom", "other"),
    })
    .map((fields) => ({
      id,
      name: id,
      type: "PRIVATE",
      isDefault,
      mode: null,
      allDevices: false,
      gateways: [],
      ...fields,
    }));

const eachOf = <Facts>(ids: readonly string[], factsOf: (id: string) => fc.Arbitrary<Facts>) =>
  fc.tuple(...ids.map((id) => factsOf(id)));

const tenant: fc.Arbitrary<TenantFacts> = fc.record({
  users: eachOf(userIds, userOf),
  groups: fc.constant(groupIds.map((id) => ({ id, name: id }))),
  devices: eachOf(deviceIds, (id) =>
    fc.record({ userId: fc.constantFrom(...userIds), os: fc.constantFrom("ios", "linux") }).map((fields) => ({
      ...{ id, name: id, active: true, osVersion: "", appVersion: "", hardwareId: "", tags: [], agent: true },
      posture: {},
      ...fields,
    })),
  ),
  gateways: fc.constant([]),
  resources: fc.constant(
    resourceIds.map((id) => ({
      ...{ id, name: id, type: "PRIVATE" as const, loadBalancingMode: "PRIORITY" as const, gateways: [] },
      addresses: [{ address: `${id}.example.com`, protocols: [{ protocol: "ANY" as const, from: null, to: null }] }],
    })),
  ) as unknown as fc.Arbitrary<TenantFacts["resources"]>,
  rules: fc
    .tuple(ruleOf("custom"), ruleOf("other"))
    .map((rules) => [{ id: "allow", name: "allow", type: "ALLOW" as const, text: null }, ...rules]),
  policies: fc
    .tuple(
      someOf(policyIds).chain((ids) => eachOf(ids, policyOf)),
      fc.option(policyOf("default", true)),
    )
    .map(([policies, last]) => (last === null ? policies : [...policies, last])),
});

const changes: fc.Arbitrary<readonly FactChange[]> = fc.array(
  fc.oneof(
    {
      arbitrary: fc
        .constantFrom(...policyIds)
        .chain((id) => policyOf(id))
        .map((facts): FactChange => ({ kind: "policy", facts })),
      weight: 4,
    },
    fc.constantFrom(...policyIds).map((gone): FactChange => ({ kind: "policy", gone })),
    fc
      .constantFrom("custom", "other")
      .chain(ruleOf)
      .map((facts): FactChange => ({ kind: "rule", facts })),
    fc
      .constantFrom(...userIds)
      .chain(userOf)
      .map((facts): FactChange => ({ kind: "user", facts })),
    policyOf("default", true).map((facts): FactChange => ({ kind: "policy", facts })),
  ),
  { minLength: 1, maxLength: 3 },
);

const question: fc.Arbitrary<StoredQuestion> = fc
  .record({
    subject: fc.oneof(
      fc.constant({ subject_type: "everyone" as const, subject_id: null }),
      fc.constantFrom(...groupIds).map((id) => ({ subject_type: "group" as const, subject_id: id })),
      fc.constantFrom(...userIds).map((id) => ({ subject_type: "user" as const, subject_id: id })),
    ),
    device: fc.constantFrom("any" as const, "none" as const),
    resource_id: fc.constantFrom(...resourceIds),
    expected: fc.constantFrom("allowed" as const, "denied" as const),
  })
  .map(({ subject, ...fields }) => ({
    ...{ id: "", name: "", enforced: true, resource_type: "resource", properties: {}, context: {} },
    ...subject,
    ...fields,
  }));

/** The tests that held before and do not hold after, with the number of subjects for which they do not hold. */
function expectedOf(tests: readonly StoredQuestion[], before: Model, after: Model) {
  return tests.flatMap((each) => {
    const is = checkExpectation(after, expectationOf(each));
    if (is.holds || !checkExpectation(before, expectationOf(each)).holds) return [];
    return [{ id: each.id, brokenCount: is.brokenCount }];
  });
}

test("the tests that changes break are those that held for all subjects, and no longer do", () => {
  let met = 0;
  const questions = fc.array(question, { minLength: 5, maxLength: 12 });
  fc.assert(
    fc.property(tenant, changes, questions, (facts, changed, asked) => {
      const before = compile(facts);
      const after = update(before, changed);
      const tests = asked.map((each, index) => ({ ...each, id: `t${index}` }));
      const broken = finish(brokenTests(tests, before, after, changed));
      met += broken.length;
      const found = broken.map(({ test: { id }, result: { brokenCount } }) => ({ id, brokenCount }));
      expect(found).toEqual(expectedOf(tests, before, after));
    }),
    { numRuns: budgeted(4_000, 400) },
  );
  expect(met).toBeGreaterThan(100);
});
