import { expect, test } from "vitest";
import { formatGateways, formatWireGuardFile, privateKeyIn, type Routes, unresolvedNames } from "./wireguard-file.ts";

const privateKey = `${"p".repeat(42)}A=`;
const gateway = (id: string, more: object) => ({
  gateway: id,
  publicKey: `${id.repeat(42)}A=`,
  addresses: ["100.64.0.1", "fd00::1"],
  relays: [],
  allowedIps: ["10.1.0.0/16"],
  names: [],
  ...more,
});
const routes = {
  device: "d",
  ipv4: "100.64.0.9",
  ipv6: "fd00::9",
  gateways: [
    gateway("a", { endpoint: "192.0.2.1:51820", names: ["wiki.internal", "*.lab.internal"] }),
    gateway("b", { addresses: ["100.64.0.2", "fd00::2"], relays: ["192.0.2.9:4000"], allowedIps: [] }),
  ],
  internet: "b",
} as unknown as Routes; // with short ids

test("names the addresses of the device, and the gateways with their blocks and endpoints", () => {
  expect(formatWireGuardFile(routes, privateKey)).toBe(`[Interface]
PrivateKey = ${privateKey}
Address = 100.64.0.9/32, fd00::9/128

[Peer]
PublicKey = ${"a".repeat(42)}A=
AllowedIPs = 100.64.0.1/32, fd00::1/128, 10.1.0.0/16
Endpoint = 192.0.2.1:51820
PersistentKeepalive = 25

[Peer]
PublicKey = ${"b".repeat(42)}A=
AllowedIPs = 100.64.0.2/32, fd00::2/128, 0.0.0.0/0, ::/0
Endpoint = 192.0.2.9:4000
PersistentKeepalive = 25
`);
});

test("the gateways alone contain no private key, and a file without gateways only the interface", () => {
  expect(formatGateways(routes)).not.toContain("PrivateKey");
  expect(formatGateways(routes)).toContain("[Peer]");
  expect(
    formatWireGuardFile({ ...routes, gateways: [] }, privateKey)
      .trimEnd()
      .split("\n"),
  ).toHaveLength(3);
});

test.each([
  [formatWireGuardFile(routes, privateKey), privateKey],
  [`[Interface]\r\n  privatekey=${privateKey}\r\nDNS = 1.1.1.1\r\n`, privateKey],
  [formatGateways(routes), undefined],
  [`# PrivateKey = ${privateKey}`, undefined],
  ["", undefined],
])("reads the private key of %j", (file, expected) => {
  expect(privateKeyIn(file)).toBe(expected);
});

test("lists the names that an app cannot resolve", () => {
  expect(unresolvedNames(routes)).toEqual(["*.lab.internal", "wiki.internal"]);
});
