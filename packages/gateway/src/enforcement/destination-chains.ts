/** The nftables chains of destinations: which resource offers the service of a packet. */
import { createHash } from "node:crypto";
import type { Destination, Service } from "@gatehouse/agent-protocol/gateway/configuration";

export type Chain = readonly [name: string, lines: readonly string[]];

/**
 * Returns the chain of an address with several names, whose packets do not reveal the name. Each resource that offers
 * the service may allow the device. A denial by one resource does not close the others.
 */
export function sharedChain(destinations: readonly Destination[], isKnown: (resource: string) => boolean): Chain {
  const lines = new Set<string>();
  for (const { services } of destinations) {
    for (const service of services) {
      const { resource } = service;
      if (resource === undefined || !isKnown(resource)) continue;
      for (const match of serviceMatches(service)) lines.add(`${match} jump ${offerChain(resource)}`);
    }
  }
  const isInternet = destinations.length > 0 && destinations.every(({ otherwise }) => otherwise === "internet");
  const all = [...lines, isInternet ? "goto internet" : "goto refused"];
  return [`destination_${hashOf(all.join("\n"))}`, all];
}

/** Returns a destination's chain. Its name is a hash of its rules, so that equal destinations share a chain. */
export function destinationChain({ services, otherwise }: Destination, isKnown: (resource: string) => boolean): Chain {
  const lines: string[] = [];
  for (const service of services) {
    const { resource } = service;
    const verdict = resource === undefined || !isKnown(resource) ? "goto refused" : `goto ${resourceChain(resource)}`;
    lines.push(...serviceMatches(service).map((match) => `${match} ${verdict}`));
  }
  lines.push(otherwise === "internet" ? "goto internet" : "goto refused");
  return [`destination_${hashOf(lines.join("\n"))}`, lines];
}

function serviceMatches({ protocol, ports }: Service): readonly string[] {
  if (protocol === "ICMP") return ["meta l4proto icmp", "meta l4proto ipv6-icmp"];
  const transport = `meta l4proto ${protocol === "TCP" ? "tcp" : "udp"}`;
  if (ports === undefined) return [transport];
  const [first, last] = ports;
  return [`${transport} ct original proto-dst ${first === last ? first : `${first}-${last}`}`];
}

export function resourceChain(id: string): string {
  return `resource_${id}`;
}

export function offerChain(id: string): string {
  return `offer_${id}`;
}

export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
