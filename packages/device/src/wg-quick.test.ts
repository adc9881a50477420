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
# It does not follow changes: when access or gateways change, print it again, or use gatehouse device run.

[Interface]
PrivateKey = c2VjcmV0
Address = 100.64.0.1/32, fd64::1/128
# Every name is asked of the gateways, which refuse those that are none of theirs. Add the addresses that a
# name of theirs has to AllowedIPs: a file cannot follow them.
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
  ["without names there is no DNS", wgQuickText(nameless, options), "[Peer]", "DNS"],
  ["without an end it says so", wgQuickText(configuration, options), "# Valid until something changes", "2026-03-05"],
  [
    "the earlier of two ends counts",
    wgQuickText({ ...configuration, validUntil: asOf + 1_000 }, { ...options, expiresAt: asOf + 9_000 }),
    "# Valid until 2026-03-04T10:00:01Z",
    "10:00:09",
  ],
  [
    "another device's private key is not there",
    wgQuickText(configuration, { ...options, privateKey: undefined }),
    "# PrivateKey = (is on the device itself",
    "\nPrivateKey",
  ],
  [
    "the internet is everything",
    wgQuickText({ ...configuration, internet: exampleGateways.two }, options),
    "10.81.0.7/32, 0.0.0.0/0, ::/0",
    "fd80::/64, 0.0.0.0/0",
  ],
  [
    "without gateways it says so",
    wgQuickText({ ...configuration, gateways: [] }, options),
    "# There is no gateway",
    "[Peer]",
  ],
])("%s", (_, text, holds, holdsNot) => {
  expect(text).toContain(holds);
  expect(text).not.toContain(holdsNot);
});
