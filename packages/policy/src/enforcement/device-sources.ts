/** An address from which a device's packets came. */
export interface ObservedSource {
  /** The address in canonical form. */
  readonly address: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/**
 * The source addresses of a device, by observer. An observation of a gateway counts at this gateway alone, because a
 * gateway can report any address. An observation of the control plane counts at every gateway. The later of the two
 * counts (docs/decisions/0157-observed-source-addresses.md).
 */
export interface DeviceSources {
  /** The latest observation of the device's own connection. */
  readonly controlPlane: ObservedSource | null;
  /** The latest observation of each gateway. */
  readonly gateways: ReadonlyMap<string, ObservedSource>;
}

/** The address of a device behind a gateway that hides the real one. No device has it. */
export const unspecifiedSource = { 4: "0.0.0.0", 6: "::" } as const;

export const noSources: DeviceSources = { controlPlane: null, gateways: new Map() };

/** @param gatewayId absent for gateways that observed nothing. @returns null if the address is unknown */
export function sourceAt({ controlPlane, gateways }: DeviceSources, gatewayId?: string): string | null {
  return laterOf(controlPlane, gatewayId === undefined ? undefined : gateways.get(gatewayId));
}

/** @param own the observation of the gateway */
function laterOf(controlPlane: ObservedSource | null, own: ObservedSource | undefined): string | null {
  if (own !== undefined && (controlPlane === null || controlPlane.at <= own.at)) return own.address;
  return controlPlane?.address ?? null;
}

/** The latest observation of all observers, which tells where the device is. @returns null if unknown */
export function latestSource({ controlPlane, gateways }: DeviceSources): string | null {
  let latest = controlPlane;
  for (const source of gateways.values()) {
    if (latest === null || latest.at <= source.at) latest = source;
  }
  return latest?.address ?? null;
}

const none: ReadonlyMap<string, string> = new Map();

/** The addresses at gateways whose own observation counts instead of the control plane's. */
export function sourcesAtGateways(sources: DeviceSources): ReadonlyMap<string, string> {
  if (sources.gateways.size === 0) return none;
  const general = sourceAt(sources);
  return new Map(
    [...sources.gateways.keys()].flatMap((gatewayId): [string, string][] => {
      const address = sourceAt(sources, gatewayId);
      return address === null || address === general ? [] : [[gatewayId, address]];
    }),
  );
}

/** An observation with its observer. */
export interface Observation {
  /** Null for an observation of the control plane. */
  readonly gatewayId: string | null;
  readonly source: ObservedSource;
}

/** Replaces an invalid time in comparisons. It precedes 1970, which the server stores for invalid times. */
const invalidAt = -1;

/**
 * Returns the observation to use in comparisons. An observation with an invalid time precedes all others, because its
 * clock was wrong.
 *
 * @param latest the latest valid time of an observation, in milliseconds since 1970
 */
function comparable(source: ObservedSource, latest: number): ObservedSource {
  return source.at > latest ? { ...source, at: invalidAt } : source;
}

/**
 * Whether the observation is new: its observer made neither the same nor a later one.
 *
 * @param latest the latest valid time of an observation, in milliseconds since 1970
 */
export function isNewObservation(
  { controlPlane, gateways }: DeviceSources,
  { gatewayId, source }: Observation,
  latest: number,
): boolean {
  const stored = gatewayId === null ? controlPlane : gateways.get(gatewayId);
  if (stored === null || stored === undefined) return true;
  const previous = comparable(stored, latest);
  // Notifications repeat each observation for a while. Two observations with invalid times count as simultaneous.
  if (previous.at === comparable(source, latest).at) return previous.address !== source.address;
  return previous.at < source.at;
}

/**
 * Whether an observation of a gateway must be stored, because it changes the address that counts at this gateway. It
 * must also be stored if any observer's time is invalid: the invalid time is then replaced, and never counts.
 *
 * @param latest the latest valid time of an observation, in milliseconds since 1970
 */
export function changesSourceAt(
  sources: DeviceSources,
  gatewayId: string,
  source: ObservedSource,
  latest: number,
): boolean {
  if (!isNewObservation(sources, { gatewayId, source }, latest)) return false;
  const { controlPlane, gateways } = allComparable(sources, latest);
  const isInvalid = ({ at }: ObservedSource) => at === invalidAt;
  if ((controlPlane !== null && isInvalid(controlPlane)) || [...gateways.values()].some(isInvalid)) return true;
  return laterOf(controlPlane, source) !== sourceAt(sources, gatewayId);
}

/**
 * Adds observations. The gateways' observations are copied at most twice, because a device may have thousands of them.
 *
 * @param latest the latest valid time of an observation, in milliseconds since 1970
 * @returns the same sources if none of the observations is new
 */
export function withObservations(
  sources: DeviceSources,
  observations: Iterable<Observation>,
  latest: number,
): DeviceSources {
  let { controlPlane } = sources;
  let gateways: Map<string, ObservedSource> | undefined;
  for (const observation of observations) {
    const { gatewayId, source } = observation;
    if (!isNewObservation({ controlPlane, gateways: gateways ?? sources.gateways }, observation, latest)) continue;
    if (gatewayId === null) {
      controlPlane = source;
      continue;
    }
    gateways ??= new Map(sources.gateways);
    gateways.set(gatewayId, source);
  }
  if (controlPlane === sources.controlPlane && gateways === undefined) return sources;
  return allComparable({ controlPlane, gateways: gateways ?? sources.gateways }, latest);
}

/** @param latest the latest valid time of an observation, in milliseconds since 1970 */
export function allComparable({ controlPlane, gateways }: DeviceSources, latest: number): DeviceSources {
  const isInvalid = [...gateways.values()].some(({ at }) => at > latest);
  return {
    controlPlane: controlPlane && comparable(controlPlane, latest),
    gateways: isInvalid ? new Map(Array.from(gateways, ([id, source]) => [id, comparable(source, latest)])) : gateways,
  };
}
