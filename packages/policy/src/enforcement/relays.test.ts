import { describe, expect, test } from "vitest";
import { compile } from "../model/model.ts";
import { plainPolicy } from "../testing/plain-policy.ts";
import { finish } from "../work.ts";
import { deviceConfiguration } from "./device-routes.ts";
import { noSources } from "./device-sources.ts";
import { settingsOf } from "./gateway-rules.ts";
import type { GatewayLink } from "./links.ts";
import { TenantEnforcement } from "./tenant-enforcement.ts";

const id = (number: number) => `0199aaaa-0000-7000-8000-0000000000${String(number).padStart(2, "0")}`;
const [target, relay, user, device, resource, rule] = [id(1), id(2), id(3), id(4), id(5), id(6)] as const;

const policy = plainPolicy({ id: id(7), name: "Everybody", allUsers: true, allResources: true, rule });

/** Gateways with these ids and statuses. */
const gatewaysOf = (statuses: Readonly<Record<string, "ONLINE" | "OFFLINE">>) =>
  Object.entries(statuses).map(([gateway, status]) => ({
    id: gateway,
    name: gateway,
    status,
    load: null,
    roundTripTimeMs: null,
  }));
const facts: Parameters<typeof compile>[0] = {
  users: [
    { id: user, email: "ann@example.com", firstName: "", lastName: "", status: "active", groups: [], attributes: {} },
  ],
  groups: [],
  devices: [
    {
      id: device,
      userId: user,
      active: true,
      name: "",
      os: "",
      osVersion: "",
      appVersion: "",
      hardwareId: "",
      tags: [],
      agent: true,
      posture: {},
    },
  ],
  gateways: gatewaysOf({ [target]: "ONLINE", [relay]: "ONLINE" }),
  resources: [
    {
      id: resource,
      name: "App",
      type: "PRIVATE",
      loadBalancingMode: "MANUAL",
      addresses: [{ address: "10.80.0.11", protocols: [] }],
      gateways: [target],
    },
  ],
  rules: [{ id: rule, name: "Anybody", type: "ALLOW", text: null }],
  policies: [policy],
};
const model = compile(facts);

function link(gatewayId: string, changes: Partial<GatewayLink>): GatewayLink {
  return {
    gatewayId,
    ipv4: "100.64.255.1",
    ipv6: "fd64::ff:1",
    publicKey: `${"A".repeat(43)}=`,
    listenPort: 51820,
    endpoint: null,
    relayEnabled: false,
    relayPort: null,
    drain: null,
    dns: { resolvers: [], domains: [] },
    networks: null,
    ...changes,
  };
}

const way = { ipv4: "100.64.0.1", ipv6: "fd64::1", isPeer: true, sources: noSources, country: null };
const relayed = { endpoint: "[2001:db8::1]:51820", relayPort: 51901 };
const relaying = { endpoint: "relay.example.com:51820", relayEnabled: true };

describe("devices receive exactly the relays that are configured for the gateway", () => {
  test.each([
    ["one that may relay", relayed, relaying, ["relay.example.com:51901"]],
    ["one that may not", relayed, { ...relaying, relayEnabled: false }, []],
    ["a gateway without a relay port", { ...relayed, relayPort: null }, relaying, []],
    ["a relay that listens on the port itself", relayed, { ...relaying, listenPort: 51901 }, []],
    ["a gateway that is its own relay", { ...relayed, relayEnabled: true }, {}, []],
  ])("%s", (_what, ofTarget, ofRelay, relays) => {
    const links = [link(target, ofTarget), link(relay, ofRelay)];
    const known = {
      devices: new Map([[device, way]]),
      gateways: new Map(links.map((one) => [one.gatewayId, one])),
    };
    expect(deviceConfiguration(model, known, device, 0)?.gateways[0]?.relays).toEqual(relays);
    const told = links.flatMap((one) => settingsOf(one, ["100.64.0.0/10"], undefined, links).relay ?? []);
    expect(told).toEqual(relays.map(() => ({ listenPort: 51901, endpoint: relayed.endpoint })));
  });
});

test("devices receive relays in service first", () => {
  const relays = [id(10), id(11), id(12)] as const;
  const [first, second, third] = relays;
  const links = [
    link(target, relayed),
    ...relays.map((one, index) => link(one, { ...relaying, endpoint: `192.0.2.${index + 1}:51820` })),
  ];
  const known = {
    devices: new Map([[device, way]]),
    gateways: new Map(links.map((one) => [one.gatewayId, one])),
  };
  const statuses = { [target]: "ONLINE", [first]: "OFFLINE", [second]: "ONLINE", [third]: "OFFLINE" } as const;
  const configuration = deviceConfiguration(compile({ ...facts, gateways: gatewaysOf(statuses) }), known, device, 0);
  expect(configuration?.gateways[0]?.relays).toEqual(["192.0.2.2:51901", "192.0.2.1:51901", "192.0.2.3:51901"]);
});

test("a relay, and no other gateway, gets the new endpoint of a gateway for which it relays", () => {
  const other = id(10);
  const statuses = { [target]: "ONLINE", [relay]: "ONLINE", [other]: "ONLINE" } as const;
  const three = compile({ ...facts, gateways: gatewaysOf(statuses) });
  const gateways = [link(target, relayed), link(relay, relaying), link(other, {})];
  const links = { pools: ["100.64.0.0/10"], devices: [], gateways };
  const enforcement = finish(TenantEnforcement.composing(three, links, { from: 0, until: 3_600_000 }));
  const endpoint = "[2001:db8::2]:51820";
  const change = { kind: "gateway-link", link: link(target, { ...relayed, endpoint }) } as const;
  expect(finish(enforcement.updating(three, [change], 0))).toEqual([relay]);
  expect(enforcement.contentOf(relay)?.settings.relay).toEqual([{ listenPort: relayed.relayPort, endpoint }]);
});
