/** Finds the address that a check concerns, and the gateway that carries it. */
import { isIP } from "node:net";
import { canonicalAddress, isWithin, parseIpBlock } from "@gatehouse/addresses/ip-block";
import { destinationOfName } from "@gatehouse/agent-core/dns/named-services";
import type { DeviceAnswer } from "@gatehouse/agent-protocol/device/frames";
import type { DeviceConfiguration, DeviceGateway } from "@gatehouse/contract/records/device-configuration";
import { gatewaysAndUnserved, unservedId } from "../tunnel/unserved-peer.ts";
import { gatewaysOfNames } from "../tunnel/wanted-tunnel.ts";

type Resource = NonNullable<DeviceAnswer["resource"]>;
type ResourceAddress = Resource["addresses"][number];

/** The destination of a check: an address, a name, or a network in which no address was named. */
export type CheckTarget =
  | { readonly kind: "address" | "name"; readonly text: string; readonly tcp: readonly string[] | undefined }
  | { readonly kind: "network"; readonly text: string; readonly tcp: undefined };

/**
 * @param to what the person asked for
 * @param resource the resource that the control plane named
 * @returns undefined if the text names nothing that this device knows
 */
export function targetOf(
  to: string,
  resource: Resource | undefined,
  configuration: DeviceConfiguration | undefined,
): CheckTarget | undefined {
  const text = to.trim().toLowerCase().replace(/\.$/, "");
  const addresses = resource?.addresses ?? [];
  if (isIP(text) !== 0) {
    return { kind: "address", text: canonicalAddress(text) ?? text, tcp: portsOf(text, addresses) };
  }
  const destinations = configuration === undefined ? {} : gatewaysOfNames(configuration);
  const isKnown = destinationOfName({ destinations }, text) !== undefined;
  if (isKnown || addresses.some(({ address }) => matches(address, text))) {
    return { kind: "name", text, tcp: portsOf(text, addresses) };
  }
  const exact = addresses.find(({ address }) => !address.includes("/") && !address.startsWith("*"));
  if (exact !== undefined) {
    return { kind: isIP(exact.address) === 0 ? "name" : "address", text: exact.address, tcp: exact.tcp };
  }
  const block = addresses.find(({ address }) => address.includes("/"));
  return block === undefined ? undefined : { kind: "network", text: block.address, tcp: undefined };
}

/**
 * Returns the gateway with the most specific block for an address, or the gateway of a name or of the internet. The id
 * of the gateway is `unservedId` if the target is unserved.
 *
 * @param namesOf returns the names of the configuration that an address was resolved for
 */
export function gatewayOf(
  configuration: DeviceConfiguration | undefined,
  { kind, text }: CheckTarget,
  namesOf: (address: string) => readonly string[],
): DeviceGateway | undefined {
  if (configuration === undefined) return undefined;
  const { internet } = configuration;
  const gateways = gatewaysAndUnserved(configuration);
  const destinations = gatewaysOfNames(configuration);
  if (kind === "name") {
    const key = destinationOfName({ destinations }, text);
    return gateways.find(({ gateway }) => key !== undefined && gateway === destinations[key]);
  }
  const address = text.split("/")[0] ?? "";
  let best: { readonly gateway: DeviceGateway; readonly prefix: number } | undefined;
  for (const gateway of gateways) {
    for (const allowed of gateway.allowedIps) {
      const block = parseIpBlock(allowed);
      const prefix = Number(allowed.split("/")[1]);
      if (block === undefined || !isWithin(address, [block]) || (best !== undefined && best.prefix >= prefix)) continue;
      best = { gateway, prefix };
    }
  }
  const names = kind === "address" && best?.prefix !== lengthOf(address) ? namesOf(address) : [];
  // The address of a name has a route of its own, even in a block of a gateway.
  if (names.length > 0 && names.every((name) => destinations[name] === unservedId)) {
    return gateways.find(({ gateway }) => gateway === unservedId);
  }
  return best?.gateway ?? gateways.find(({ gateway }) => gateway === internet);
}

function lengthOf(address: string): number {
  return address.includes(":") ? 128 : 32;
}

/**
 * Returns the port to connect to.
 *
 * @param tcp the ranges that the resource offers; undefined: unknown
 * @returns `none`: the resource has no TCP port; `unknown`: it has many, or they are not known
 */
export function portOf(tcp: readonly string[] | undefined): number | "none" | "unknown" {
  if (tcp === undefined) return "unknown";
  if (tcp.length === 0) return "none";
  const [first = 0, last] = (tcp[0] ?? "").split("-").map(Number);
  return first === last ? first : "unknown";
}

/** Whether the resource offers the port. */
export function offers(tcp: readonly string[] | undefined, port: number): boolean {
  return (
    tcp === undefined ||
    tcp.some((range) => {
      const [first = 0, last = 0] = range.split("-").map(Number);
      return port >= first && port <= last;
    })
  );
}

function portsOf(text: string, addresses: readonly ResourceAddress[]): readonly string[] | undefined {
  return addresses.find(({ address }) => matches(address, text))?.tcp;
}

function matches(address: string, text: string): boolean {
  if (address === text) return true;
  if (address.startsWith("*.")) return isIP(text) === 0 && text.endsWith(address.slice(1));
  if (isIP(text) === 0) return false;
  const block = parseIpBlock(address.includes("/") ? address : `${address}/${lengthOf(address)}`);
  return block !== undefined && isWithin(text, [block]);
}
