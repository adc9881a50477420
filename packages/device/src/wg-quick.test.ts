import { expect, test } from "vitest";
import { exampleDeviceConfiguration, exampleGateways } from "./testing/example-device-configuration.ts";
import { wgQuickText } from "./wg-quick.ts";

const configuration = exampleDeviceConfiguration();
const asOf = Date.UTC(2026, 2, 4, 10);
const options = { privateKey: "c2VjcmV0", asOf, expiresAt: undefined };

test("a configuration as a file", () => {
  expect(
    wgQuickText(configuration, { ...options, expiresAt: asOf + 86_400_000 }),
  ).toBe(`# The device 0199aaaa-0000-7000-8000-00000000000d, as of 2026-03-04T10:00:00Z.
# Valid until 2026-03-05T10:00:00Z.
# This file does not follow changes. Print it again after a change, or use gatehouse device run.

[Interface]
PrivateKey = c2VjcmV0
Address = 100.64.0.1/32, fd64::1/128
# All DNS questions go to the gateways, which refuse names that they do not serve. Add the addresses of their
# names to AllowedIPs: a file cannot follow them.
DNS = 100.64.255.1, fd64::ff:1, 100.64.255.2, fd64::ff:2

[Peer]
# The gateway 0199aaaa-0000-7000-8000-00000000000b
# Names: git.internal.example.com
PublicKey = ${"A".repeat(43)}=
AllowedIPs = 100.64.255.1/32, fd64::ff:1/128, 10.80.0.0/24, fd80::/64
Endpoint = 192.0.2.1:51820
PersistentKeepalive = 25

[Peer]
# The gateway 0199aaaa-0000-7000-8000-00000000000c
# Names: *.internal.example.com
PublicKey = ${"B".repeat(42)}A=
AllowedIPs = 100.64.255.2/32, fd64::ff:2/128, 10.81.0.7/32
Endpoint = gateway-2.example.com:51820
PersistentKeepalive = 25
`);
});

const nameless = { ...configuration, gateways: configuration.gateways.map((gateway) => ({ ...gateway, names: [] })) };

test.each<[what: string, text: string, holds: string, holdsNot: string]>([
  ["a configuration without names has no DNS line", wgQuickText(nameless, options), "[Peer]", "DNS"],
  [
    "a configuration without an end says so",
    wgQuickText(configuration, options),
    "# Valid until access or gateways change",
    "2026-03-05",
  ],
  [
    "the earlier end counts",
    wgQuickText({ ...configuration, validUntil: asOf + 1_000 }, { ...options, expiresAt: asOf + 9_000 }),
    "# Valid until 2026-03-04T10:00:01Z",
    "10:00:09",
  ],
  [
    "the private key of another device is not printed",
    wgQuickText(configuration, { ...options, privateKey: undefined }),
    "# PrivateKey = (on the device",
    "\nPrivateKey",
  ],
  [
    "the internet gateway carries all addresses",
    wgQuickText({ ...configuration, internet: exampleGateways.two }, options),
    "10.81.0.7/32, 0.0.0.0/0, ::/0",
    "fd80::/64, 0.0.0.0/0",
  ],
  [
    "a configuration without gateways says so",
    wgQuickText({ ...configuration, gateways: [] }, options),
    "# No gateways",
    "[Peer]",
  ],
])("%s", (_, text, holds, holdsNot) => {
  expect(text).toContain(holds);
  expect(text).not.toContain(holdsNot);
});
