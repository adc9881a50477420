import type { PolicyMode } from "@gatehouse/contract/records/policy";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { budgeted, expectedTally } from "../../../../test/budget.ts";
import type { GatewayFacts, PolicyFacts, ResourceFacts, TenantFacts } from "../model/facts.ts";
import { compile } from "../model/model.ts";
import { plainPolicy } from "../testing/plain-policy.ts";
import { randomLinks } from "../testing/random-links.ts";
import { moment } from "../testing/random-request.ts";
import { randomTenant } from "../testing/random-tenant.ts";
import { decideAtGatewaysByContract } from "../testing/reference-decision-at-gateways.ts";
import { deviceConfiguration, type RouteInputs } from "./device-routes.ts";
import { noSources, sourceAt, sourcesAtGateways } from "./device-sources.ts";
import type { GatewayLink } from "./links.ts";
import { addressesOf } from "./parsed-addresses.ts";

/** The addresses of PRIVATE resources that the device could reach if all deployed gateways were in service. */
function reachableIfAllServe(facts: TenantFacts, inputs: RouteInputs, deviceId: string, now: number): Set<string> {
  const { sources = noSources, country = null } = inputs.devices.get(deviceId) ?? {};
  const sourceIp = sourceAt(sources);
  const gateways = facts.gateways.map(
    (one): GatewayFacts => (one.status === "PENDING" ? one : { ...one, status: "ONLINE" }),
  );
  const online = { ...facts, gateways };
  const isReachable = ({ id, type }: ResourceFacts) => {
    const request = {
      subject: { kind: "device", deviceId } as const,
      destination: { kind: "resource", resourceId: id } as const,
      now,
      ...(sourceIp === null ? {} : { sourceIp }),
      ...(country === null ? {} : { country }),
    };
    const decision = decideAtGatewaysByContract(online, request, sourcesAtGateways(sources));
    return type === "PRIVATE" && decision.gateways.length > 0;
  };
  const model = compile(facts);
  const found = facts.resources.filter(isReachable).flatMap(({ id }) => {
    const resource = model.resources.get(id);
    return resource === undefined ? [] : addressesOf(resource);
  });
  return new Set(found.map(({ key }) => key));
}

test("a device blocks exactly the private addresses that only gateways out of service could carry", () => {
  let [unserved, served] = [0, 0];
  fc.assert(
    fc.property(randomTenant, randomLinks, moment, (facts, links, now) => {
      const inputs = {
        devices: new Map(links.devices.map((link) => [link.deviceId, { ...link, isPeer: true }])),
        gateways: new Map(links.gateways.map((link) => [link.gatewayId, link])),
      };
      for (const { deviceId } of links.devices) {
        const configured = deviceConfiguration(compile(facts), inputs, deviceId, now);
        const carried = (configured?.gateways ?? []).flatMap(({ allowedIps, names }) => [...allowedIps, ...names]);
        const wanted = reachableIfAllServe(facts, inputs, deviceId, now);
        for (const key of carried) wanted.delete(key);
        const { addresses = [], names = [] } = configured?.unserved ?? {};
        expect([...addresses, ...names].sort()).toEqual([...wanted].sort());
        expect(configured?.unserved === undefined).toBe(wanted.size === 0);
        unserved += wanted.size;
        served += carried.length;
      }
    }),
    { numRuns: budgeted(200, 20), unbiased: true },
  );
  expect(Math.min(unserved, served)).toBeGreaterThanOrEqual(expectedTally(100));
});

describe("a resource whose gateway is out of service", () => {
  const id = (kind: number, number: number) => `00000000-0000-7000-8000-0000${kind}${String(number).padStart(7, "0")}`;
  const [one, two] = [id(1, 1), id(1, 2)];
  const [device, user, rule] = [id(2, 1), id(3, 1), id(5, 1)];
  type Status = GatewayFacts["status"];

  interface Example {
    /** The status of two gateways. */
    readonly statuses?: readonly [Status, Status];
    readonly resources: readonly Partial<ResourceFacts>[];
    readonly policy?: Partial<PolicyFacts>;
    /** A gateway that devices cannot find. */
    readonly hidden?: string;
  }

  function configured({ statuses = ["OFFLINE", "OFFLINE"], resources, policy = {}, hidden }: Example) {
    const model = compile({
      users: [
        {
          id: user,
          email: "ann@example.com",
          firstName: "",
          lastName: "",
          status: "active",
          attributes: {},
          groups: [],
        },
      ],
      groups: [],
      devices: [
        {
          ...{ id: device, userId: user, active: true, name: "Laptop", os: "", osVersion: "", appVersion: "" },
          ...{ hardwareId: "", tags: [], agent: true, posture: {} },
        },
      ],
      gateways: [one, two].map((gateway, index) => ({
        ...{ id: gateway, name: gateway, status: statuses[index], load: 0.2, roundTripTimeMs: 10 },
      })),
      resources: resources.map((facts, index) => ({
        ...{ id: id(4, index + 1), name: `R${index}`, type: "PRIVATE", loadBalancingMode: "MANUAL", gateways: [one] },
        ...facts,
      })),
      rules: [{ id: rule, name: "Always", type: "ALLOW", text: "true" }],
      policies: (["PRIVATE", "SAAS", "INTERNET"] as const).map((type, index) =>
        plainPolicy({
          ...{ id: id(6, index + 1), name: type, type, allUsers: true, allResources: true, rule },
          ...(type === "INTERNET" ? { mode: "LOCAL" } : {}),
          ...policy,
        }),
      ),
    } as Parameters<typeof compile>[0]); // all facts that these decisions read
    const link = (gatewayId: string, index: number): [string, GatewayLink] => [
      gatewayId,
      {
        ...{ gatewayId, ipv4: `100.64.1.${index}`, ipv6: `fd00::1:${index}`, publicKey: "E".repeat(43) },
        ...{ listenPort: 51_820, endpoint: gatewayId === hidden ? null : `192.0.2.${index + 1}:51820` },
        ...{ relayEnabled: false, relayPort: null, drain: null, dns: { resolvers: [], domains: [] }, networks: null },
      },
    ];
    const inputs: RouteInputs = {
      devices: new Map([
        [device, { ipv4: "100.64.0.1", ipv6: "fd00::1", isPeer: true, sources: noSources, country: null }],
      ]),
      gateways: new Map([one, two].map(link)),
    };
    const { gateways, unserved } = deviceConfiguration(model, inputs, device, 0) ?? { gateways: [] };
    const carried = gateways.flatMap(({ allowedIps, names }) => [...allowedIps, ...names]);
    return { carried, unserved: [...(unserved?.addresses ?? []), ...(unserved?.names ?? [])] };
  }

  const at = (address: string) => [{ address, protocols: [] }];
  const app = { addresses: [...at("10.0.0.0/24"), ...at("git.example.com")] };
  const appKeys = ["10.0.0.0/24", "git.example.com"];
  const internetMode = (mode: PolicyMode) => ({ mode, gateways: [] });

  test.each<[what: string, Example, carried: readonly string[], unserved: readonly string[]]>([
    ["a gateway in service", { statuses: ["ONLINE", "OFFLINE"], resources: [app] }, appKeys, []],
    ["a gateway that is OFFLINE", { resources: [app] }, [], appKeys],
    ["a gateway in MAINTENANCE", { statuses: ["MAINTENANCE", "ONLINE"], resources: [app] }, [], appKeys],
    ["a gateway with an ERROR", { statuses: ["ERROR", "ONLINE"], resources: [app] }, [], appKeys],
    ["a PENDING gateway", { statuses: ["PENDING", "ONLINE"], resources: [app] }, [], []],
    [
      "a PENDING gateway and one that is OFFLINE",
      { statuses: ["PENDING", "OFFLINE"], resources: [{ ...app, gateways: [one, two] }] },
      [],
      appKeys,
    ],
    [
      "an ONLINE gateway that devices cannot find",
      { statuses: ["ONLINE", "ONLINE"], hidden: one, resources: [app] },
      [],
      appKeys,
    ],
    [
      "two gateways, one in service",
      { statuses: ["OFFLINE", "ONLINE"], resources: [{ ...app, gateways: [one, two] }] },
      appKeys,
      [],
    ],
    ["two gateways out of service", { resources: [{ ...app, gateways: [one, two] }] }, [], appKeys],
    ["no gateway", { resources: [{ ...app, gateways: [] }] }, [], []],
    ["a policy that names only another gateway", { resources: [app], policy: { gateways: [two] } }, [], []],
    ["a policy that denies", { resources: [app], policy: { action: false } }, [], []],
    ["type SAAS", { resources: [{ ...app, type: "SAAS" }] }, [], []],
    ...(["LOCAL", "RESTRICTED", "INTERNET_ACCESS_POINT"] as const).flatMap((mode): [string, Example, [], []][] => [
      [
        `type INTERNET, mode ${mode}`,
        { resources: [{ ...app, type: "INTERNET" }], policy: internetMode(mode) },
        [],
        [],
      ],
      [
        `type INTERNET, mode ${mode}, without its own gateway`,
        { resources: [{ ...app, type: "INTERNET", gateways: [] }], policy: { mode, gateways: [one] } },
        [],
        [],
      ],
    ]),
    [
      "a block in a block of a gateway in service",
      {
        statuses: ["OFFLINE", "ONLINE"],
        resources: [{ addresses: at("10.0.0.0/8"), gateways: [two] }, app],
      },
      ["10.0.0.0/8"],
      appKeys,
    ],
    [
      "the address of a later resource with a gateway in service",
      { statuses: ["OFFLINE", "ONLINE"], resources: [app, { addresses: at("10.0.0.0/24"), gateways: [two] }] },
      ["10.0.0.0/24"],
      ["git.example.com"],
    ],
  ])("%s", (_, example, carried, unserved) => {
    expect(configured(example)).toEqual({ carried, unserved });
  });
});
