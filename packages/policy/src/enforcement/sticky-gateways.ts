import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import type { CompiledResource } from "../model/compiled-resource.ts";

/** The last configuration that the device received, and the gateways that were in service at that time. */
export interface PreviousRoutes {
  readonly configuration: DeviceConfiguration;
  readonly serving: ReadonlySet<string>;
  /** Whether a resource, given by id, has changed since. Its gateways may have changed. */
  readonly isChanged: (resourceId: string) => boolean;
}

/** A list of gateways, prepared for many addresses that have it. */
interface GatewayOrder {
  readonly positions: ReadonlyMap<string, number>;
  /** The position of the first gateway that returned to service. Infinite if none returned. */
  readonly returned: number;
}

/**
 * Keeps a device on its current gateways, so that load and distance alone move no traffic (SPEC.md of the device
 * protocol).
 */
export class StickyGateways {
  readonly #serving: ReadonlySet<string>;
  readonly #isChanged: PreviousRoutes["isChanged"];
  readonly #gatewayOf = new Map<string, string>();
  readonly #orders = new WeakMap<readonly string[], GatewayOrder>();

  constructor({ configuration, serving, isChanged }: PreviousRoutes) {
    this.#serving = serving;
    this.#isChanged = isChanged;
    for (const { gateway, allowedIps, names } of configuration.gateways) {
      for (const key of [...allowedIps, ...names]) this.#gatewayOf.set(key, gateway);
    }
  }

  /**
   * @param key the address
   * @param gateways gateways that may carry the traffic, in the order of the decision
   * @returns undefined to use the first of these gateways
   */
  choice({ facts }: CompiledResource, key: string, gateways: readonly string[]): string | undefined {
    // A change of priorities takes effect at once.
    if (facts.loadBalancingMode === "MANUAL" || this.#isChanged(facts.id)) return undefined;
    const current = this.#gatewayOf.get(key);
    if (current === undefined) return undefined;
    const { positions, returned } = this.#orderOf(gateways);
    // A gateway that returned comes before the current one and takes its share again.
    return gateways[Math.min(positions.get(current) ?? returned, returned)];
  }

  /** The addresses of a resource have one list, so the list is read once and not for each address. */
  #orderOf(gateways: readonly string[]): GatewayOrder {
    const known = this.#orders.get(gateways);
    if (known !== undefined) return known;
    const first = gateways.findIndex((id) => !this.#serving.has(id));
    const order: GatewayOrder = {
      positions: new Map(gateways.map((id, position) => [id, position])),
      returned: first < 0 ? Number.POSITIVE_INFINITY : first,
    };
    this.#orders.set(gateways, order);
    return order;
  }
}
