import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { budgeted, expectedTally } from "../../../../test/budget.ts";
import { decideAtGateways } from "../decisions/decide-at-gateways.ts";
import type { GatewayFacts, TenantFacts } from "../model/facts.ts";
import { compile, type Model } from "../model/model.ts";
import { plainPolicy } from "../testing/plain-policy.ts";
import { randomLinks } from "../testing/random-links.ts";
import { moment } from "../testing/random-request.ts";
import { ids, randomTenant } from "../testing/random-tenant.ts";
import { deviceConfiguration, type RouteInputs, servingGateways } from "./device-routes.ts";
import { noSources, sourceAt, sourcesAtGateways } from "./device-sources.ts";
import type { GatewayLink, LinkFacts } from "./links.ts";
import { addressesOf } from "./parsed-addresses.ts";

function waysOf(links: LinkFacts): RouteInputs {
  return {
    devices: new Map(links.devices.map((link) => [link.deviceId, { ...link, isPeer: true }])),
    gateways: new Map(links.gateways.map((link) => [link.gatewayId, link])),
  };
}

function withSortedRelays(configuration: DeviceConfiguration | undefined) {
  return {
    ...configuration,
    gateways: configuration?.gateways.map((gateway) => ({ ...gateway, relays: [...gateway.relays].sort() })),
  };
}

/**
 * The gateway for each address, by separate decisions about the resources with the address. The gateway belongs to the
 * first created resource that is reachable, and carries other resources, the first created one above all.
 */
function gatewaysByDecisions(model: Model, inputs: RouteInputs, deviceId: string, now: number) {
  const { sources = noSources, country = null } = inputs.devices.get(deviceId) ?? {};
  const [sourceIp, observed] = [sourceAt(sources), sourcesAtGateways(sources)];
  const about = {
    subject: { kind: "device", deviceId } as const,
    now,
    ...(sourceIp === null ? {} : { sourceIp }),
    ...(country === null ? {} : { country }),
  };
  const isFound = (id: string) =>
    typeof inputs.gateways.get(id)?.endpoint === "string" && inputs.gateways.get(id)?.publicKey;
  /** The gateways of each resource at an address, in the order of creation. */
  const at = new Map<string, string[][]>();
  for (const resource of [...model.resources.values()].sort((a, b) => (a.facts.id < b.facts.id ? -1 : 1))) {
    const destination = { kind: "resource", resourceId: resource.id } as const;
    const gateways = decideAtGateways(model, { ...about, destination }, observed).gateways.filter(isFound);
    if (gateways.length === 0) continue;
    for (const key of new Set(addressesOf(resource).map(({ key }) => key)))
      at.set(key, [...(at.get(key) ?? []), gateways]);
  }
  const found = new Map<string, string>();
  let moved = 0;
  let unreached = 0;
  for (const [key, [own = [], ...later]] of at) {
    const carried = (gateway: string) => later.map((gateways) => (gateways.includes(gateway) ? "1" : "0")).join("");
    const most = own.map(carried).sort().at(-1);
    const gateway = own.find((each) => carried(each) === most) ?? "";
    found.set(key, gateway);
    if (gateway !== own[0]) moved += 1;
    if (most?.includes("0")) unreached += 1;
  }
  const somewhere = { kind: "address", address: "203.0.113.250" } as const;
  const elsewhere = decideAtGateways(model, { ...about, destination: somewhere }, observed);
  const internet = elsewhere.resource === undefined ? elsewhere.gateways.find(isFound) : undefined;
  return { found, internet, moved, unreached };
}

/** Random tenants. In most of them, all resources have a network and a name in common. */
const tenantWithSharedAddresses = fc.tuple(randomTenant, fc.nat(3)).map(([facts, sharing]): TenantFacts => {
  if (sharing === 0) return facts;
  const shared = ["198.51.100.128/25", "shared.example.com"].map((address) => ({ address, protocols: [] }));
  const resources = facts.resources.map((each) => ({ ...each, addresses: [...each.addresses, ...shared] }));
  return { ...facts, resources };
});

test("a device has routes to exactly the addresses that decisions allow", () => {
  let [routed, without] = [0, 0];
  let [moved, unreached] = [0, 0];
  const somewhereUnknown = fc.subarray([...ids.gateways], { maxLength: 1 });
  fc.assert(
    fc.property(tenantWithSharedAddresses, randomLinks, moment, somewhereUnknown, (facts, links, now, unknown) => {
      const model = compile(facts);
      const hidden = (link: GatewayLink) => (unknown.includes(link.gatewayId) ? { ...link, endpoint: null } : link);
      const inputs = waysOf({ ...links, gateways: links.gateways.map(hidden) });
      for (const { deviceId } of links.devices) {
        const configured = deviceConfiguration(model, inputs, deviceId, now);
        const routes = (configured?.gateways ?? []).flatMap(({ gateway, allowedIps, names }) => [
          ...allowedIps.map((to): [string, string] => [to, gateway]),
          ...names.map((to): [string, string] => [to, gateway]),
        ]);
        const { found, internet, ...shared } = gatewaysByDecisions(model, inputs, deviceId, now);
        expect(new Map(routes)).toEqual(found);
        // No address appears twice, so that WireGuard never has to choose.
        expect(routes).toHaveLength(found.size);
        if (internet !== undefined) expect(configured?.internet).toBe(internet);
        routed += routes.length;
        moved += shared.moved;
        unreached += shared.unreached;
        if (configured?.gateways.length === 0) without += 1;
      }
    }),
    { numRuns: budgeted(200, 20), unbiased: true },
  );
  expect(routed).toBeGreaterThanOrEqual(expectedTally(200));
  expect(without).toBeGreaterThanOrEqual(expectedTally(20));
  // Resources with a common address and different gateways.
  expect(Math.min(moved, unreached)).toBeGreaterThanOrEqual(expectedTally(10));
});

test("previous routes do not override priorities, and routes do not change before `validUntil`", () => {
  let timed = 0;
  fc.assert(
    fc.property(tenantWithSharedAddresses, randomLinks, moment, (facts, links, now) => {
      const model = compile(facts);
      const inputs = waysOf(links);
      const serving = servingGateways(model, inputs);
      for (const { deviceId } of links.devices) {
        const configuration = deviceConfiguration(model, inputs, deviceId, now);
        if (configuration === undefined) continue;
        const previous = { configuration, serving, isChanged: () => false };
        expect(deviceConfiguration(model, inputs, deviceId, now, previous)).toEqual(configuration);
        const { validUntil } = configuration;
        if (validUntil === undefined) continue;
        // Only integers can be hashed.
        expect(Number.isSafeInteger(validUntil)).toBe(true);
        expect(validUntil).toBeGreaterThan(now);
        const later = deviceConfiguration(model, inputs, deviceId, validUntil - 1);
        expect(later?.gateways).toEqual(configuration.gateways);
        timed += 1;
      }
    }),
    { numRuns: budgeted(200, 20), unbiased: true },
  );
  expect(timed).toBeGreaterThanOrEqual(expectedTally(20));
});

test("a gateway that leaves service affects only the devices that use it", () => {
  let [moved, stayed] = [0, 0];
  fc.assert(
    fc.property(tenantWithSharedAddresses, randomLinks, moment, (facts, links, now) => {
      const model = compile(facts);
      const inputs = waysOf(links);
      const serving = servingGateways(model, inputs);
      for (const gone of serving) {
        const status = (one: GatewayFacts): GatewayFacts => (one.id === gone ? { ...one, status: "OFFLINE" } : one);
        const after = compile({ ...facts, gateways: facts.gateways.map(status) });
        for (const { deviceId } of links.devices) {
          const configuration = deviceConfiguration(model, inputs, deviceId, now);
          if (configuration === undefined) continue;
          const previous = { configuration, serving, isChanged: () => false };
          const later = deviceConfiguration(after, inputs, deviceId, now, previous);
          if (configuration.gateways.some(({ gateway }) => gateway === gone)) {
            expect(later?.gateways.map(({ gateway }) => gateway)).not.toContain(gone);
            moved += 1;
          } else {
            // The order in which relays are tried may differ.
            expect(withSortedRelays(later)).toEqual(withSortedRelays(configuration));
            stayed += 1;
          }
        }
      }
    }),
    { numRuns: budgeted(100, 20), unbiased: true },
  );
  expect(Math.min(moved, stayed)).toBeGreaterThanOrEqual(expectedTally(20));
});

describe("a tenant with one device and three gateways", () => {
  const id = (kind: number, number: number) => `00000000-0000-7000-8000-0000${kind}${String(number).padStart(7, "0")}`;
  const [one, two, three] = [id(1, 1), id(1, 2), id(1, 3)];
  const device = id(2, 1);
  const user = id(3, 1);
  const resource = id(4, 1);
  const block = "10.20.30.0/24";

  const gateway = (gatewayId: string, facts: Partial<GatewayFacts> = {}): GatewayFacts => ({
    id: gatewayId,
    name: gatewayId,
    status: "ONLINE",
    load: 0.2,
    roundTripTimeMs: 10,
    ...facts,
  });

  function modelOf(gateways: readonly GatewayFacts[], mode: "MANUAL" | "AUTOMATIC", options: Options = {}): Model {
    const rule = id(5, 1);
    return compile({
      users: [
        {
          id: user,
          email: "ann@example.com",
          firstName: "",
          lastName: "",
          status: options.userStatus ?? "active",
          attributes: {},
          groups: [],
        },
      ],
      groups: [],
      devices: [
        {
          id: device,
          userId: user,
          active: options.active ?? true,
          name: "Laptop",
          os: "",
          osVersion: "",
          appVersion: "",
          hardwareId: "",
          tags: [],
          agent: true,
          posture: {},
        },
      ],
      gateways,
      resources: [
        {
          id: resource,
          name: "Web",
          type: "PRIVATE",
          loadBalancingMode: mode,
          addresses: (options.addresses ?? [block]).map((address) => ({ address, protocols: [] })),
          gateways: gateways.map((facts) => facts.id),
        },
      ],
      rules: [{ id: rule, name: "Always", type: "ALLOW", text: "true" }],
      policies: [plainPolicy({ id: id(6, 1), name: "Everybody", allUsers: true, allResources: true, rule })],
    } as Parameters<typeof compile>[0]); // all facts that these decisions read
  }

  interface Options {
    readonly userStatus?: "active" | "inactive" | "pending";
    readonly active?: boolean;
    readonly addresses?: readonly string[];
  }

  const links = (isPeer = true): RouteInputs => ({
    devices: new Map([[device, { ipv4: "100.64.0.1", ipv6: "fd00::1", isPeer, sources: noSources, country: null }]]),
    gateways: new Map(
      [one, two, three].map((gatewayId, index): [string, GatewayLink] => [
        gatewayId,
        {
          gatewayId,
          ipv4: `100.64.1.${index}`,
          ipv6: `fd00::1:${index}`,
          publicKey: "E".repeat(43),
          listenPort: 51_820,
          endpoint: `192.0.2.${index + 1}:51820`,
          relayEnabled: false,
          relayPort: null,
          drain: null,
          dns: { resolvers: [], domains: [] },
          networks: null,
        },
      ]),
    ),
  });

  const configured = (model: Model, previous?: Parameters<typeof deviceConfiguration>[4]) => {
    const configuration = deviceConfiguration(model, links(), device, 0, previous);
    if (configuration === undefined) throw new Error("the device is known");
    return { configuration, serving: servingGateways(model, links()), isChanged: () => false };
  };
  const gatewayIn = ({ configuration }: ReturnType<typeof configured>) =>
    configuration.gateways.find(({ allowedIps }) => allowedIps.includes(block))?.gateway;
  const all = (loads: Readonly<Record<string, number>> = {}) =>
    [one, two, three].map((gatewayId) => gateway(gatewayId, { load: loads[gatewayId] ?? 0.2 }));

  test.each<[string, Options, boolean]>([
    ["a deactivated device", { active: false }, true],
    ["a device of a deactivated user", { userStatus: "inactive" }, true],
    ["a device of a user who is invited", { userStatus: "pending" }, true],
    ["a device whose key no gateway can take", {}, false],
  ])("%s has no gateways", (_whose, options, isPeer) => {
    const model = modelOf(all(), "MANUAL", options);
    expect(deviceConfiguration(model, links(isPeer), device, 0)).toEqual({
      device,
      ipv4: "100.64.0.1",
      ipv6: "fd00::1",
      gateways: [],
    });
  });

  test("an unknown device has no configuration", () => {
    expect(deviceConfiguration(modelOf(all(), "MANUAL"), links(), id(2, 2), 0)).toBeUndefined();
  });

  test("addresses, blocks and names of both families appear once", () => {
    const addresses = [
      "10.0.0.1",
      "2001:DB8::1",
      "fd12:3456::/32",
      "fd12:3456:0::/32",
      "10.0.0.0/8",
      "git.example.com",
      "*.example.com",
    ];
    const { configuration } = configured(modelOf(all(), "MANUAL", { addresses }));
    expect(configuration.gateways).toEqual([
      expect.objectContaining({
        gateway: one,
        allowedIps: ["10.0.0.0/8", "10.0.0.1/32", "2001:db8::1/128", "fd12:3456::/32"],
        names: ["*.example.com", "git.example.com"],
      }),
    ]);
  });

  test("load selects the gateway of a new device and moves no existing one", () => {
    const before = configured(modelOf(all(), "AUTOMATIC"));
    const current = gatewayIn(before) ?? "";
    const loaded = modelOf(all({ [current]: 1 }), "AUTOMATIC");
    expect(gatewayIn(configured(loaded, before))).toBe(current);
    expect(gatewayIn(configured(loaded))).not.toBe(current);
  });

  test("a gateway that fails moves its own devices, which return with it", () => {
    const before = configured(modelOf(all(), "AUTOMATIC"));
    const current = gatewayIn(before) ?? "";
    const others = [one, two, three].filter((gatewayId) => gatewayId !== current);
    const without = (gone: string) =>
      modelOf(
        all().map((facts) => (facts.id === gone ? { ...facts, status: "OFFLINE" } : facts)),
        "AUTOMATIC",
      );
    for (const gone of others) expect(gatewayIn(configured(without(gone), before))).toBe(current);
    const moved = configured(without(current), before);
    expect(others).toContain(gatewayIn(moved));
    expect(gatewayIn(configured(modelOf(all(), "AUTOMATIC"), moved))).toBe(current);
  });

  test("a new order of priority moves devices at once", () => {
    const before = configured(modelOf(all(), "MANUAL"));
    expect(gatewayIn(before)).toBe(one);
    expect(gatewayIn(configured(modelOf([gateway(two), gateway(one)], "MANUAL"), before))).toBe(two);
  });

  test("a change of the resource lets load decide again", () => {
    const before = configured(modelOf(all(), "AUTOMATIC"));
    const current = gatewayIn(before) ?? "";
    const loaded = modelOf(all({ [current]: 1 }), "AUTOMATIC");
    expect(gatewayIn(configured(loaded, { ...before, isChanged: () => true }))).not.toBe(current);
  });
});
