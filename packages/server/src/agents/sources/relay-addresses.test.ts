import { expect, test } from "vitest";
import type { GatewayLinkRow } from "../../agent-identity/link-facts.queries.ts";
import { RelayAddresses } from "./relay-addresses.ts";

const row = (id: string, endpoint: string, reported = "", relays = true) =>
  ({ id, endpoint, reported_endpoint: reported, relay_enabled: relays }) as GatewayLinkRow;

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
  ["a gateway that does not relay", row("relay", "192.0.2.1", "", false), "192.0.2.1", "192.0.2.1"],
  ["the observer itself", row("observer", "192.0.2.1"), "192.0.2.1", "192.0.2.1"],
  ["a relay without an address", row("relay", "vpn.example.com"), "192.0.2.1", "192.0.2.1"],
])("an observation of %s", (_what, relay, observed, proved) => {
  const relays = new RelayAddresses([relay]);
  expect(relays.evidence("observer", observed, "198.51.100.9")).toBe(proved);
  expect(relays.evidence("observer", observed, observed)).toBe(observed);
});

test("a relay that was disabled or deleted hides no address", () => {
  const relays = new RelayAddresses([row("one", "192.0.2.1"), row("two", "192.0.2.2")]);
  relays.set(row("one", "192.0.2.1", "", false));
  relays.delete("two");
  for (const address of ["192.0.2.1", "192.0.2.2"]) expect(relays.evidence("x", address, undefined)).toBe(address);
});
