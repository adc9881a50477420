import { describe, expect, test } from "vitest";
import { exampleDeviceConfiguration, exampleGateways, exampleOutage } from "../testing/example-device-configuration.ts";
import { type LocalNetwork, unknownNetwork } from "./local-network.ts";
import { everythingTable, tunnelTable, wantedRules } from "./routing-rules.ts";
import { unservedKey } from "./unserved-peer.ts";
import { bypassRouteOf, isClosedToNames, type TunnelInputs, wantedTunnel } from "./wanted-tunnel.ts";

const configuration = exampleDeviceConfiguration();
const [one, two] = configuration.gateways.map(({ publicKey }) => publicKey) as [string, string];
const pathTo: TunnelInputs["pathTo"] = ({ gateway }) =>
  gateway === exampleGateways.one ? "192.0.2.1:51820" : "[2001:db8::2]:51820";
const controlPlane = [{ address: "198.51.100.5", protocol: "tcp", port: 443 }] as const;
const inputs: TunnelInputs = { named: new Map(), pathTo, controlPlane, local: unknownNetwork };
const blocksOf = (key: string, named = new Map<string, readonly string[]>(), given = configuration) =>
  wantedTunnel(given, { ...inputs, named }).peers.get(key)?.allowedIps;

test("each gateway has its tunnel addresses and its blocks", () => {
  const { peers, addresses, routes, bypassRoutes } = wantedTunnel(configuration, inputs);
  expect(addresses).toEqual(["100.64.0.1/32", "fd64::1/128"]);
  expect(peers.get(one)).toEqual({
    endpoint: "192.0.2.1:51820",
    allowedIps: ["100.64.255.1/32", "fd64::ff:1/128", "10.80.0.0/24", "fd80::/64"],
  });
  expect(peers.get(two)?.endpoint).toBe("[2001:db8::2]:51820");
  expect(routes).toHaveLength(7);
  expect(bypassRoutes).toEqual([]);
});

test.each<[what: string, named: Record<string, readonly string[]>, one: readonly string[], two: readonly string[]]>([
  [
    "an address of a name is routed through the name's gateway",
    { "10.90.0.1": ["git.internal.example.com"] },
    ["10.90.0.1/32"],
    [],
  ],
  ["even inside a block of another gateway", { "10.80.0.9": ["*.internal.example.com"] }, [], ["10.80.0.9/32"]],
  [
    "an exact name takes precedence over a wildcard",
    { "2001:db8::9": ["*.internal.example.com", "git.internal.example.com"] },
    ["2001:db8::9/128"],
    [],
  ],
  [
    "addresses that the configuration assigns are not reassigned",
    { "10.81.0.7": ["git.internal.example.com"] },
    [],
    [],
  ],
  [
    "tunnel addresses are not reassigned",
    { "100.64.255.2": ["git.internal.example.com"], "100.64.0.1": ["git.internal.example.com"] },
    [],
    [],
  ],
  [
    "non-routable addresses are ignored",
    { "127.0.0.1": ["git.internal.example.com"], "169.254.1.1": ["git.internal.example.com"] },
    [],
    [],
  ],
  ["names that the configuration no longer has are ignored", { "10.90.0.1": ["old.example.com"] }, [], []],
])("%s", (_, named, ofOne, ofTwo) => {
  const map = new Map(Object.entries(named));
  expect(blocksOf(one, map)?.slice(4)).toEqual(ofOne);
  expect(blocksOf(two, map)?.slice(3)).toEqual(ofTwo);
});

test("40,000 addresses of names are assigned at once", { timeout: 15_000 }, () => {
  const addresses = Array.from({ length: 40_000 }, (_, n) => `10.90.${n >> 8}.${n & 255}`);
  const named = new Map(addresses.map((address) => [address, ["git.internal.example.com"]]));
  expect(blocksOf(one, named)?.slice(4)).toHaveLength(addresses.length);
});

test("the internet gateway carries everything except the addresses that the tunnel depends on", () => {
  const everywhere = { ...configuration, internet: exampleGateways.two };
  expect(blocksOf(two, undefined, everywhere)?.slice(-2)).toEqual(["0.0.0.0/0", "::/0"]);
  const wanted = wantedTunnel(everywhere, inputs);
  expect(wanted.bypassRoutes.map(({ port, protocol }) => `${protocol} ${port}`)).toEqual([
    "udp 51820",
    "udp 51820",
    "tcp 443",
  ]);
  expect(wantedRules(wanted, "-4")).toEqual([
    "ipproto udp dport 67 lookup main priority 5198",
    "to 192.0.2.1 ipproto udp dport 51820 lookup main priority 5198",
    "to 198.51.100.5 ipproto tcp dport 443 lookup main priority 5198",
    "fwmark 0x6749 lookup 26442 priority 5199",
    `not fwmark 0x6748 lookup ${tunnelTable} priority 5200`,
    "lookup main suppress_prefixlength 0 priority 5201",
    "fwmark 0x6749 lookup 26443 priority 5202",
    `not fwmark 0x6748 lookup ${everythingTable} priority 5203`,
  ]);
  expect(wantedRules(wanted, "-6")).toHaveLength(6);
});

describe("a name with an address that the machine depends on", () => {
  const names = ["git.internal.example.com"];
  const dns = ["udp 53", "tcp 53", "udp 853", "tcp 853"];
  const wantedIn = (addresses: readonly string[], local: Partial<LocalNetwork>, given = configuration) => {
    const named = new Map(addresses.map((address) => [address, names]));
    const wanted = wantedTunnel(given, { ...inputs, named, local: { ...unknownNetwork, ...local } });
    const bypass = wanted.bypassRoutes.map(({ address, protocol, port }) => `${address} ${protocol} ${port}`);
    const [ofOne = [], ofTwo = []] = [one, two].map((key) => wanted.peers.get(key)?.allowedIps);
    return { routes: wanted.routes.slice(7), ofOne: ofOne.slice(4), ofTwo: ofTwo.slice(3), bypass };
  };

  test.each(["192.168.1.1", "2001:db8:1::53"])("does not capture DNS of the resolver %s", (address) => {
    const { ofOne, bypass } = wantedIn([address], { resolvers: new Set([address]) });
    expect(ofOne).toEqual([`${address}/${address.includes(":") ? 128 : 32}`]);
    expect(bypass).toEqual(dns.map((each) => `${address} ${each}`));
  });

  test("does not capture a router, whichever way the gateway writes its address", () => {
    const [router, router6] = ["192.168.1.1", "2001:db8::1:0:0:1"];
    const { ofOne, ofTwo, bypass } = wantedIn([router, "2001:db8:0:0:1::1"], { routers: new Set([router, router6]) });
    expect([ofOne, ofTwo]).toEqual([[], []]);
    expect(bypass).toEqual([router, router6].flatMap((address) => dns.map((each) => `${address} ${each}`)));
  });

  test("leaves a resolver and a router in the block of the configuration that contains them", () => {
    const wildcard = { "10.80.0.53": ["*.internal.example.com"], "10.80.0.1": ["*.internal.example.com"] };
    const local = { resolvers: new Set(["10.80.0.53", "10.80.0.54"]), routers: new Set(["10.80.0.1"]) };
    const wanted = wantedTunnel(configuration, { ...inputs, named: new Map(Object.entries(wildcard)), local });
    expect(wanted).toEqual(wantedTunnel(configuration, inputs));
  });

  test("does not capture the endpoints of gateways and the control plane", () => {
    const { bypass } = wantedIn(["192.0.2.1", "2001:db8::2", "198.51.100.5"], {});
    expect(bypass).toEqual(["192.0.2.1 udp 51820", "2001:db8::2 udp 51820", "198.51.100.5 tcp 443"]);
  });

  test("is closed to names only if the address is a router outside the blocks of the configuration", () => {
    const local = { resolvers: new Set(["192.168.1.53"]), routers: new Set(["192.168.1.1", "10.80.0.1"]) };
    const closed = ["192.168.1.1", "10.80.0.1", "192.168.1.53", "192.168.1.2"].filter((address) =>
      isClosedToNames(configuration, local, address),
    );
    expect(closed).toEqual(["192.168.1.1"]);
  });
});

describe("unserved addresses", () => {
  const outage = exampleOutage();
  const closed = ["10.80.0.0/24", "fd80::/64"];

  test("go into the tunnel, to a peer without an endpoint", () => {
    const { peers, routes } = wantedTunnel(outage, inputs);
    expect(peers.get(unservedKey)).toEqual({ endpoint: undefined, allowedIps: closed });
    expect(routes).toEqual(expect.arrayContaining(closed));
    expect(wantedTunnel({ ...outage, gateways: [] }, inputs).routes).toEqual(closed);
  });

  test("do not include the control plane and the endpoints of gateways", () => {
    const { bypassRoutes } = wantedTunnel(
      { ...outage, unserved: { addresses: ["198.51.100.0/24", "2001:db8::/32"], names: [] } },
      inputs,
    );
    expect(bypassRoutes.map(({ address }) => address)).toEqual(["2001:db8::2", "198.51.100.5"]);
  });

  test("include the last known addresses of unserved names", () => {
    expect(blocksOf(unservedKey, new Map([["10.90.0.1", ["git.internal.example.com"]]]), outage)).toEqual([
      ...closed,
      "10.90.0.1/32",
    ]);
  });

  test("do not include addresses that a gateway carries", () => {
    const named = new Map([["10.90.0.1", ["git.internal.example.com", "*.internal.example.com"]]]);
    expect(blocksOf(unservedKey, named, outage)).toEqual(closed);
    expect(blocksOf(two, named, outage)).toContain("10.90.0.1/32");
    // More specific than the unserved address.
    expect(blocksOf(two, new Map([["10.80.0.9", ["*.internal.example.com"]]]), outage)).toContain("10.80.0.9/32");
    const { unserved: _, ...without } = outage;
    const both = { ...without, unserved: { addresses: ["10.81.0.7/32"], names: [] } };
    expect(wantedTunnel(both, inputs)).toEqual(wantedTunnel(without, inputs));
  });

  test("do not go to the gateway for internet traffic", () => {
    expect(blocksOf(unservedKey, undefined, { ...outage, internet: exampleGateways.two })).toEqual(closed);
  });

  test("leave DNS of the resolver and the router of the network outside the tunnel", () => {
    const local = { resolvers: new Set(["10.80.0.53", "192.168.1.53"]), routers: new Set(["fd80::1"]) };
    const dnsOf = (given: typeof outage, network: LocalNetwork = local) => {
      const { bypassRoutes } = wantedTunnel(given, { ...inputs, local: network });
      return [...new Set(bypassRoutes.filter(({ port }) => port === 53).map(({ address }) => address))];
    };
    expect(dnsOf(outage)).toEqual(["10.80.0.53", "fd80::1"]);
    expect(dnsOf({ ...outage, internet: exampleGateways.two })).toEqual(["10.80.0.53", "fd80::1"]);
    // A gateway carries a block in the unserved block, or the other way round.
    const [gateway] = outage.gateways as [(typeof outage.gateways)[number]];
    const carrying = (block: string) => ({ ...outage, gateways: [{ ...gateway, allowedIps: [block] }] });
    expect(dnsOf(carrying("10.80.0.48/28"))).toEqual(["fd80::1"]);
    expect(dnsOf(carrying("10.0.0.0/8"))).toEqual(["10.80.0.53", "fd80::1"]);
    expect(dnsOf(outage, unknownNetwork)).toEqual([]);
    expect(dnsOf(configuration)).toEqual([]);
  });

  test("leave the router of the network in an unserved block", () => {
    const local = { resolvers: new Set<string>(), routers: new Set(["10.80.0.1"]) };
    expect(isClosedToNames(outage, local, "10.80.0.1")).toBe(false);
  });
});

test("a configuration without gateways has no routes", () => {
  const wanted = wantedTunnel({ ...configuration, gateways: [] }, inputs);
  expect(wanted.routes).toEqual([]);
  expect(wantedRules(wanted, "-4")).toEqual([]);
});

test.each([
  ["192.0.2.1:51820", "192.0.2.1"],
  ["[2001:db8::1]:51820", "2001:db8::1"],
])("%s is a bypass route", (text, address) => {
  expect(bypassRouteOf(text, "udp")).toEqual({ address, protocol: "udp", port: 51820 });
});

test.each(["gateway.example.com:51820", "192.0.2.1", ""])("%j is not a bypass route", (text) => {
  expect(bypassRouteOf(text, "udp")).toBeUndefined();
});
