import { parseAddressText } from "@gatehouse/addresses/address-text";
import { addressWidth } from "@gatehouse/addresses/ip-address";
import { formatIpRange, type IpRange } from "@gatehouse/addresses/ip-ranges";
import type { Destination, Service } from "@gatehouse/agent-protocol/gateway/configuration";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import type { Table } from "../model/table.ts";

/** An address, and the resources that have it in the order of creation. */
export interface TenantAddress {
  /** The address in the notation of configurations. */
  readonly key: string;
  /** Undefined for a name. */
  readonly range: IpRange | undefined;
  readonly offers: readonly { readonly resource: CompiledResource; readonly services: readonly Service[] }[];
  /** Keys of all larger ranges or wildcards that contain the address, whether they exist or not. */
  readonly enclosing: readonly string[];
}

const cachedAddresses = new WeakMap<Table<CompiledResource>, ReadonlyMap<string, TenantAddress>>();

/** The addresses of the tenant's resources, by key. Cached as long as the resources stay the same. */
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
      // An address in two notations offers the services of both.
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
  /** The address as it is stored. */
  readonly address: string;
  readonly key: string;
  readonly range: IpRange | undefined;
  readonly services: readonly Service[];
}

const parsedAddresses = new WeakMap<CompiledResource, readonly ParsedAddress[]>();

/** The addresses of a resource in the notation of configurations, with the services that the resource offers there. */
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
      return [{ address, key: range === undefined ? reading.value.text : formatIpRange(range), range, services }];
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
 * The destinations that a gateway needs: the addresses of the resources that it carries, and more specific addresses
 * within them that belong to other resources. DNS may resolve a wildcard to any address. A gateway that carries one
 * also needs the private addresses of all resources, because they precede the wildcard's.
 *
 * @param carried whether the gateway carries a resource
 * @param internet whether the gateway carries the internet, which contains every address
 */
export function destinationsOf(
  model: Model,
  carried: (resource: CompiledResource) => boolean,
  internet: boolean,
): Map<string, Destination> {
  const addresses = tenantAddresses(model);
  const own = new Set<string>();
  let hasRoom = false;
  let hasWildcard = false;
  for (const address of addresses.values()) {
    if (!address.offers.some(({ resource }) => carried(resource))) continue;
    own.add(address.key);
    hasWildcard ||= address.range === undefined && address.key.startsWith("*.");
    hasRoom ||= address.range === undefined ? address.key.startsWith("*.") : !isFull(address.range);
  }
  const destinations = new Map<string, Destination>();
  for (const address of addresses.values()) {
    const isMeant = internet || own.has(address.key) || (hasRoom && address.enclosing.some((key) => own.has(key)));
    const isPrivate =
      address.range !== undefined && address.offers.some(({ resource }) => resource.type !== "INTERNET");
    if (isMeant || (hasWildcard && isPrivate)) destinations.set(address.key, destinationAt(address, carried, internet));
  }
  return destinations;
}

function isFull({ version, prefixLength }: IpRange): boolean {
  return prefixLength === addressWidth(version);
}

function destinationAt(
  { range, offers }: TenantAddress,
  carried: (resource: CompiledResource) => boolean,
  internet: boolean,
): Destination {
  // A private address is closed for everything that it does not offer. It is not left to the internet.
  const isKept = offers.some(({ resource }) => resource.type !== "INTERNET");
  const otherwise = isKept || !internet ? "drop" : "internet";
  const services: Service[] = [];
  for (const { resource, services: offered } of offers) {
    const owner = carried(resource) ? { resource: resource.facts.id } : {};
    services.push(...offered.map((service) => ({ ...service, ...owner })));
  }
  // Omit services at the end that would be dropped anyway.
  while (otherwise === "drop" && services.length > 0 && services.at(-1)?.resource === undefined) services.pop();
  // A name of a private resource too may have private addresses.
  const isSaas = range === undefined && offers.every(({ resource }) => resource.type === "SAAS");
  return { services, otherwise, ...(isSaas ? { answers: "global" } : {}) };
}
