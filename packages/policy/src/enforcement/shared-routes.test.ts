import { describe, expect, test } from "vitest";
import type { GatewayFacts, PolicyFacts, ResourceFacts } from "../model/facts.ts";
import { compile, type Model } from "../model/model.ts";
import { plainPolicy } from "../testing/plain-policy.ts";
import { deviceConfiguration, type RouteInputs, servingGateways } from "./device-routes.ts";
import { noSources } from "./device-sources.ts";
import type { GatewayLink } from "./links.ts";
import { RouteTable } from "./route-table.ts";
import type { PreviousRoutes } from "./sticky-gateways.ts";

const id = (kind: number, number: number) => `00000000-0000-7000-8000-0000${kind}${String(number).padStart(7, "0")}`;
const [one, two, three] = [id(1, 1), id(1, 2), id(1, 3)];
const [device, user, rule] = [id(2, 1), id(3, 1), id(5, 1)];
const block = "10.20.30.0/24";
const name = "git.example.com";

type Mode = ResourceFacts["loadBalancingMode"];

interface Example {
  /** The gateways of each resource at the block, in the order of creation. */
  readonly lists: readonly (readonly string[])[];
  readonly mode?: Mode;
  readonly offline?: readonly string[];
  readonly loads?: Readonly<Record<string, number>>;
  readonly addresses?: readonly (readonly string[])[];
  readonly policies?: readonly Partial<PolicyFacts>[];
}

function modelOf({
  lists,
  mode = "MANUAL",
  offline = [],
  loads = {},
  addresses = [],
  policies = [{}],
}: Example): Model {
  const gateways = [one, two, three].map(
    (gateway): GatewayFacts => ({
      ...{ id: gateway, name: gateway, load: loads[gateway] ?? 0.2, roundTripTimeMs: 10 },
      status: offline.includes(gateway) ? "OFFLINE" : "ONLINE",
    }),
  );
  const own = { id: device, name: "Laptop", userId: user, active: true, tags: [], agent: true, posture: {} };
  return compile({
    users: [
      {
        ...{ id: user, email: "ann@example.com", firstName: "", lastName: "", status: "active" },
        ...{ attributes: {}, groups: [] },
      },
    ],
    groups: [],
    devices: [{ ...own, os: "", osVersion: "", appVersion: "", hardwareId: "" }],
    gateways,
    resources: lists.map((list, index) => ({
      ...{ id: id(4, index + 1), name: `Resource ${index + 1}`, type: "PRIVATE", loadBalancingMode: mode },
      addresses: (addresses[index] ?? [block]).map((address) => ({ address, protocols: [] })),
      gateways: [...list],
    })),
    rules: [{ id: rule, name: "Always", type: "ALLOW", text: "true" }],
    policies: policies.map((fields, index) =>
      plainPolicy({ id: id(6, index + 1), allUsers: true, allResources: true, rule, ...fields }),
    ),
  } as Parameters<typeof compile>[0]); // all facts that these decisions read
}

const inputs: RouteInputs = {
  devices: new Map([
    [device, { ipv4: "100.64.0.1", ipv6: "fd00::1", isPeer: true, sources: noSources, country: null }],
  ]),
  gateways: new Map(
    [one, two, three].map((gatewayId, index): [string, GatewayLink] => [
      gatewayId,
      {
        ...{ gatewayId, ipv4: `100.64.1.${index}`, ipv6: `fd00::1:${index}`, publicKey: "E".repeat(43) },
        ...{ listenPort: 51_820, endpoint: `192.0.2.${index + 1}:51820`, relayEnabled: false, relayPort: null },
        ...{ drain: null, dns: { resolvers: [], domains: [] }, networks: null },
      },
    ]),
  ),
};

/** The routes of the device, as the previous routes of a later configuration. */
function configured(model: Model, previous?: PreviousRoutes): PreviousRoutes {
  const configuration = deviceConfiguration(model, inputs, device, 0, previous);
  if (configuration === undefined) throw new Error("the device is known");
  return { configuration, serving: servingGateways(model, inputs), isChanged: () => false };
}

function gatewayTo(key: string, { configuration }: PreviousRoutes): string | undefined {
  const through = configuration.gateways.filter(({ allowedIps, names }) => [...allowedIps, ...names].includes(key));
  expect(through.length).toBeLessThan(2);
  return through[0]?.gateway;
}

const routed = (example: Example, key = block) => gatewayTo(key, configured(modelOf(example)));

describe("the gateway of an address that several resources have", () => {
  test.each<[string, readonly (readonly string[])[], string]>([
    ["is in the lists of both", [[one, two], [two]], two],
    [
      "is the first common one of the first resource",
      [
        [one, three, two],
        [two, three],
      ],
      three,
    ],
    ["is in the lists of all", [[one, two, three], [two, three], [three]], three],
    ["is the first one if the lists have none in common", [[one, two], [three]], one],
    ["carries as many of the earlier resources as possible", [[one, two], [three], [two]], two],
    ["prefers an earlier resource to later ones", [[one, two, three], [one], [two], [two]], one],
    ["ignores resources without a gateway", [[], [one, two], [two], []], two],
  ])("%s", (_what, lists, gateway) => {
    expect(routed({ lists })).toBe(gateway);
  });

  test("of a name is in the lists of both resources too", () => {
    expect(routed({ lists: [[one, two], [two]], addresses: [[name], [name]] }, name)).toBe(two);
  });

  test("is chosen for each address on its own", () => {
    const lists = [[one, two], [two], [one]];
    const example = { lists, addresses: [[block, name, "10.0.0.1"], [block], [name]] };
    expect(["10.20.30.0/24", name, "10.0.0.1/32"].map((key) => routed(example, key))).toEqual([two, one, one]);
  });

  test("an address in two notations counts once for its resource", () => {
    expect(
      routed({ lists: [[one, two], [two]], addresses: [["10.0.0.1", "10.0.0.1/32"], ["10.0.0.1"]] }, "10.0.0.1/32"),
    ).toBe(two);
  });

  test("ignores resources that the device may not reach", () => {
    const lists = [[one, two], [two]];
    const onlyFirst = { allResources: false, resources: [id(4, 1)] };
    expect(routed({ lists, policies: [onlyFirst] })).toBe(one);
  });

  test("considers the gateways of the policies", () => {
    const lists = [
      [one, two],
      [one, two],
    ];
    const first = { allResources: false, resources: [id(4, 1)] };
    const second = { allResources: false, resources: [id(4, 2)], gateways: [two] };
    expect(routed({ lists, policies: [first, second] })).toBe(two);
  });
});

describe.each<Mode>(["MANUAL", "AUTOMATIC"])(
  "with %s load balancing, an address that several resources have",
  (mode) => {
    const lists = [[one, two], [two]];

    test("moves while the common gateway is out of service, returns with it, and stays", () => {
      const before = configured(modelOf({ lists, mode }));
      expect(gatewayTo(block, before)).toBe(two);
      const without = configured(modelOf({ lists, mode, offline: [two] }), before);
      expect(gatewayTo(block, without)).toBe(one);
      let routes = configured(modelOf({ lists, mode }), without);
      for (const load of [1, 0, 1]) {
        expect(gatewayTo(block, routes)).toBe(two);
        routes = configured(modelOf({ lists, mode, loads: { [two]: load, [one]: 1 - load } }), routes);
      }
      expect(gatewayTo(block, routes)).toBe(two);
    });

    test("does not move when another gateway of the first resource leaves and returns", () => {
      const before = configured(modelOf({ lists, mode }));
      const without = configured(modelOf({ lists, mode, offline: [one] }), before);
      expect(gatewayTo(block, without)).toBe(two);
      expect(gatewayTo(block, configured(modelOf({ lists, mode }), without))).toBe(two);
    });

    test("moves at once when a resource with other gateways gets the address", () => {
      const alone = { lists, mode, addresses: [[block], ["10.0.0.1"]], loads: { [two]: 1 } };
      const before = configured(modelOf(alone));
      const after = configured(modelOf({ ...alone, addresses: [[block], [block]] }), before);
      expect(gatewayTo(block, after)).toBe(two);
    });
  },
);

test("load moves no address that several resources have, and none of the other addresses", () => {
  const example = {
    lists: [
      [one, two, three],
      [two, three],
    ],
    mode: "AUTOMATIC" as const,
    addresses: [[block, name], [block]],
  };
  const before = configured(modelOf(example));
  const gateways = () => [block, name].map((key) => gatewayTo(key, before));
  expect([two, three]).toContain(gateways()[0]);
  for (const loaded of [one, two, three]) {
    const after = configured(modelOf({ ...example, loads: { [loaded]: 1 } }), before);
    expect([block, name].map((key) => gatewayTo(key, after))).toEqual(gateways());
  }
});

test.each([
  ["that several resources have", 2, 1],
  ["of one resource", 1, 0],
])("the choice of a gateway for addresses %s is charged for", (_what, resources, scans) => {
  const addresses = Array.from({ length: 50 }, (_, index) => `10.0.0.${index}`);
  const model = modelOf({
    ...{ lists: Array.from({ length: resources }, () => []), addresses: [addresses, addresses] },
  });
  const ids = Array.from({ length: 100 }, (_, index) => id(1, index));
  const routes = new RouteTable(model, inputs.gateways);
  for (const [index, resource] of [...model.resources.values()].entries()) routes.add(resource, ids.slice(index));
  let cost = 0;
  for (const units of routes.choosing((_resource, _key, [first]) => first)) cost += units;
  expect(cost).toBeGreaterThanOrEqual(addresses.length * (1 + scans * ids.length));
  expect(cost).toBeLessThan(10 * addresses.length * (1 + scans * ids.length));
});
