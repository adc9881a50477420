import { gatewayStatuses } from "@gatehouse/contract/records/gateway";
import { policyModes, type policyTypes } from "@gatehouse/contract/records/policy";
import type { NetworkProtocol } from "@gatehouse/contract/records/protocol";
import fc from "fast-check";
import type {
  DeviceFacts,
  FactsByKind,
  GatewayFacts,
  GroupFacts,
  PolicyFacts,
  Properties,
  ResourceFacts,
  RuleFacts,
  SessionFacts,
  TenantFacts,
  UserFacts,
} from "../model/facts.ts";
import { ruleText, turningPoints, zones } from "./random-rule.ts";

/**
 * Small and dense tenants, so that conditions often meet. Ids come from small pools, of which a tenant contains a part:
 * named records may be missing. The order of records is independent of their creation.
 */

export const ids = {
  users: pool(1, 4),
  groups: pool(2, 4),
  devices: pool(3, 5),
  gateways: pool(4, 4),
  resources: pool(5, 6),
  rules: pool(6, 7),
  policies: pool(7, 9),
  /** The id of the default INTERNET policy, if the tenant has one. */
  defaultPolicy: id(8, 1),
} as const;

const [allowRule = "", denyRule = ""] = ids.rules;

/** Addresses in stored form: single addresses, nested blocks, and wildcards of several depths. */
export const storedAddresses = [
  "192.0.2.1",
  "192.0.2.1/32",
  "192.0.2.0/30",
  "192.0.2.0/28",
  "192.0.2.0/24",
  "192.0.0.0/16",
  "0.0.0.0/0",
  "10.0.0.0/8",
  "10.1.0.0/16",
  "2001:db8::1",
  "2001:db8::1/128",
  "2001:db8::/64",
  "2001:db8::/32",
  "::/0",
  "example.com",
  "db.example.com",
  "a.b.example.com",
  "*.example.com",
  "*.b.example.com",
  "*.com",
  "intranet",
] as const;

export const userProperties: fc.Arbitrary<Properties> = someOf({
  department: fc.constantFrom("Engineering", "Sales"),
  level: fc.constantFrom(1, 2, 2.5, 3),
  contractor: fc.boolean(),
  title: fc.constantFrom("Director", "Clerk"),
  zone: fc.constantFrom(...zones, "Nowhere/Land"),
  until: fc.constantFrom("2026-03-29T01:00:00Z", "2026-01-15T08:00:00.000+01:00", "soon"),
  pattern: fc.constantFrom("^user-1", "example", "("),
  // Hidden by the field of the same name.
  email: fc.constant("stored"),
  groups: fc.constant("Engineers"),
  // A name that every object inherits.
  constructor: fc.constant("stored"),
  toString: fc.constant("stored"),
  now: fc.constant("an attribute"),
});

export const devicePosture: fc.Arbitrary<Properties> = someOf({
  diskEncrypted: fc.oneof(fc.boolean(), fc.constant("true")),
  level: fc.constantFrom(1, 2, 3),
  "edr.version": fc.constantFrom("7.1", "6.9"),
  hasOwnProperty: fc.constant(true),
});

export const deviceSession: fc.Arbitrary<SessionFacts> = fc.record({
  // Ages around the limits in rules, in hours.
  authenticatedAt: fc
    .tuple(fc.constantFrom(...turningPoints), fc.constantFrom(-48, -24, -8, -1.5, 0, 1))
    .map(([text, hours]) => Date.parse(text) + hours * 3_600_000),
  methods: fc.constantFrom(["hwk", "user"], ["otp"], ["pwd", "otp"], []),
  provider: fc.constantFrom("provider-1", "provider-2", null),
});

const networkProtocol: fc.Arbitrary<NetworkProtocol> = fc.constantFrom<NetworkProtocol>(
  { protocol: "TCP", port: "443" },
  { protocol: "TCP", port: "22" },
  { protocol: "TCP", port: "20-25" },
  { protocol: "TCP" },
  { protocol: "UDP", port: "53" },
  { protocol: "UDP", port: "50-60" },
  { protocol: "ICMP" },
);

/** A record of each kind with a given id. */
export const factsOf: { readonly [Kind in keyof FactsByKind]: (id: string) => fc.Arbitrary<FactsByKind[Kind]> } = {
  user: (id) =>
    fc.record<UserFacts>({
      id: fc.constant(id),
      email: fc.constant(`user-${numberOf(id)}@example.com`),
      firstName: fc.constantFrom("First", ""),
      lastName: fc.constant("Last"),
      status: often("active", fc.constantFrom("pending", "inactive"), 12),
      groups: someFrom(ids.groups, 3),
      attributes: userProperties,
    }),
  group: (id) =>
    fc.record<GroupFacts>({
      id: fc.constant(id),
      // Order by code point and order by UTF-16 unit differ for the last two names.
      name: fc.constant(["Guests", "Engineers", "\u{1f600}", "\uff61"][numberOf(id) - 1] ?? id),
    }),
  device: (id) =>
    fc.record<DeviceFacts>({
      id: fc.constant(id),
      userId: often<string | null>(usualOwner(id), fc.constantFrom(null, ...ids.users), 6),
      active: often(true, fc.constant(false), 8),
      name: fc.constantFrom("laptop", "phone"),
      os: fc.constantFrom("macOS", "Windows", ""),
      osVersion: fc.constantFrom("14.2", "13", ""),
      appVersion: fc.constantFrom("2.0", "1.9"),
      hardwareId: fc.constant("hardware"),
      tags: fc.constantFrom([], ["build"], ["site:a", "build"]),
      agent: fc.boolean(),
      posture: devicePosture,
      session: often<SessionFacts | null>(null, deviceSession, 1),
    }),
  gateway: (id) =>
    fc.record<GatewayFacts>({
      id: fc.constant(id),
      name: fc.constant(`Gateway ${numberOf(id)}`),
      status: often<GatewayFacts["status"]>("ONLINE", fc.constantFrom(...gatewayStatuses), 2),
      load: fc.constantFrom(null, 0, 0.5, 1),
      roundTripTimeMs: fc.constantFrom(null, 1, 30),
    }),
  resource: (id) =>
    fc.record<ResourceFacts>({
      id: fc.constant(id),
      name: fc.constant(`Resource ${numberOf(id)}`),
      type: fc.constantFrom("PRIVATE", "PRIVATE", "SAAS", "INTERNET"),
      loadBalancingMode: fc.constantFrom("MANUAL", "MANUAL", "AUTOMATIC"),
      addresses: fc
        .shuffledSubarray([...storedAddresses], { maxLength: 5 })
        .chain((addresses) => fc.tuple(...addresses.map(addressWithProtocols))),
      gateways: someFrom(ids.gateways, 3),
    }),
  rule: (id) =>
    fc.record<RuleFacts>({
      id: fc.constant(id),
      name: fc.constant(`Rule ${numberOf(id)}`),
      type: fc.constant(id === allowRule ? "ALLOW" : id === denyRule ? "DENY" : "CUSTOM"),
      text: id === allowRule || id === denyRule ? fc.constant(null) : ruleText,
    }),
  policy: (id) => policyFacts(id),
};

/** Any policy with this id. The id determines the type, because a policy cannot change its type. */
function policyFacts(id: string): fc.Arbitrary<PolicyFacts> {
  const isDefault = id === ids.defaultPolicy;
  const kinds = ["PRIVATE", "INTERNET", "SITETOSITE", "PRIVATE", "SAAS", "INTERNET"] as const;
  const type = isDefault ? "INTERNET" : (kinds[numberOf(id) % kinds.length] ?? "PRIVATE");
  return fc.record<PolicyFacts>({
    id: fc.constant(id),
    name: fc.constant(isDefault ? "Default" : `Policy ${numberOf(id)}`),
    type: fc.constant(type),
    isDefault: fc.constant(isDefault),
    active: often(true, fc.constant(false), 6),
    action: isDefault ? fc.constant(true) : often(true, fc.constant(false), 3),
    mode: type === "INTERNET" ? fc.constantFrom(...policyModes, null) : fc.constant(null),
    allGroups: often(false, fc.constant(true), 5),
    allUsers: often(false, fc.constant(true), 2),
    allDevices: often(false, fc.constant(true), 5),
    allResources: fc.boolean(),
    groups: someFrom(ids.groups, 2),
    users: someFrom(ids.users, 2),
    devices: someFrom(ids.devices, 2),
    resources: someFrom(ids.resources, 4),
    gateways: often<string[]>([], someFrom(ids.gateways, 3), 1),
    sourceIps: often<string[]>([], someFrom(sourceRanges, 3), 1),
    // The last text is not a rule.
    rule: fc.oneof(
      { arbitrary: fc.constant(allowRule), weight: 4 },
      { arbitrary: fc.constantFrom(...ids.rules), weight: 7 },
      { arbitrary: fc.constant(ids.defaultPolicy), weight: 1 },
    ),
  });
}

const sourceRanges = [
  "192.0.2.0/24",
  "192.0.2.7",
  "198.51.100.0/25",
  "2001:db8::/32",
  "2001:db8::7",
  "0.0.0.0/0",
  "::/0",
] as const;

/** A whole tenant. Records that it names may be missing. */
export const randomTenant: fc.Arbitrary<TenantFacts> = fc
  .record({
    users: mostOf(ids.users, factsOf.user),
    groups: mostOf(ids.groups, factsOf.group),
    devices: mostOf(ids.devices, factsOf.device),
    gateways: mostOf(ids.gateways, factsOf.gateway),
    resources: mostOf(ids.resources, factsOf.resource),
    rules: mostOf(ids.rules, factsOf.rule),
    policies: mostOf(ids.policies, factsOf.policy),
    defaults: fc.array(factsOf.policy(ids.defaultPolicy), { maxLength: 1 }),
  })
  .map(({ policies, defaults, ...others }) => ({ ...others, policies: [...policies, ...defaults] }));

/** A tenant in which sessions limit some devices. */
export const randomTenantWithSessions: fc.Arbitrary<TenantFacts> = fc
  .tuple(randomTenant, fc.array(sessionEnd(), { minLength: ids.devices.length, maxLength: ids.devices.length }))
  .map(([facts, ends]) => ({
    ...facts,
    devices: facts.devices.map((device, index) => {
      const sessionEndsAt = ends[index] ?? null;
      return sessionEndsAt === null ? device : { ...device, sessionEndsAt };
    }),
  }));

function sessionEnd(): fc.Arbitrary<number | null> {
  const end = fc
    .tuple(fc.constantFrom(...turningPoints), fc.integer({ min: -40, max: 40 }))
    .map(([text, halfHours]) => Date.parse(text) + halfHours * 1_800_000 + 250);
  return often<number | null>(null, end, 2);
}

/** All policies of a type in the tenant, which a change of their order must list. */
export function policiesOfType(facts: TenantFacts, type: (typeof policyTypes)[number]): readonly PolicyFacts[] {
  return facts.policies.filter((policy) => policy.type === type);
}

/** Most records of a pool in any order. Shrinking removes records and sorts them by id. */
function mostOf<Facts>(pool: readonly string[], arbitrary: (id: string) => fc.Arbitrary<Facts>): fc.Arbitrary<Facts[]> {
  const records = pool.map((id) => fc.record({ presence: fc.nat(10), place: fc.nat(50), facts: arbitrary(id) }));
  return fc.tuple(...records).map((all) =>
    all
      .filter(({ presence }) => presence > 0)
      .sort((a, b) => a.place - b.place)
      .map(({ facts }) => facts),
  );
}

function addressWithProtocols(address: string) {
  const list = fc.array(networkProtocol, { maxLength: 3 });
  const protocols = fc.oneof(list, fc.array(list, { maxLength: 2 }));
  return fc.record({ address: fc.constant(address), protocols });
}

function someFrom<Value>(values: readonly Value[], maxLength: number): fc.Arbitrary<Value[]> {
  return fc.shuffledSubarray([...values], { maxLength });
}

function often<Value>(usual: Value, others: fc.Arbitrary<Value>, weight: number): fc.Arbitrary<Value> {
  return fc.oneof({ arbitrary: fc.constant(usual), weight }, { arbitrary: others, weight: 1 });
}

/** Some of the entries, each with one of its values. */
function someOf(model: Readonly<Record<string, fc.Arbitrary<string | number | boolean>>>): fc.Arbitrary<Properties> {
  // Optional keys are absent instead of undefined, which the type of `fc.record` does not express.
  return fc.record({ ...model }, { requiredKeys: [], noNullPrototype: true }) as fc.Arbitrary<Properties>;
}

/** The owner of a device in most tenants, so that requests can name both. */
export function usualOwner(device: string): string {
  return ids.users[numberOf(device) % ids.users.length] ?? "";
}

function pool(kind: number, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => id(kind, index + 1));
}

/** An id in the form that the server uses. Within a kind, the smaller number was created first. */
function id(kind: number, number: number): string {
  return `01980000-0000-7000-800${kind}-${String(number).padStart(12, "0")}`;
}

function numberOf(id: string): number {
  return Number(id.slice(-12));
}
