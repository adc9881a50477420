import type { ConfigurationContent, Destination } from "@gatehouse/agent-protocol/gateway/configuration";

/** Which destinations' names (exact or `*.domain`) each address was resolved for. */
export type NamedAddresses = ReadonlyMap<string, readonly string[]>;

/** Destinations by key, of which some are names. */
export interface NamedDestinations {
  readonly destinations: Readonly<Record<string, unknown>>;
}

/** @returns the key of the destination that a name falls under: itself, else that of the longest wildcard */
export function destinationOfName(content: NamedDestinations, name: string): string | undefined {
  if (Object.hasOwn(content.destinations, name)) return name;
  for (let dot = name.indexOf("."); dot !== -1; dot = name.indexOf(".", dot + 1)) {
    const wildcard = `*${name.slice(dot)}`;
    if (Object.hasOwn(content.destinations, wildcard)) return wildcard;
  }
  return undefined;
}

/**
 * What is at an address that has several names: exact names go before the longest wildcard; among equals the resource that was made
 * first, that is the one with the smallest id.
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
  // Without a resource: not reached through this gateway. Its place among the others is not known, so it goes first and drops.
  const place = (resource: string | undefined) => resource ?? "";
  services.sort((left, right) => {
    const [first, second] = [place(left.resource), place(right.resource)];
    return first === second ? 0 : first < second ? -1 : 1;
  });
  const isInternet = destinations.length > 0 && destinations.every(({ otherwise }) => otherwise === "internet");
  return { services, otherwise: isInternet ? "internet" : "drop" };
}
