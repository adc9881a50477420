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
 * Returns the destinations of an address with several names. Exact names, which administrators write, take precedence
 * over the longest wildcard. Several exact names share the address.
 */
export function destinationsOfNames(content: ConfigurationContent, keys: readonly string[]): readonly Destination[] {
  const weight = (key: string) => (key.startsWith("*") ? key.length : Number.POSITIVE_INFINITY);
  const heaviest = Math.max(...keys.map(weight));
  return keys
    .filter((key) => weight(key) === heaviest)
    .map((key) => content.destinations[key])
    .filter((destination) => destination !== undefined);
}
