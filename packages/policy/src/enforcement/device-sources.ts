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

/** The time of an observation in place of an impossible one. The server stores 1970 for it, which is later. */
const impossibleAt = -1;

/**
 * An observation as it compares with others. One with an impossible time precedes every other one: the clock that gave
 * the time was corrected since.
 *
 * @param latest the latest time that an observation can have, in milliseconds since 1970
 */
function comparable(source: ObservedSource, latest: number): ObservedSource {
  return source.at > latest ? { ...source, at: impossibleAt } : source;
}

/**
 * Whether the observer made neither the same nor a later observation before.
 *
 * @param latest the latest time that an observation can have, in milliseconds since 1970
 */
export function isNewObservation(
  { controlPlane, gateways }: DeviceSources,
  { gatewayId, source }: Observation,
  latest: number,
): boolean {
  const stored = gatewayId === null ? controlPlane : gateways.get(gatewayId);
  if (stored === null || stored === undefined) return true;
  const before = comparable(stored, latest);
  // The server notifies of each observation for a while. One with an impossible time stays the same.
  if (before.at === comparable(source, latest).at) return before.address !== source.address;
  return before.at < source.at;
}

/**
 * Whether an observation of a gateway changes the address that counts at this gateway. One is also needed to replace
 * impossible times, of any observer: they must not count when that time comes.
 *
 * @param latest the latest time that an observation can have, in milliseconds since 1970
 */
export function changesSourceAt(
  sources: DeviceSources,
  gatewayId: string,
  source: ObservedSource,
  latest: number,
): boolean {
  if (!isNewObservation(sources, { gatewayId, source }, latest)) return false;
  const { controlPlane, gateways } = allComparable(sources, latest);
  const isImpossible = ({ at }: ObservedSource) => at === impossibleAt;
  if ((controlPlane !== null && isImpossible(controlPlane)) || [...gateways.values()].some(isImpossible)) return true;
  return laterOf(controlPlane, source) !== sourceAt(sources, gatewayId);
}

/**
 * Adds observations. The gateways' observations are copied at most twice, because a device may have thousands of them.
 *
 * @param latest the latest time that an observation can have, in milliseconds since 1970
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

/** @param latest the latest time that an observation can have, in milliseconds since 1970 */
export function allComparable({ controlPlane, gateways }: DeviceSources, latest: number): DeviceSources {
  const isImpossible = [...gateways.values()].some(({ at }) => at > latest);
  return {
    controlPlane: controlPlane && comparable(controlPlane, latest),
    gateways: isImpossible
      ? new Map(Array.from(gateways, ([id, source]) => [id, comparable(source, latest)]))
      : gateways,
  };
}
