import type { InternetPolicies } from "@gatehouse/policy/enforcement/internet-gateways";
import { compile } from "@gatehouse/policy/model/model";
import { finish, type Work } from "@gatehouse/policy/work";
import { describe, expect, test, vi } from "vitest";
import type { GatewayLinkRow } from "../../agent-identity/link-facts.queries.ts";
import { ForwardingAddresses } from "./forwarding-addresses.ts";

const row = (id: string, endpoint: string, reported = "", relays = true) =>
  ({ id, endpoint, reported_endpoint: reported, relay_enabled: relays }) as GatewayLinkRow;
const site = (id: string, endpoint: string, reported = "") => row(id, endpoint, reported, false);

const noFacts = { users: [], groups: [], devices: [], gateways: [], resources: [], rules: [] };
const noSubjects = { groups: [], users: [], devices: [], resources: [], sourceIps: [] };
const everything = { allUsers: true, allGroups: true, allDevices: true, allResources: true };

/** The policies that carry internet traffic through these gateways. */
function carriedBy(...gateways: string[]): InternetPolicies {
  const scope = { ...noSubjects, ...everything, isDefault: false, rule: "rule", gateways };
  const mode = "INTERNET_ACCESS_POINT" as const;
  const policy = { id: "policy", name: "Internet", type: "INTERNET" as const, active: true, action: true, mode };
  return compile({ ...noFacts, policies: [{ ...policy, ...scope }] }).policies.INTERNET;
}

const perform = async (work: Work<void>) => finish(work);

async function addressesOf(rows: readonly GatewayLinkRow[], ...internetGateways: string[]) {
  const addresses = new ForwardingAddresses(rows);
  await addresses.follow(carriedBy(...internetGateways), perform);
  return addresses;
}

test.each([
  ["a configured address", row("relay", "192.0.2.1"), "192.0.2.1", "0.0.0.0"],
  ["a configured IPv6 address", row("relay", "2001:DB8::1"), "2001:db8::1", "::"],
  [
    "the address of the connection of a relay with a host name",
    row("relay", "vpn.example.com", "192.0.2.1"),
    "192.0.2.1",
    "0.0.0.0",
  ],
  ["a reported endpoint", row("relay", "", "192.0.2.1:51820"), "192.0.2.1", "0.0.0.0"],
  ["a reported IPv6 endpoint", row("relay", "", "[2001:db8::1]:51820"), "2001:db8::1", "::"],
  ["another address", row("relay", "192.0.2.1"), "192.0.2.2", "192.0.2.2"],
  ["a gateway that does not relay", site("relay", "192.0.2.1"), "192.0.2.1", "192.0.2.1"],
  ["the observer itself", row("observer", "192.0.2.1"), "192.0.2.1", "192.0.2.1"],
  ["a relay without an address", row("relay", "vpn.example.com"), "192.0.2.1", "192.0.2.1"],
])("an observation of %s", async (_what, relay, observed, proved) => {
  const relays = await addressesOf([relay]);
  expect(relays.ofGateway("observer", observed, "198.51.100.9")).toBe(proved);
  expect(relays.ofGateway("observer", observed, observed)).toBe(observed);
  expect(relays.ofControlPlane(observed)).toBe(observed);
});

test("a relay that was disabled or deleted hides no address", async () => {
  const relays = await addressesOf([row("one", "192.0.2.1"), row("two", "192.0.2.2")]);
  relays.set(site("one", "192.0.2.1"));
  relays.delete("two");
  for (const address of ["192.0.2.1", "192.0.2.2"]) expect(relays.ofGateway("x", address, undefined)).toBe(address);
});

describe("the address of a gateway that carries internet traffic", () => {
  test.each([
    ["that is configured", site("exit", "192.0.2.1"), "192.0.2.1", "0.0.0.0"],
    ["that is configured, over IPv6", site("exit", "2001:DB8::1"), "2001:db8::1", "::"],
    ["of its connection", site("exit", "vpn.example.com", "192.0.2.1"), "192.0.2.1", "0.0.0.0"],
    ["that another gateway shares", site("exit", "192.0.2.1"), "192.0.2.1", "0.0.0.0"],
    ["that also relays", row("exit", "192.0.2.1"), "192.0.2.1", "0.0.0.0"],
    ["that made the observation", site("observer", "192.0.2.1"), "192.0.2.1", "0.0.0.0"],
  ])("%s is stored as the unspecified address", async (_what, exit, observed, proved) => {
    const addresses = await addressesOf([site("other", "192.0.2.1"), exit], exit.id);
    expect(addresses.ofGateway("observer", observed, "198.51.100.9")).toBe(proved);
    expect(addresses.ofGateway("observer", observed, observed)).toBe(proved);
    expect(addresses.ofControlPlane(observed)).toBe(proved);
  });

  test("counts again when its policies and its record change", async () => {
    const addresses = await addressesOf([site("exit", "192.0.2.1"), site("gone", "192.0.2.2")], "exit", "gone");
    expect(addresses.ofControlPlane("192.0.2.2")).toBe("0.0.0.0");
    addresses.delete("gone");
    expect(addresses.ofControlPlane("192.0.2.2")).toBe("192.0.2.2");
    const list = carriedBy("gone");
    const performed = vi.fn(perform);
    await addresses.follow(list, performed);
    await addresses.follow(list, performed);
    expect(performed).toHaveBeenCalledOnce();
    expect(addresses.ofControlPlane("192.0.2.1")).toBe("192.0.2.1");
    // The policies precede the record of a new gateway.
    addresses.set(site("gone", "192.0.2.3"));
    expect(addresses.ofControlPlane("192.0.2.3")).toBe("0.0.0.0");
  });
});
