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

export const noSources: DeviceSources = { controlPlane: null, gateways: new Map() };

/** @param gatewayId absent for gateways that observed nothing. @returns null if the address is unknown */
export function sourceAt({ controlPlane, gateways }: DeviceSources, gatewayId?: string): string | null {
  const own = gatewayId === undefined ? undefined : gateways.get(gatewayId);
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

/**
 * Adds an observation.
 *
 * @param gatewayId null for an observation of the control plane
 * @returns the same sources if the observer made the same or a later observation before
 */
export function withObservation(
  sources: DeviceSources,
  gatewayId: string | null,
  observation: ObservedSource,
): DeviceSources {
  const before = gatewayId === null ? (sources.controlPlane ?? undefined) : sources.gateways.get(gatewayId);
  const isSame = before?.address === observation.address && before.at === observation.at;
  if (isSame || (before !== undefined && before.at > observation.at)) return sources;
  if (gatewayId === null) return { ...sources, controlPlane: observation };
  return { ...sources, gateways: new Map(sources.gateways).set(gatewayId, observation) };
}
