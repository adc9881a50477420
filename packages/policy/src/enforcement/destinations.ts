import { addressWidth } from "@gatehouse/addresses/ip-address";
import { formatIpRange, type IpRange } from "@gatehouse/addresses/ip-ranges";
import {
  type Answers,
  type Destination,
  mostAnswerRanges,
  mostServices,
  type Service,
} from "@gatehouse/agent-protocol/gateway/configuration";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import type { Table } from "../model/table.ts";
import { sortingBy } from "../sorting.ts";
import { forEach, type Work } from "../work.ts";
import { commonRanges } from "./common-ranges.ts";
import { ParsedAddresses, type ServiceList } from "./parsed-addresses.ts";

/** A resource with its services at an address. */
interface Offer {
  readonly resource: CompiledResource;
  readonly services: readonly ServiceList[];
  /** Blocks that contain the answers for a private name. Null for the default. */
  readonly answersWithin: readonly IpRange[] | null;
}

/** An address, and the resources that have it in the order of creation. */
export interface TenantAddress {
  /** The address in the notation of configurations. */
  readonly key: string;
  /** Undefined for a name. */
  readonly range: IpRange | undefined;
  readonly offers: readonly Offer[];
  /** Keys of all larger ranges or wildcards that contain the address, whether they exist or not. */
  readonly enclosing: readonly string[];
}

const cachedAddresses = new WeakMap<Table<CompiledResource>, ReadonlyMap<string, TenantAddress>>();

/** An address of a resource that is parsed, with the ranges that contain it. */
const parsedAddressCost = 2_000;
/** A service of a destination. */
const serviceCost = 4;
/** An address whose offers are compared with the resources of a gateway. */
const addressCost = 25;

/** Finds the addresses of the tenant's resources, by key. Cached as long as the resources stay the same. */
export function* findingTenantAddresses({ resources }: Model): Work<ReadonlyMap<string, TenantAddress>> {
  let addresses = cachedAddresses.get(resources);
  if (addresses === undefined) {
    addresses = yield* collectingAddresses(resources);
    cachedAddresses.set(resources, addresses);
  }
  return addresses;
}

function* collectingAddresses(resources: Table<CompiledResource>): Work<ReadonlyMap<string, TenantAddress>> {
  const addresses = new Map<string, { range: IpRange | undefined; offers: Map<CompiledResource, Offer> }>();
  const byId = (a: CompiledResource, b: CompiledResource) => (a.id < b.id ? -1 : 1);
  const inOrder = yield* sortingBy(byId, resources.values());
  const parsed = ParsedAddresses.for(resources);
  for (const resource of inOrder) {
    let spent = parsedAddressCost + resource.decodingCost;
    for (const { key, range, services, answersWithin } of parsed.of(resource)) {
      const address = addresses.get(key) ?? { range, offers: new Map() };
      addresses.set(key, address);
      // An address in two notations offers the services of both.
      const before = address.offers.get(resource)?.services ?? [];
      address.offers.set(resource, { resource, services: [...before, ...services], answersWithin });
      spent += parsedAddressCost;
    }
    yield spent;
  }
  const all = new Map<string, TenantAddress>();
  yield* forEach(addresses, parsedAddressCost, ([key, { range, offers }]) => {
    all.set(key, { key, range, offers: [...offers.values()], enclosing: enclosing(key, range) });
  });
  return all;
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

export interface GatewayScope {
  /** Whether the gateway carries the internet, which contains every address. */
  readonly internet: boolean;
  /** Whether an administrator set the gateway's networks. They limit answers for private names by default. */
  readonly hasNetworks: boolean;
}

/**
 * Finds the destinations that a gateway needs: the addresses of the resources that it carries, and more specific
 * addresses within them that belong to other resources. DNS may resolve a wildcard to any address. A gateway that
 * carries one also needs the private addresses of all resources, because they precede the wildcard's.
 *
 * @param carried whether the gateway carries a resource
 */
export function* findingDestinations(
  model: Model,
  carried: (resource: CompiledResource) => boolean,
  gateway: GatewayScope,
): Work<Map<string, Destination>> {
  const { internet } = gateway;
  const addresses = yield* findingTenantAddresses(model);
  const own = new Set<string>();
  let hasRoom = false;
  let hasWildcard = false;
  yield* forEach(addresses.values(), costOfAddress, (address) => {
    if (!address.offers.some(({ resource }) => carried(resource))) return;
    own.add(address.key);
    hasWildcard ||= address.range === undefined && address.key.startsWith("*.");
    hasRoom ||= address.range === undefined ? address.key.startsWith("*.") : !isFull(address.range);
  });
  const destinations = new Map<string, Destination>();
  const costOf = (address: TenantAddress) => costOfAddress(address) + serviceCost * serviceCount(address);
  yield* forEach(addresses.values(), costOf, (address) => {
    const isMeant = internet || own.has(address.key) || (hasRoom && address.enclosing.some((key) => own.has(key)));
    const isPrivate =
      address.range !== undefined && address.offers.some(({ resource }) => resource.type !== "INTERNET");
    if (isMeant || (hasWildcard && isPrivate)) destinations.set(address.key, destinationAt(address, carried, gateway));
  });
  return destinations;
}

/** The number of services of a destination for the address. */
function serviceCount({ offers }: TenantAddress): number {
  let count = 0;
  for (const { services } of offers) {
    for (const list of services) count += list.length;
    if (count >= mostServices) return mostServices;
  }
  return count;
}

function costOfAddress({ offers, enclosing }: TenantAddress): number {
  return addressCost * (1 + offers.length) + enclosing.length;
}

function isFull({ version, prefixLength }: IpRange): boolean {
  return prefixLength === addressWidth(version);
}

function destinationAt(
  { range, offers }: TenantAddress,
  carried: (resource: CompiledResource) => boolean,
  { internet, hasNetworks }: GatewayScope,
): Destination {
  // A private address is closed for everything that it does not offer. It is not left to the internet.
  const isKept = offers.some(({ resource }) => resource.type !== "INTERNET");
  const services: Service[] = [];
  for (const { resource, services: lists } of offers) {
    const owner = carried(resource) ? { resource: resource.id } : {};
    if (services.length > mostServices) break;
    for (const list of lists) for (const service of list) services.push({ ...service, ...owner });
  }
  // The agent would refuse the whole configuration if it had more services. Close the ports of the others instead.
  const isCut = services.length > mostServices;
  if (isCut) services.length = mostServices;
  const otherwise = isKept || !internet || isCut ? "drop" : "internet";
  // Omit services at the end that would be dropped anyway.
  while (otherwise === "drop" && services.length > 0 && services.at(-1)?.resource === undefined) services.pop();
  const answers = range === undefined ? answersOf(offers, carried, hasNetworks) : undefined;
  return { services, otherwise, ...(answers === undefined ? {} : { answers }) };
}

/**
 * The addresses that a name may open. Packets do not reveal the name's resource, so that an answer must be within the
 * lists of all private resources that the gateway carries. A resource without a list does not limit the others.
 */
function answersOf(
  offers: readonly Offer[],
  carried: (resource: CompiledResource) => boolean,
  hasNetworks: boolean,
): Answers | undefined {
  const lists = offers.flatMap(({ resource, answersWithin }) =>
    answersWithin !== null && resource.type === "PRIVATE" && carried(resource) ? [answersWithin] : [],
  );
  if (lists.length > 0) {
    const ranges = commonRanges(lists);
    // The agent would refuse the whole configuration. Close this name instead.
    return ranges.length > mostAnswerRanges ? [] : ranges.map(formatIpRange).sort();
  }
  if (offers.every(({ resource }) => resource.type === "SAAS")) return "global";
  // If another resource has the same name, the name may have the addresses of both.
  return hasNetworks && offers.every(({ resource }) => resource.type === "PRIVATE") ? "networks" : undefined;
}
