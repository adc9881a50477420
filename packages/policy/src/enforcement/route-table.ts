import type { DeviceConfiguration, DeviceGateway } from "@gatehouse/contract/records/device-configuration";
import {
  commonGateways,
  GatewayBits,
  type GatewayList,
  type GatewaySet,
  gatewaysIn,
} from "../decisions/common-gateways.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import { entryCost, forEach, type Work } from "../work.ts";
import { relaysInOrder } from "./gateway-relays.ts";
import type { GatewayLink } from "./links.ts";
import { type ParsedAddress, ParsedAddresses } from "./parsed-addresses.ts";

/** A resource that the device may reach. Few resources share addresses, so sets are created when they are needed. */
class ReachedResource {
  readonly resource: CompiledResource;
  /** The gateways that can carry the resource, in the order of the decision. */
  readonly found: readonly string[];
  readonly #bits: GatewayBits;
  #gateways: GatewayList | undefined;
  #set: GatewaySet | undefined;

  constructor(resource: CompiledResource, found: readonly string[], bits: GatewayBits) {
    this.resource = resource;
    this.found = found;
    this.#bits = bits;
  }

  get gateways(): GatewayList {
    this.#gateways ??= this.#bits.listOf(this.found);
    return this.#gateways;
  }

  get set(): GatewaySet {
    this.#set ??= this.#bits.setOf(this.gateways);
    return this.#set;
  }
}

/** The route to an address, before its gateway is chosen. */
interface Route {
  /** The resource with the address that was created first. */
  readonly first: ReachedResource;
  /** The gateways that can carry all resources with the address, except those without a common gateway. */
  readonly common?: GatewaySet;
}

/** The cost of the choice of a gateway. Each address with common gateways has its own list of gateways. */
function costOfChoice([, { first, common }]: readonly [key: string, route: Route]): number {
  return common === undefined ? entryCost : entryCost * (1 + first.found.length);
}

type Choose = (resource: CompiledResource, key: string, gateways: readonly string[]) => string | undefined;

/** Collects the addresses of each gateway. */
export class RouteTable {
  readonly #model: Model;
  readonly #links: ReadonlyMap<string, GatewayLink>;
  readonly #addresses: ParsedAddresses;
  /** Routes to blocks and names, by key. */
  readonly #blocks = new Map<string, Route>();
  readonly #names = new Map<string, Route>();
  readonly #bits = new GatewayBits();
  readonly #found = new Map<string, { readonly allowedIps: string[]; readonly names: string[] }>();

  constructor(model: Model, links: ReadonlyMap<string, GatewayLink>) {
    this.#model = model;
    this.#links = links;
    this.#addresses = ParsedAddresses.for(model.resources);
  }

  /**
   * Adds the addresses of a resource that the device may reach. Resources are added in the order of creation.
   *
   * @param found the gateways that can carry the resource, in the order of the decision
   * @returns the units of cost that were spent
   */
  add(resource: CompiledResource, found: readonly string[]): number {
    // Addresses without other resources share one object.
    const own: Route = { first: new ReachedResource(resource, found, this.#bits) };
    const addresses = this.#addresses.of(resource);
    for (const address of addresses) {
      const routes = this.#routesOf(address);
      const known = routes.get(address.key);
      if (known === undefined) {
        routes.set(address.key, own);
        continue;
      }
      const before = known.common ?? known.first.set;
      const common = commonGateways(before, own.first.set);
      // Without a common gateway, the resources that were created first are reachable.
      if (common !== undefined && common !== before) routes.set(address.key, { first: known.first, common });
    }
    return (addresses.length + found.length) * entryCost;
  }

  /** Chooses the gateway of each address. */
  *choosing(choose: Choose): Work<void> {
    for (const kind of ["allowedIps", "names"] as const) {
      const routes = kind === "names" ? this.#names : this.#blocks;
      yield* forEach(routes, costOfChoice, ([key, { first, common }]) => {
        const gateways = common === undefined ? first.found : gatewaysIn(first.gateways, common);
        const gateway = choose(first.resource, key, gateways);
        if (gateway !== undefined) this.#through(gateway)[kind].push(key);
      });
    }
  }

  /** @param unserved resources without a gateway. Addresses that have a gateway are excluded */
  unserved(unserved: readonly CompiledResource[]): Pick<DeviceConfiguration, "unserved"> {
    const addresses = new Set<string>();
    const names = new Set<string>();
    for (const address of unserved.flatMap((resource) => this.#addresses.of(resource))) {
      if (!this.#routesOf(address).has(address.key)) (address.range === undefined ? names : addresses).add(address.key);
    }
    if (addresses.size + names.size === 0) return {};
    return { unserved: { addresses: [...addresses].sort(), names: [...names].sort() } };
  }

  /** @param internet the gateway for the internet, which is included even without other addresses */
  gateways(internet: string | undefined): DeviceGateway[] {
    if (internet !== undefined) this.#through(internet);
    return [...this.#found.keys()].sort().flatMap((gateway): DeviceGateway[] => {
      const link = this.#links.get(gateway);
      if (link === undefined || link.publicKey === null) return [];
      const { allowedIps, names } = this.#through(gateway);
      const endpoint = link.endpoint === null ? {} : { endpoint: link.endpoint };
      return [
        {
          gateway,
          publicKey: link.publicKey,
          addresses: [link.ipv4, link.ipv6],
          ...endpoint,
          relays: relaysInOrder(this.#model, this.#links, link),
          allowedIps: allowedIps.sort(),
          names: names.sort(),
        },
      ];
    });
  }

  #routesOf({ range }: ParsedAddress): Map<string, Route> {
    return range === undefined ? this.#names : this.#blocks;
  }

  #through(gatewayId: string): { readonly allowedIps: string[]; readonly names: string[] } {
    const known = this.#found.get(gatewayId);
    if (known !== undefined) return known;
    const fresh = { allowedIps: [], names: [] };
    this.#found.set(gatewayId, fresh);
    return fresh;
  }
}
