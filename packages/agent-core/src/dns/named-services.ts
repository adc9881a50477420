import type { ConfigurationContent, Destination } from "@gatehouse/agent-protocol/gateway/configuration";

/** The destination names (exact or `*.domain`) that each address was resolved for. */
export type NamedAddresses = ReadonlyMap<string, readonly string[]>;

/** Destinations by key. Some keys are names. */
export interface NamedDestinations {
  readonly destinations: Readonly<Record<string, unknown>>;
}

/** Returns the key of a name's destination: the name itself, else the longest matching wildcard. */
export function destinationOfName(content: NamedDestinations, name: string): string | undefined {
  if (Object.hasOwn(content.destinations, name)) return name;
  for (let dot = name.indexOf("."); dot !== -1; dot = name.indexOf(".", dot + 1)) {
    const wildcard = `*${name.slice(dot)}`;
    if (Object.hasOwn(content.destinations, wildcard)) return wildcard;
  }
  return undefined;
}

/**
 * Returns the destination of an address with several names. Exact names take precedence over the longest wildcard.
 * Among equals, the oldest resource comes first, which has the smallest id.
 */
export function namedServices(content: ConfigurationContent, keys: readonly string[]): Destination {
  const weight = (key: string) => (key.startsWith("*") ? key.length : Number.POSITIVE_INFINITY);
  const heaviest = Math.max(...keys.map(weight));
  const destinations = keys
    .filter((key) => weight(key) === heaviest)
    .map((key) => content.destinations[key])
    .filter((destination) => destination !== undefined);
  const [only] = destinations;
  if (only !== undefined && destinations.length === 1) return only;
  const services = destinations.flatMap((destination) => destination.services);
  // A service without a resource is not reached through this gateway. Its age is unknown, so it comes first and drops.
  const orderOf = (resource: string | undefined) => resource ?? "";
  services.sort((left, right) => {
    const [first, second] = [orderOf(left.resource), orderOf(right.resource)];
    return first === second ? 0 : first < second ? -1 : 1;
  });
  const isInternet = destinations.length > 0 && destinations.every(({ otherwise }) => otherwise === "internet");
  return { services, otherwise: isInternet ? "internet" : "drop" };
}
