import fc from "fast-check";
import { type DeviceSources, noSources } from "../enforcement/device-sources.ts";
import type { LinkFacts } from "../enforcement/links.ts";
import { ids } from "./random-tenant.ts";

const sourceIp = fc.constantFrom(null, "192.0.2.7", "198.51.100.127", "2001:db8::7");
/** Observations of the control plane and of some gateways, each at another time. */
const sources: fc.Arbitrary<DeviceSources> = fc
  .tuple(sourceIp, fc.array(fc.tuple(fc.constantFrom(...ids.gateways), sourceIp, fc.nat(4)), { maxLength: 3 }))
  .map(([general, atGateways]) => ({
    controlPlane: general === null ? null : { address: general, at: 2 },
    gateways: new Map(
      atGateways.flatMap(([gatewayId, address, at]) => (address === null ? [] : [[gatewayId, { address, at }]])),
    ),
  }));
const country = fc.constantFrom(null, "DE", "FR");

/** Links for the devices and gateways of random tenants. A few have none. */
export const randomLinks: fc.Arbitrary<LinkFacts> = fc
  .tuple(
    fc.tuple(...ids.devices.map(() => fc.record({ isKnown: fc.nat(8), sources, country, key: fc.nat(3) }))),
    fc.tuple(
      ...ids.gateways.map(() =>
        fc.record({ isKnown: fc.nat(8), relayEnabled: fc.boolean(), claims: fc.nat(8), moves: fc.nat(5) }),
      ),
    ),
  )
  .map(([devices, gateways]) => ({
    pools: ["100.64.0.0/10", "fd00::/64"],
    devices: ids.devices.flatMap((deviceId, index) => {
      const { isKnown = 0, key = 0, sources: observed = noSources, country: from = null } = devices[index] ?? {};
      const known = {
        ipv4: `100.64.0.${index + 1}`,
        ipv6: `fd00::${index + 1}`,
        publicKey: deviceKey(index, key),
      };
      return isKnown === 0 ? [] : [{ deviceId, ...known, sources: observed, country: from }];
    }),
    gateways: ids.gateways.flatMap((gatewayId, index) => {
      const { isKnown = 0, relayEnabled = false, claims = 0, moves = 5 } = gateways[index] ?? {};
      const own = keyOf(`gateway ${index}`);
      // Some gateways claim the key of a device or of another gateway, in any encoding, or one that proves nothing.
      const others = [deviceKey(0, 0), keyOf("gateway 0")];
      const publicKey = [...others, ...others.map(aliasOf), keyOf("")][claims] ?? own;
      if (isKnown === 0) return [];
      return [
        {
          gatewayId,
          ipv4: `100.127.0.${index + 1}`,
          ipv6: `fd00::ff:${index + 1}`,
          publicKey,
          listenPort: 51_820,
          // Some gateways get another endpoint or relay port, or lose them.
          endpoint: moves === 0 ? null : `192.0.2.${index + 1}:${moves === 1 ? 51_821 : 51_820}`,
          relayEnabled,
          relayPort: moves === 2 ? null : (moves === 3 ? 50_000 : 40_000) + index,
          drain: null,
          dns: { resolvers: [], domains: [] },
          networks: index === 0 ? [moves === 4 ? "198.51.100.64/26" : "198.51.100.0/25"] : null,
        },
      ];
    }),
  }));

function deviceKey(index: number, generation: number): string {
  return keyOf(`device ${index} ${generation}`);
}

/** Another encoding of the same point: X25519 ignores the highest bit. */
function aliasOf(key: string): string {
  const bytes = atob(key);
  return btoa(bytes.slice(0, 31) + String.fromCharCode(bytes.charCodeAt(31) | 0x80));
}

/** The text as 32 bytes, in base64. */
function keyOf(text: string): string {
  return btoa(text.padEnd(32, "\0"));
}
