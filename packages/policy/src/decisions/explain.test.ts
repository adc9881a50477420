import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { budgeted } from "../../../../test/budget.ts";
import { compile } from "../model/model.ts";
import { goldenCase } from "../testing/golden-case.ts";
import { randomRequest } from "../testing/random-request.ts";
import { randomTenant } from "../testing/random-tenant.ts";
import { explain } from "./explain.ts";
import type { MissingFact } from "./missing-facts.ts";

/** Explains a request in the notation of the golden cases. */
function explained(tenant: string, request: string) {
  const { facts, request: asked } = goldenCase(
    "a case",
    `why: A case of an explanation, described by its test.\ntenant:\n${tenant}\nrequest: ${request}\nexpect: { allowed: false, reasons: [no_policy_allows] }\n`,
  );
  const names = new Map(
    [...facts.groups, ...facts.policies, ...facts.devices].map(({ id, name }): [string, string] => [id, name]),
  );
  return { ...explain(compile(facts), asked), nameOf: (id: string) => names.get(id) };
}

/** The missing facts in short form. */
function missing(tenant: string, request: string): readonly string[] | undefined {
  const { nearestMiss, nameOf } = explained(tenant, request);
  return nearestMiss?.missing.map((fact) => inShort(fact, nameOf));
}

function inShort(fact: MissingFact, nameOf: (id: string) => string | undefined): string {
  switch (fact.kind) {
    case "subject":
    case "destination":
      return fact.reason;
    case "denied-by":
      return `not denied by ${fact.policy.name}`;
    case "source":
      return `in ${fact.groups.map(nameOf).join(" or ")}`;
    case "source-address":
      return `from ${fact.sourceIps.join(" or ")}`;
    case "condition":
      return `${fact.negated ? "not " : ""}${fact.condition.text}`;
    case "never":
      return "never";
  }
}

const network = `
  gateways: { berlin: ONLINE }
  resources:
    Git: { addresses: { git.example.com: [TCP/443] }, gateways: [berlin] }
`;

describe("a condition on the session", () => {
  const tenant = (session: string) => `
  users: { ada: {} }
  devices: { laptop: { user: ada${session} } }${network}
  policies:
    - { name: Git, all: [users], resources: [Git], when: "session.age < duration('8h') && 'hwk' in session.methods" }`;
  const recent = ', session: { authenticatedAt: "2026-01-15T03:00:00Z", methods: [otp] }';

  test("is missing with its values, as text", () => {
    const { nearestMiss } = explained(tenant(recent), "{ device: laptop, resource: Git }");
    expect(nearestMiss?.missing).toMatchObject([
      { condition: { text: "session.age < duration('8h')", values: [{ name: "session.age", value: "32400s" }] } },
      { condition: { values: [{ name: "session.methods", value: ["otp"] }] } },
    ]);
    expect(JSON.stringify(nearestMiss)).toContain("32400s");
  });

  test("is missing without a session", () => {
    expect(missing(tenant(""), "{ device: laptop, resource: Git }")).toEqual([
      "session.age < duration('8h')",
      "'hwk' in session.methods",
    ]);
  });

  test("shows a session that is read as a whole", () => {
    const whole = tenant(recent).replace(/when: .*"/, `when: "[session].exists(one, one.age < duration('8h'))"`);
    const { policies } = explained(whole, "{ device: laptop, resource: Git }");
    const age = { age: "32400s", authenticatedAt: "2026-01-15T03:00:00.000Z", methods: ["otp"] };
    expect(policies[0]?.rule?.condition.values).toEqual([{ name: "session", value: age }]);
    expect(JSON.stringify(policies)).toContain("32400s");
  });
});

describe("the nearest miss", () => {
  test("is a group of which the user is not a member", () => {
    const tenant = `
  users: { ada: { groups: [Sales] }, grace: { groups: [Engineering] } }${network}
  policies:
    - { name: Git, groups: [Engineering], resources: [Git] }`;
    expect(missing(tenant, "{ user: ada, resource: Git }")).toEqual(["in Engineering"]);
    expect(missing(tenant, "{ user: grace, resource: Git }")).toBeUndefined();
  });

  test("lists the fewest unmet conditions of a rule", () => {
    const tenant = `
  users: { ada: { attributes: { department: Sales, level: 2 } } }
  devices: { laptop: { user: ada, os: Linux, posture: { encrypted: false } } }${network}
  policies:
    - name: Git
      all: [users]
      resources: [Git]
      when: >-
        device.posture.encrypted == true && (user.department == 'Engineering' && user.level >= 3 || device.os == 'macOS')`;
    expect(missing(tenant, "{ user: ada, device: laptop, resource: Git }")).toEqual([
      "device.posture.encrypted == true",
      "device.os == 'macOS'",
    ]);
  });

  test("marks a condition that must not be met", () => {
    const tenant = `
  users: { ada: { attributes: { contractor: true } } }${network}
  policies:
    - { name: Git, all: [users], resources: [Git], when: "!user.contractor" }`;
    expect(missing(tenant, "{ user: ada, resource: Git }")).toEqual(["not user.contractor"]);
  });

  test("includes an earlier policy that denies", () => {
    const tenant = `
  users: { ada: { groups: [Contractors, Engineering] } }${network}
  policies:
    - { name: No contractors, action: deny, groups: [Contractors], all: [resources] }
    - { name: Git, groups: [Engineering], resources: [Git] }`;
    expect(missing(tenant, "{ user: ada, resource: Git }")).toEqual(["not denied by No contractors"]);
  });

  test("is the policy with the fewest missing facts, whatever the order", () => {
    const tenant = `
  users: { ada: { groups: [Sales] } }${network}
  policies:
    - { name: Far, groups: [Engineering], resources: [Git], sourceIps: [192.0.2.0/24] }
    - { name: Near, all: [users], resources: [Git], sourceIps: [198.51.100.0/24] }`;
    const { nearestMiss } = explained(tenant, "{ user: ada, resource: Git, from: 203.0.113.7 }");
    expect(nearestMiss?.policy?.name).toBe("Near");
    expect(missing(tenant, "{ user: ada, resource: Git, from: 203.0.113.7 }")).toEqual(["from 198.51.100.0/24"]);
  });

  test("is the inactive user, if a policy would allow the request otherwise", () => {
    const tenant = `
  users: { ada: { status: inactive } }${network}
  policies:
    - { name: Git, all: [users], resources: [Git] }`;
    expect(missing(tenant, "{ user: ada, resource: Git }")).toEqual(["user_inactive"]);
  });

  test("is a port that the resource does not offer", () => {
    const tenant = `
  users: { ada }${network}
  policies:
    - { name: Git, all: [users], resources: [Git] }`;
    expect(missing(tenant, "{ user: ada, to: git.example.com, protocol: TCP/22 }")).toEqual(["protocol_not_offered"]);
  });

  test("is absent if no policy names the resource or its rule is never met", () => {
    const tenant = `
  users: { ada }${network}
  policies:
    - { name: Closed, all: [users], resources: [Git], rule: never }
    - { name: Impossible, all: [users], resources: [Git], when: "false && user.level > 1" }`;
    expect(missing(tenant, "{ user: ada, resource: Git }")).toBeUndefined();
  });
});

test("a rule is traced part by part, with values and errors", () => {
  const tenant = `
  users: { ada: { groups: [Sales], attributes: { level: 2 } } }${network}
  policies:
    - { name: Git, all: [users], resources: [Git], when: "user.level >= 3 || user.badge == 'x' || 'Sales' in user.groups && source.country == 'DE'" }`;
  const { policies } = explained(tenant, "{ user: ada, resource: Git }");
  expect(policies[0]).toMatchObject({
    outcome: "rule_not_met",
    sourceMatches: [{ kind: "all-users" }],
    rule: {
      condition: {
        operator: "any",
        parts: [
          { text: "user.level >= 3", met: false, values: [{ name: "user.level", value: 2 }] },
          { text: "user.badge == 'x'", error: "No such key: badge", values: [{ name: "user.badge" }] },
          {
            operator: "all",
            parts: [
              { text: "'Sales' in user.groups", met: true, values: [{ name: "user.groups", value: ["Sales"] }] },
              { text: "source.country == 'DE'", error: "No such key: country" },
            ],
          },
        ],
      },
    },
  });
});

test("an explanation always agrees with the decision", () => {
  fc.assert(
    fc.property(randomTenant, fc.array(randomRequest, { minLength: 1, maxLength: 10 }), (facts, requests) => {
      const model = compile(facts);
      for (const request of requests) {
        const { decision, policies, nearestMiss } = explain(model, request);
        const deciding = policies.filter(({ outcome }) => outcome === "decided");
        expect(deciding.map(({ policy }) => policy)).toEqual(decision.policy === undefined ? [] : [decision.policy]);
        if (decision.allowed) expect(nearestMiss).toBeUndefined();
        if (nearestMiss !== undefined) expect(nearestMiss.missing.length).toBeGreaterThan(0);
      }
    }),
    { numRuns: budgeted(500, 50) },
  );
});
