import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { budgeted, expectedTally } from "../../../../test/budget.ts";
import { deviceConfiguration } from "../enforcement/device-routes.ts";
import { noSources } from "../enforcement/device-sources.ts";
import type { GatewayLink } from "../enforcement/links.ts";
import { addressesOf } from "../enforcement/parsed-addresses.ts";
import { divertedAddresses } from "../findings/diverted-addresses.ts";
import type { TenantFacts } from "../model/facts.ts";
import { compile } from "../model/model.ts";
import { goldenCase } from "../testing/golden-case.ts";
import { moment } from "../testing/random-request.ts";
import { randomTenant } from "../testing/random-tenant.ts";
import { entryCost } from "../work.ts";
import { deciding } from "./decide.ts";
import { findingDivertedAddresses } from "./diverted-addresses.ts";
import { explain } from "./explain.ts";

/** Random tenants. In most of them, all resources have a network in common. */
const tenantWithSharedAddress = fc.tuple(randomTenant, fc.nat(3)).map(([facts, sharing]): TenantFacts => {
  const shared = sharing === 0 ? [] : [{ address: "198.51.100.128/25", protocols: [] }];
  return {
    ...facts,
    resources: facts.resources.map((each) => ({ ...each, addresses: [...each.addresses, ...shared] })),
  };
});

const linkOf = (gatewayId: string): GatewayLink => ({
  ...{ gatewayId, ipv4: "100.64.1.1", ipv6: "fd00::1:1", publicKey: "E".repeat(43), listenPort: 51_820 },
  ...{ endpoint: "192.0.2.1:51820", relayEnabled: false, relayPort: null, drain: null, networks: null },
  dns: { resolvers: [], domains: [] },
});

test("an explanation names exactly the addresses whose route leads to a gateway that does not carry the resource", () => {
  let [diverted, direct] = [0, 0];
  fc.assert(
    fc.property(tenantWithSharedAddress, moment, (facts, now) => {
      const model = compile(facts);
      const gateways = new Map(facts.gateways.map(({ id }) => [id, linkOf(id)]));
      for (const { id: deviceId } of facts.devices) {
        const routed = { ipv4: "100.64.0.1", ipv6: "fd00::1", isPeer: true, sources: noSources, country: null };
        const inputs = { devices: new Map([[deviceId, routed]]), gateways };
        const routes = new Map<string, string>();
        for (const { gateway, allowedIps, names } of deviceConfiguration(model, inputs, deviceId, now)?.gateways ??
          []) {
          for (const key of [...allowedIps, ...names]) routes.set(key, gateway);
        }
        for (const resource of model.resources.values()) {
          const subject = { kind: "device", deviceId } as const;
          const destination = { kind: "resource", resourceId: resource.id } as const;
          const { decision, divertedAddresses: found } = explain(model, { subject, destination, now });
          const unreached = addressesOf(resource)
            .filter(({ key }) => !decision.gateways.includes(routes.get(key) ?? ""))
            .map(({ address }) => address);
          expect(found.map(({ address }) => address)).toEqual(decision.gateways.length === 0 ? [] : unreached);
          diverted += found.length;
          direct += decision.gateways.length;
        }
      }
    }),
    { numRuns: budgeted(200, 20), unbiased: true },
  );
  expect(Math.min(diverted, direct)).toBeGreaterThanOrEqual(expectedTally(20));
});

/** The model and the request of a case. */
function caseOf(resources: string, request: string, policies = "- { name: Open, all: [users, resources] }") {
  const { facts, request: asked } = goldenCase(
    "a case",
    `why: Resources with a common address, described by the test.
tenant:
  users: { ada: {} }
  devices: { laptop: { user: ada } }
  gateways: { berlin: ONLINE, oslo: ONLINE, paris: OFFLINE }
  resources:
${resources}
  policies:
    ${policies}
request: ${request}
expect: { allowed: false, reasons: [no_policy_allows] }
`,
  );
  return { model: compile(facts), asked };
}

/** The diverted addresses of a request, and the findings of the tenant. */
function found(...inputs: Parameters<typeof caseOf>) {
  const { model, asked } = caseOf(...inputs);
  return {
    explained: explain(model, asked).divertedAddresses.map(({ address, routedFor }) => [address, routedFor.name]),
    findings: [...divertedAddresses(model)].flatMap((each) =>
      typeof each === "object" ? [[each.resource.facts.name, each.address, each.routedFor.facts.name]] : [],
    ),
  };
}

const resource = (name: string, addresses: string, gateways: string, type = "PRIVATE") =>
  `    ${name}: { type: ${type}, addresses: { ${addresses} }, gateways: [${gateways}] }\n`;
const at = "10.0.0.5: [TCP/443]";
const diverted = resource("Wiki", at, "berlin") + resource("Git", `${at}, git.internal: [TCP/22]`, "oslo");

test.each<[string, string, string, readonly unknown[], readonly unknown[]]>([
  [
    "is reported for the resource created later",
    diverted,
    "{ device: laptop, resource: Git }",
    [["10.0.0.5", "Wiki"]],
    [["Git", "10.0.0.5", "Wiki"]],
  ],
  [
    "is not reported for the first one",
    diverted,
    "{ device: laptop, resource: Wiki }",
    [],
    [["Git", "10.0.0.5", "Wiki"]],
  ],
  [
    "is not reported by the address of one resource",
    diverted,
    "{ device: laptop, to: git.internal }",
    [],
    [["Git", "10.0.0.5", "Wiki"]],
  ],
  [
    "is reported by the address",
    resource("Wiki", "10.0.0.5: [TCP/443]", "berlin") + resource("Git", "10.0.0.5: [TCP/22]", "oslo"),
    "{ device: laptop, to: 10.0.0.5, protocol: TCP/22 }",
    [["10.0.0.5", "Wiki"]],
    [["Git", "10.0.0.5", "Wiki"]],
  ],
  [
    "with a common gateway is not reported",
    resource("Wiki", at, "berlin, oslo") + resource("Git", at, "oslo"),
    "{ device: laptop, resource: Git }",
    [],
    [],
  ],
  [
    "whose common gateway is out of service is explained, and no finding",
    resource("Wiki", at, "berlin, paris") + resource("Git", at, "paris, oslo"),
    "{ device: laptop, resource: Git }",
    [["10.0.0.5", "Wiki"]],
    [],
  ],
  [
    "is no finding if a resource has no gateways or the type INTERNET",
    resource("None", at, "") + resource("Open", at, "berlin", "INTERNET") + resource("Git", at, "oslo"),
    "{ device: laptop, resource: Git }",
    [],
    [],
  ],
  [
    "is a finding although the first one has no gateways or the type INTERNET",
    resource("Open", at, "berlin", "INTERNET") + resource("None", at, "") + diverted,
    "{ device: laptop, resource: Git }",
    [["10.0.0.5", "Wiki"]],
    [["Git", "10.0.0.5", "Wiki"]],
  ],
])("an address of several resources %s", (_what, resources, request, explained, findings) => {
  expect(found(resources, request)).toEqual({ explained, findings });
});

test("a resource that the device may not reach diverts nothing", () => {
  const onlyGit = "- { name: Open, all: [users], resources: [Git] }";
  expect(found(diverted, "{ device: laptop, resource: Git }", onlyGit).explained).toEqual([]);
});

/** The number of other resources that one answer decides. */
const mostDecided = 64;
const named = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`);

test("an address is not reported if its gateway depends on a resource that is not decided", () => {
  const [first = "", ...others] = named("Other", mostDecided);
  const resources = [
    // The device uses the gateway of this resource, which carries Git too.
    resource("Undecided", "10.0.0.6: []", "oslo"),
    resource(first, "10.0.0.5: [], 10.0.0.6: []", "berlin"),
    ...others.map((name) => resource(name, "10.0.0.5: []", "berlin")),
    resource("Git", "10.0.0.5: [], 10.0.0.6: []", "oslo"),
  ];
  const { explained } = found(resources.join(""), "{ device: laptop, resource: Git }");
  expect(explained).toEqual([["10.0.0.5", first]]);
});

/** The diverted addresses of a resource. Also counts the resources that are read. */
function examine(resources: string, policies?: string) {
  const { model, asked } = caseOf(resources, "{ device: laptop, resource: Git }", policies);
  const decide = vi.fn((request: typeof asked) => deciding(model, request));
  const decision = explain(model, asked).decision;
  const reads = vi.spyOn(model.resources, "get");
  const work = findingDivertedAddresses(model, asked, decision, decide);
  let cost = 0;
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return { ...step.value, cost, reads: reads.mock.calls.length, decide };
    cost += step.value;
  }
}

test.each([
  ["all of 21 addresses are diverted", 21, 0, true],
  ["all but one of 22 addresses are diverted", 21, 1, false],
  ["there are no addresses", 0, 0, false],
])("a resource is diverted everywhere if %s", (_what, shared, direct, isEverywhere) => {
  const both = named("10.0.1.", shared).map((address) => `${address}: []`);
  const own = [...named("10.0.2.", direct).map((address) => `${address}: []`), ...both];
  const answer = examine(resource("Wiki", both.join(", "), "berlin") + resource("Git", own.join(", "), "oslo"));
  expect([answer.isEverywhere, answer.listed.length]).toEqual([isEverywhere, Math.min(20, shared)]);
});

test("a denied resource is diverted nowhere", () => {
  const answer = examine(diverted, "- { name: Open, all: [users], resources: [Wiki] }");
  expect([answer.isEverywhere, answer.listed]).toEqual([false, []]);
});

test.each([mostDecided, 5 * mostDecided])("many addresses with %i other resources are charged for", (count) => {
  const addresses = named("10.0.0.", 200);
  const shared = addresses.map((address) => `${address}: []`).join(", ");
  const all = [...named("Other", count), "Git"].map((name) => resource(name, shared, "berlin"));
  const { reads, cost, decide } = examine(all.join(""));
  expect(decide).toHaveBeenCalledTimes(mostDecided);
  expect(reads).toBeGreaterThan(mostDecided * addresses.length);
  expect(reads).toBeLessThan((mostDecided + 2) * addresses.length);
  expect(cost).toBeGreaterThan(mostDecided * addresses.length * entryCost);
});
