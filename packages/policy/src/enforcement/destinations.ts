import { parseAddressText } from "@gatehouse/addresses/address-text";
import { addressWidth } from "@gatehouse/addresses/ip-address";
import { formatIpRange, type IpRange } from "@gatehouse/addresses/ip-ranges";
import type { Destination, Service } from "@gatehouse/agent-protocol/gateway/configuration";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import type { Table } from "../model/table.ts";

/** An address that resources have, with those that have it in order of creation. */
export interface TenantAddress {
  /** As configurations write it. */
  readonly key: string;
  /** Undefined for a name. */
  readonly range: IpRange | undefined;
  readonly offers: readonly { readonly resource: CompiledResource; readonly services: readonly Service[] }[];
  /** The keys of all addresses that it could lie in, whether they exist or not. */
  readonly enclosing: readonly string[];
}

const cachedAddresses = new WeakMap<Table<CompiledResource>, ReadonlyMap<string, TenantAddress>>();

/** Every address of the tenant's resources, by key; made once for the same resources. */
export function tenantAddresses({ resources }: Model): ReadonlyMap<string, TenantAddress> {
  let addresses = cachedAddresses.get(resources);
  if (addresses === undefined) {
    addresses = collectTenantAddresses(resources);
    cachedAddresses.set(resources, addresses);
  }
  return addresses;
}

function collectTenantAddresses(resources: Table<CompiledResource>): ReadonlyMap<string, TenantAddress> {
  const addresses = new Map<string, { range: IpRange | undefined; offers: Map<CompiledResource, Service[]> }>();
  const inOrder = [...resources.values()].sort((a, b) => (a.facts.id < b.facts.id ? -1 : 1));
  for (const resource of inOrder) {
    for (const { key, range, services } of addressesOf(resource)) {
      const address = addresses.get(key) ?? { range, offers: new Map() };
      addresses.set(key, address);
      // One address in two spellings offers what both do.
      address.offers.set(resource, [...(address.offers.get(resource) ?? []), ...services]);
    }
  }
  const all = Array.from(addresses, ([key, { range, offers }]): [string, TenantAddress] => [
    key,
    {
      key,
      range,
      offers: Array.from(offers, ([resource, services]) => ({ resource, services })),
      enclosing: enclosing(key, range),
    },
  ]);
  return new Map(all);
}

interface ParsedAddress {
  readonly key: string;
  readonly range: IpRange | undefined;
  readonly services: readonly Service[];
}

const parsedAddresses = new WeakMap<CompiledResource, readonly ParsedAddress[]>();

/** The addresses of a resource as configurations write them, with what it offers there. */
export function addressesOf(resource: CompiledResource): readonly ParsedAddress[] {
  let addresses = parsedAddresses.get(resource);
  if (addresses === undefined) {
    addresses = resource.facts.addresses.flatMap(({ address, protocols }) => {
      const reading = parseAddressText(address);
      if (!reading.ok) return [];
      const range = reading.value.isIp ? reading.value.range : undefined;
      const services = protocols.map(({ protocol, port }): Service => {
        if (port === undefined || protocol === "ICMP") return { protocol };
        const [first = "", last = first] = port.split("-");
        return { protocol, ports: [Number(first), Number(last)] };
      });
      return [{ key: range === undefined ? reading.value.text : formatIpRange(range), range, services }];
    });
    parsedAddresses.set(resource, addresses);
  }
  return addresses;
}

function enclosing(key: string, range: IpRange | undefined): readonly string[] {
  const keys: string[] = [];
  if (range === undefined) {
    const name = key.startsWith("*.") ? key.slice(2) : key;
    for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) keys.push(`*${name.slice(dot)}`);
    return keys;
  }
  const width = addressWidth(range.version);
  for (let prefixLength = range.prefixLength - 1; prefixLength >= 0; prefixLength -= 1) {
    const hostBits = BigInt(width - prefixLength);
    keys.push(formatIpRange({ version: range.version, first: (range.first >> hostBits) << hostBits, prefixLength }));
  }
  return keys;
}

/**
 * What a gateway has to know of addresses: those of the resources that it carries, and whatever is more specific within them, which is not
 * theirs.
 *
 * @param carried whether the gateway carries a resource
 * @param internet whether it carries the internet too, in which every address lies
 */
export function destinationsOf(
  model: Model,
  carried: (resource: CompiledResource) => boolean,
  internet: boolean,
): Map<string, Destination> {
  const addresses = tenantAddresses(model);
  const own = new Set<string>();
  let hasRoom = false;
  for (const address of addresses.values()) {
    if (!address.offers.some(({ resource }) => carried(resource))) continue;
    own.add(address.key);
    hasRoom ||= address.range === undefined ? address.key.startsWith("*.") : !isFull(address.range);
  }
  const destinations = new Map<string, Destination>();
  for (const address of addresses.values()) {
    const isMeant = internet || own.has(address.key) || (hasRoom && address.enclosing.some((key) => own.has(key)));
    if (isMeant) destinations.set(address.key, destinationAt(address, carried, internet));
  }
  return destinations;
}

function isFull({ version, prefixLength }: IpRange): boolean {
  return prefixLength === addressWidth(version);
}

function destinationAt(
  { offers }: TenantAddress,
  carried: (resource: CompiledResource) => boolean,
  internet: boolean,
): Destination {
  // An address of something private is closed where it offers nothing, not left to the internet.
  const isKept = offers.some(({ resource }) => resource.type !== "INTERNET");
  const otherwise = isKept || !internet ? "drop" : "internet";
  const services: Service[] = [];
  for (const { resource, services: offered } of offers) {
    const owner = carried(resource) ? { resource: resource.facts.id } : {};
    services.push(...offered.map((service) => ({ ...service, ...owner })));
  }
  // What would be dropped anyway need not be said.
  while (otherwise === "drop" && services.length > 0 && services.at(-1)?.resource === undefined) services.pop();
  return { services, otherwise };
}
