import type { DeviceConfiguration, DeviceGateway } from "@gatehouse/contract/records/device-configuration";
import { hasEnded } from "../decisions/decide.ts";
import { decidingForResourceAtGateways } from "../decisions/decide-at-gateways.ts";
import type { AccessRequest } from "../decisions/request.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import type { Table } from "../model/table.ts";
import { finish, type Work } from "../work.ts";
import { sourceAt, sourcesAtGateways } from "./device-sources.ts";
import { relaysFor } from "./gateway-rules.ts";
import type { DeviceLink, GatewayLink } from "./links.ts";
import { ParsedAddresses } from "./parsed-addresses.ts";

/** The facts about a device that its routes depend on. */
export interface RoutedDevice extends Pick<DeviceLink, "ipv4" | "ipv6" | "sources" | "country"> {
  /** False if no gateway accepts the device as a peer, because its public key is not a WireGuard key. */
  readonly isPeer: boolean;
}

/** The inputs of device routes apart from the model. */
export interface RouteInputs {
  readonly devices: ReadonlyMap<string, RoutedDevice>;
  readonly gateways: ReadonlyMap<string, GatewayLink>;
}

/** The last configuration that the device received, and the gateways that were in service at that time. */
export interface PreviousRoutes {
  readonly configuration: DeviceConfiguration;
  readonly serving: ReadonlySet<string>;
  /** Whether a resource, given by id, has changed since. Its gateways may have changed. */
  readonly isChanged: (resourceId: string) => boolean;
}

/** The gateways that are in service and reachable for devices. */
export function servingGateways(model: Model, { gateways }: Pick<RouteInputs, "gateways">): ReadonlySet<string> {
  const serving = [...gateways.keys()].filter(
    (id) => model.gateways.get(id)?.status === "ONLINE" && canBeFound(gateways, id),
  );
  return new Set(serving);
}

/** Whether a gateway exists and has applied a configuration, or was taken out of service before. */
function isDeployed(model: Model, gatewayId: string): boolean {
  const status = model.gateways.get(gatewayId)?.status;
  return status !== undefined && status !== "PENDING";
}

/** The gateways that devices need for a resource, even while they are out of service. */
export function deployedGateways(model: Model): ReadonlySet<string> {
  return new Set(Array.from(model.gateways.values(), ({ id }) => id).filter((id) => isDeployed(model, id)));
}

/** Computes the routes of `configuringDevice` without pausing. */
export function deviceConfiguration(...inputs: Parameters<typeof configuringDevice>): DeviceConfiguration | undefined {
  return finish(configuringDevice(...inputs));
}

/**
 * The routes to everything that a device may reach now. Each address has one gateway: the first gateway of the decision
 * that the device can reach. The other gateways are prepared for the traffic, so failover only replaces the first
 * gateway. Addresses of private resources that the device may reach, but that no gateway in service carries, are
 * unserved: the local network must not get their traffic. Gateways that were never deployed do not count. The work can
 * be suspended between two policies.
 *
 * @param now milliseconds since 1970
 * @param previous if given, resources that are balanced by load stay on their gateway until a gateway fails or returns
 * @returns no gateways for a device that may reach nothing; undefined for an unknown device
 */
export function* configuringDevice(
  model: Model,
  inputs: RouteInputs,
  deviceId: string,
  now: number,
  previous?: PreviousRoutes,
): Work<DeviceConfiguration | undefined> {
  const routed = inputs.devices.get(deviceId);
  if (routed === undefined) return undefined;
  const { ipv4, ipv6, sources, country } = routed;
  const sourceIp = sourceAt(sources);
  const known = model.devices.get(deviceId);
  const endsAt = known?.facts.sessionEndsAt ?? undefined;
  const session = endsAt === undefined ? {} : { sessionEndsAt: Math.floor(endsAt) };
  const principal = known?.principalIn(model.users, model.groups);
  if (principal?.isActive !== true || !routed.isPeer || hasEnded(principal, now)) {
    return { device: deviceId, ipv4, ipv6, gateways: [], ...session };
  }
  const routes = new RouteTable(model, inputs.gateways);
  const sticky = previous === undefined ? undefined : new StickyGateways(previous);
  const observed = sourcesAtGateways(sources);
  let validUntil = Number.POSITIVE_INFINITY;
  const unserved: CompiledResource[] = [];
  const gatewayFor = function* (resource: CompiledResource | undefined): Work<string | undefined> {
    const request: AccessRequest = {
      subject: { kind: "device", deviceId },
      destination: { kind: "resource", resourceId: resource?.id ?? "" },
      now,
      ...(sourceIp === null ? {} : { sourceIp }),
      ...(country === null ? {} : { country }),
    };
    const { decision, mayCarry } = yield* decidingForResourceAtGateways(model, request, principal, resource, observed);
    validUntil = Math.min(validUntil, decision.validUntil ?? validUntil);
    const found = decision.gateways.filter((id) => canBeFound(inputs.gateways, id));
    if (resource === undefined) return found[0];
    const isCarrier = (id: string) => isDeployed(model, id) && mayCarry(id);
    if (found.length === 0 && resource.type === "PRIVATE" && resource.facts.gateways.some(isCarrier)) {
      unserved.push(resource);
    }
    return sticky?.choice(resource, () => routes.firstFree(resource), found) ?? found[0];
  };
  for (const resource of inOrderOfCreation(model.resources)) {
    const gateway = yield* gatewayFor(resource);
    if (gateway !== undefined) routes.add(gateway, resource);
  }
  const internet = yield* gatewayFor(undefined);
  return {
    device: deviceId,
    ipv4,
    ipv6,
    gateways: routes.gateways(internet),
    ...routes.unserved(unserved),
    ...(internet === undefined ? {} : { internet }),
    ...(validUntil === Number.POSITIVE_INFINITY ? {} : { validUntil }),
    ...session,
  };
}

const orders = new WeakMap<Table<CompiledResource>, readonly CompiledResource[]>();

/** Resources in the order of creation. Cached, because thousands of devices need this order. */
function inOrderOfCreation(resources: Table<CompiledResource>): readonly CompiledResource[] {
  let order = orders.get(resources);
  if (order === undefined) {
    order = [...resources.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    orders.set(resources, order);
  }
  return order;
}

function canBeFound(gateways: ReadonlyMap<string, GatewayLink>, id: string): boolean {
  const link = gateways.get(id);
  return (
    link !== undefined &&
    link.publicKey !== null &&
    (link.endpoint !== null || relaysOf(gateways.values(), link).length > 0)
  );
}

/** Relays in the order to try them. Relays in service come first, because each silent relay costs time. */
function relaysInOrder(model: Model, gateways: ReadonlyMap<string, GatewayLink>, target: GatewayLink): string[] {
  if (target.relayPort === null) return [];
  const isOnline = ({ gatewayId }: GatewayLink) => model.gateways.get(gatewayId)?.status === "ONLINE";
  const links = [...gateways.values()];
  const inOrder = [...links.filter(isOnline), ...links.filter((link) => !isOnline(link))];
  return relaysOf(inOrder, target);
}

function relaysOf(links: Iterable<GatewayLink>, target: GatewayLink): string[] {
  return [...links].flatMap((relay) => {
    if (!relaysFor(relay, target) || relay.endpoint === null) return [];
    return [`${relay.endpoint.slice(0, relay.endpoint.lastIndexOf(":"))}:${target.relayPort}`];
  });
}

/**
 * Keeps a device on its current gateways, so that load and distance alone move no traffic (SPEC.md of the device
 * protocol).
 */
class StickyGateways {
  readonly #serving: ReadonlySet<string>;
  readonly #isChanged: PreviousRoutes["isChanged"];
  readonly #gatewayOf = new Map<string, string>();

  constructor({ configuration, serving, isChanged }: PreviousRoutes) {
    this.#serving = serving;
    this.#isChanged = isChanged;
    for (const { gateway, allowedIps, names } of configuration.gateways) {
      for (const key of [...allowedIps, ...names]) this.#gatewayOf.set(key, gateway);
    }
  }

  /**
   * @param address finds an address of the resource, by key
   * @param found gateways that may carry the traffic, in the order of the decision
   * @returns undefined to use the first of these gateways
   */
  choice({ facts }: CompiledResource, address: () => string | undefined, found: readonly string[]): string | undefined {
    // A change of priorities takes effect at once.
    if (facts.loadBalancingMode === "MANUAL" || this.#isChanged(facts.id)) return undefined;
    const key = address();
    const current = key === undefined ? undefined : this.#gatewayOf.get(key);
    if (current === undefined) return undefined;
    // A gateway that returned comes before the current one and takes its share again.
    return found.find((id) => id === current || !this.#serving.has(id));
  }
}

/**
 * Collects the addresses of each gateway. Of several resources with the same address, the one that was created first
 * determines the gateway.
 */
class RouteTable {
  readonly #model: Model;
  readonly #links: ReadonlyMap<string, GatewayLink>;
  readonly #addresses: ParsedAddresses;
  readonly #taken = new Set<string>();
  readonly #found = new Map<string, { readonly allowedIps: string[]; readonly names: string[] }>();

  constructor(model: Model, links: ReadonlyMap<string, GatewayLink>) {
    this.#model = model;
    this.#links = links;
    this.#addresses = ParsedAddresses.for(model.resources);
  }

  /** The first address of the resource without a gateway. */
  firstFree(resource: CompiledResource): string | undefined {
    return this.#addresses.of(resource).find(({ key }) => !this.#taken.has(key))?.key;
  }

  add(gatewayId: string, resource: CompiledResource): void {
    for (const { key, range } of this.#addresses.of(resource)) {
      if (this.#taken.has(key)) continue;
      this.#taken.add(key);
      const { allowedIps, names } = this.#through(gatewayId);
      (range === undefined ? names : allowedIps).push(key);
    }
  }

  /** @param unserved resources without a gateway. Addresses are excluded that have a gateway */
  unserved(unserved: readonly CompiledResource[]): Pick<DeviceConfiguration, "unserved"> {
    const addresses = new Set<string>();
    const names = new Set<string>();
    for (const { key, range } of unserved.flatMap((resource) => this.#addresses.of(resource))) {
      if (!this.#taken.has(key)) (range === undefined ? names : addresses).add(key);
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

  #through(gatewayId: string): { readonly allowedIps: string[]; readonly names: string[] } {
    const known = this.#found.get(gatewayId);
    if (known !== undefined) return known;
    const fresh = { allowedIps: [], names: [] };
    this.#found.set(gatewayId, fresh);
    return fresh;
  }
}
