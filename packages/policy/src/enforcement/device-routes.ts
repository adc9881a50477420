import type { DeviceConfiguration, DeviceGateway } from "@gatehouse/contract/device-link/device-configuration";
import { decideAbout } from "../decisions/decide.ts";
import type { AccessRequest } from "../decisions/request.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import type { Table } from "../model/table.ts";
import type { DeviceLink, GatewayLink } from "./links.ts";
import { addressesOf } from "./places.ts";

/** A device as its ways are worked out. */
export interface DeviceWay extends Pick<DeviceLink, "ipv4" | "ipv6" | "sourceIp" | "country"> {
  /** False where no gateway can take it for a peer, as its key is none of WireGuard's. */
  readonly isPeer: boolean;
}

/** What ways are worked out from beside the facts that decisions are made from. */
export interface Ways {
  readonly devices: ReadonlyMap<string, DeviceWay>;
  readonly gateways: ReadonlyMap<string, GatewayLink>;
}

/** What a device was told before, and which gateways carried anything then. */
export interface EarlierRoutes {
  readonly configuration: DeviceConfiguration;
  readonly serving: ReadonlySet<string>;
  /** Whether a resource was changed since, by its id: perhaps its gateways were. */
  readonly isChanged: (resourceId: string) => boolean;
}

/** The gateways that devices can find and that are in service. */
export function servingGateways(model: Model, { gateways }: Pick<Ways, "gateways">): ReadonlySet<string> {
  const serving = [...gateways.keys()].filter(
    (id) => model.gateways.get(id)?.status === "ONLINE" && canBeFound(gateways, id),
  );
  return new Set(serving);
}

/**
 * The way to everything that a device may reach now: each address through one gateway, the first of the decision's that devices can find. The
 * other gateways are ready for it, so another first one is all that failover takes.
 *
 * @param now milliseconds since 1970
 * @param earlier where resources spread over gateways by load, only a gateway that went or came moves what was on its way; absent: load decides
 * @returns without gateways for a device that may reach nothing; undefined for one that is not known
 */
export function deviceConfiguration(
  model: Model,
  ways: Ways,
  deviceId: string,
  now: number,
  earlier?: EarlierRoutes,
): DeviceConfiguration | undefined {
  const way = ways.devices.get(deviceId);
  if (way === undefined) return undefined;
  const { ipv4, ipv6, sourceIp, country } = way;
  const asker = model.devices.get(deviceId)?.askerIn(model.users, model.groups);
  if (asker?.isActive !== true || !way.isPeer) return { device: deviceId, ipv4, ipv6, gateways: [] };
  const routes = new Routes(ways.gateways);
  const standing = earlier === undefined ? undefined : new Standing(earlier);
  let validUntil = Number.POSITIVE_INFINITY;
  const gatewayFor = (resource: CompiledResource | undefined) => {
    const request: AccessRequest = {
      subject: { kind: "device", deviceId },
      destination: { kind: "resource", resourceId: resource?.facts.id ?? "" },
      now,
      ...(sourceIp === null ? {} : { sourceIp }),
      ...(country === null ? {} : { country }),
    };
    const decision = decideAbout(model, request, asker, resource);
    validUntil = Math.min(validUntil, decision.validUntil ?? validUntil);
    const found = decision.gateways.filter((id) => canBeFound(ways.gateways, id));
    return (resource === undefined ? undefined : standing?.choice(resource, found)) ?? found[0];
  };
  for (const resource of inOrderOfCreation(model.resources)) {
    const gateway = gatewayFor(resource);
    if (gateway !== undefined) routes.add(gateway, resource);
  }
  const internet = gatewayFor(undefined);
  if (internet !== undefined) routes.use(internet);
  return {
    device: deviceId,
    ipv4,
    ipv6,
    gateways: routes.gateways(),
    ...(internet === undefined ? {} : { internet }),
    ...(validUntil === Number.POSITIVE_INFINITY ? {} : { validUntil }),
  };
}

const orders = new WeakMap<Table<CompiledResource>, readonly CompiledResource[]>();

/** Made once for the same resources: thousands of devices ask for it. */
function inOrderOfCreation(resources: Table<CompiledResource>): readonly CompiledResource[] {
  let order = orders.get(resources);
  if (order === undefined) {
    order = [...resources.values()].sort((a, b) => (a.facts.id < b.facts.id ? -1 : 1));
    orders.set(resources, order);
  }
  return order;
}

function canBeFound(gateways: ReadonlyMap<string, GatewayLink>, id: string): boolean {
  const link = gateways.get(id);
  return (
    link !== undefined && link.publicKey !== null && (link.endpoint !== null || relaysOf(gateways, link).length > 0)
  );
}

function relaysOf(
  gateways: ReadonlyMap<string, GatewayLink>,
  { gatewayId, relayPort, endpoint: target }: GatewayLink,
): string[] {
  if (relayPort === null || target === null) return [];
  return [...gateways.values()].flatMap((relay) => {
    if (!relay.relayEnabled || relay.gatewayId === gatewayId || relay.endpoint === null) return [];
    return [`${relay.endpoint.slice(0, relay.endpoint.lastIndexOf(":"))}:${relayPort}`];
  });
}

/** Holds a device to the gateways that it is on, so that load and distance alone move nobody (SPEC.md of the device link). */
class Standing {
  readonly #serving: ReadonlySet<string>;
  readonly #isChanged: EarlierRoutes["isChanged"];
  readonly #gatewayOf = new Map<string, string>();

  constructor({ configuration, serving, isChanged }: EarlierRoutes) {
    this.#serving = serving;
    this.#isChanged = isChanged;
    for (const { gateway, allowedIps, names } of configuration.gateways) {
      for (const key of [...allowedIps, ...names]) this.#gatewayOf.set(key, gateway);
    }
  }

  /** @param found gateways that may carry it, in the order of the decision; undefined: the first of them is right */
  choice(resource: CompiledResource, found: readonly string[]): string | undefined {
    // Priorities count at once.
    if (resource.facts.loadBalancingMode === "MANUAL" || this.#isChanged(resource.facts.id)) return undefined;
    const [first] = addressesOf(resource);
    const present = first === undefined ? undefined : this.#gatewayOf.get(first.key);
    if (present === undefined) return undefined;
    // A gateway that has come back takes its share: it does so by its place before the present one.
    return found.find((id) => id === present || !this.#serving.has(id));
  }
}

/** Collects what goes through which gateway. An address goes where the first created resource that has it goes. */
class Routes {
  readonly #links: ReadonlyMap<string, GatewayLink>;
  readonly #taken = new Set<string>();
  readonly #found = new Map<string, { readonly allowedIps: string[]; readonly names: string[] }>();

  constructor(links: ReadonlyMap<string, GatewayLink>) {
    this.#links = links;
  }

  use(gatewayId: string): { readonly allowedIps: string[]; readonly names: string[] } {
    const known = this.#found.get(gatewayId);
    if (known !== undefined) return known;
    const fresh = { allowedIps: [], names: [] };
    this.#found.set(gatewayId, fresh);
    return fresh;
  }

  add(gatewayId: string, resource: CompiledResource): void {
    const { allowedIps, names } = this.use(gatewayId);
    for (const { key, range } of addressesOf(resource)) {
      if (this.#taken.has(key)) continue;
      this.#taken.add(key);
      (range === undefined ? names : allowedIps).push(key);
    }
  }

  gateways(): DeviceGateway[] {
    return [...this.#found.keys()].sort().flatMap((gateway): DeviceGateway[] => {
      const link = this.#links.get(gateway);
      if (link === undefined || link.publicKey === null) return [];
      const { allowedIps, names } = this.use(gateway);
      const endpoint = link.endpoint === null ? {} : { endpoint: link.endpoint };
      return [
        {
          gateway,
          publicKey: link.publicKey,
          addresses: [link.ipv4, link.ipv6],
          ...endpoint,
          relays: relaysOf(this.#links, link),
          allowedIps: allowedIps.sort(),
          names: names.sort(),
        },
      ];
    });
  }
}
