import { addressWidth, parseIpAddress } from "@gatehouse/addresses/ip-address";
import { type IpRange, parseIpRange, rangeContains } from "@gatehouse/addresses/ip-ranges";
import type {
  ConfigurationContent,
  Destination,
  DeviceRule,
  SiteRule,
} from "@gatehouse/agent-protocol/gateway/configuration";
import type { TransportProtocol } from "../model/facts.ts";

/** A packet that a gateway receives from its tunnel. */
export interface Packet {
  /** The key of the device's peer, or the source address of a packet from another site. */
  readonly from: { readonly peer: string } | { readonly siteAddress: string };
  /** An IP address, or a name that the gateway has resolved to the packet's destination. */
  readonly to: string;
  readonly protocol: TransportProtocol;
  readonly port?: number;
  readonly now: number;
}

/**
 * Whether a gateway carries a packet, implemented as loops after the gateway protocol's SPEC.md, "What a configuration
 * means".
 */
export function isCarried(content: ConfigurationContent, packet: Packet): boolean {
  if ("peer" in packet.from && !isPeer(content, packet.from.peer, packet.now)) return false;
  const destination = destinationFor(content, packet.to);
  const service = destination?.services.find(
    ({ protocol, ports }) =>
      protocol === packet.protocol &&
      (ports === undefined || packet.port === undefined || (ports[0] <= packet.port && packet.port <= ports[1])),
  );
  if (service !== undefined) {
    const rules = service.resource === undefined ? undefined : content.resources[service.resource];
    return rules !== undefined && isAllowed(content, rules, packet);
  }
  if (destination?.otherwise === "drop") return false;
  return isAllowed(content, { devices: content.settings.internet?.devices ?? [], sites: [] }, packet);
}

/** Whether a device is a peer at a time. */
export function isPeer({ peers }: ConfigurationContent, key: string, now: number): boolean {
  const peer = peers[key];
  return peer?.kind === "device" && (peer.until === undefined || now < peer.until);
}

/** Whether the rules of a resource allow a packet. */
export function isAllowed(
  content: ConfigurationContent,
  { devices, sites }: { readonly devices: readonly DeviceRule[]; readonly sites: readonly SiteRule[] },
  { from, now }: Pick<Packet, "from" | "now">,
): boolean {
  if ("peer" in from) {
    const rule = devices.find(
      ({ windows = [[null, null]], classes }) =>
        isWithin(windows, now) &&
        classes.some((key) => {
          const membership = content.classes[key]?.[from.peer];
          return key === "*" || (membership !== undefined && (membership === true || isWithin(membership, now)));
        }),
    );
    return rule?.action === "allow";
  }
  const address = rangeOf(from.siteAddress);
  const rule = sites.find(
    ({ windows = [[null, null]], sources }) =>
      isWithin(windows, now) &&
      (sources.length === 0 || sources.some((source) => rangeContains(rangeOf(source), address))),
  );
  return rule?.action === "allow";
}

function destinationFor({ destinations }: ConfigurationContent, to: string): Destination | undefined {
  const ip = parseIpAddress(to);
  if (ip === undefined) {
    const labels = to.toLowerCase().replace(/\.$/, "").split(".");
    const names = [labels.join("."), ...labels.map((_, index) => `*.${labels.slice(index + 1).join(".")}`)];
    return names.map((name) => destinations[name]).find((found) => found !== undefined);
  }
  const address: IpRange = { version: ip.version, first: ip.bits, prefixLength: addressWidth(ip.version) };
  let best: { readonly range: IpRange; readonly destination: Destination } | undefined;
  for (const [key, destination] of Object.entries(destinations)) {
    const reading = parseIpRange(key);
    if (!reading.ok || !rangeContains(reading.value, address)) continue;
    if (best === undefined || best.range.prefixLength < reading.value.prefixLength) {
      best = { range: reading.value, destination };
    }
  }
  return best?.destination;
}

function isWithin(windows: readonly (readonly [number | null, number | null])[], now: number): boolean {
  return windows.some(([from, until]) => (from === null || from <= now) && (until === null || now < until));
}

function rangeOf(text: string): IpRange {
  const reading = parseIpRange(text);
  if (!reading.ok) throw new Error(reading.problem);
  return reading.value;
}
