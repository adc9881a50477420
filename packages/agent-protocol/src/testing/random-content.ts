import fc from "fast-check";
import type {
  ConfigurationContent,
  Destination,
  Membership,
  Peer,
  ResourceRules,
  Settings,
} from "../gateway/configuration.ts";

/** Small contents from small pools, so that two of them share many entries. */

const peerKey = fc.integer({ min: 1, max: 60 }).map((number) => `100.64.0.${number}`);
const publicKey = fc.constantFrom("A", "B", "C").map((letter) => `${letter.repeat(42)}A=`);
const peer: fc.Arbitrary<Peer> = fc.tuple(publicKey, fc.constantFrom(undefined, undefined, 7)).map(([key, until]) => ({
  kind: "device",
  publicKey: key,
  ipv6: "fd00::1",
  ...(until === undefined ? {} : { until }),
}));
const membership: fc.Arbitrary<Membership> = fc.constantFrom<Membership>(true, [[1, 2]], [[null, 3]], []);
const classKey = fc.constantFrom("group/a", "group/b", "policy/a", "policy/b/c");
const resource = fc.constantFrom(
  "01980000-0000-7000-8005-000000000001",
  "01980000-0000-7000-8005-000000000002",
  "01980000-0000-7000-8005-000000000003",
);
const rules: fc.Arbitrary<ResourceRules> = fc.record(
  {
    devices: fc.array(
      fc.record(
        { action: fc.constantFrom("allow" as const, "deny" as const), classes: fc.array(classKey, { minLength: 1 }) },
        { noNullPrototype: true },
      ),
      { maxLength: 2 },
    ),
    sites: fc.constant<ResourceRules["sites"]>([]),
  },
  { noNullPrototype: true },
);
const destination: fc.Arbitrary<Destination> = fc.record(
  {
    services: fc.constant<Destination["services"]>([]),
    otherwise: fc.constantFrom("drop" as const, "internet" as const),
    answers: fc.constantFrom("global" as const, "networks" as const, ["10.0.0.0/24"], []),
  },
  { noNullPrototype: true, requiredKeys: ["services", "otherwise"] },
);
const settings: fc.Arbitrary<Settings> = fc
  .tuple(fc.constantFrom(51820, 51821), fc.boolean())
  .map(([listenPort, hasNetworks]) => ({
    interface: { listenPort, ipv4: "100.127.255.254", ipv6: "fd00::1", pools: ["100.64.0.0/10"] },
    dns: { resolvers: [], domains: [], ...(hasNetworks ? { networks: ["10.0.0.0/8"] } : {}) },
  }));

function mapOf<Value>(key: fc.Arbitrary<string>, value: fc.Arbitrary<Value>, maxKeys = 40) {
  return fc.dictionary(key, value, { maxKeys, noNullPrototype: true, size: "max" });
}

export const randomContent: fc.Arbitrary<ConfigurationContent> = fc.record(
  {
    settings,
    peers: mapOf(peerKey, peer),
    classes: mapOf(classKey, mapOf(peerKey, membership)),
    resources: mapOf(resource, rules),
    destinations: mapOf(fc.constantFrom("10.0.0.0/8", "db.example.com", "*.example.com"), destination),
  },
  { noNullPrototype: true },
);
