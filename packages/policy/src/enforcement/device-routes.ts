import type { DeviceConfiguration, DeviceGateway } from "@gatehouse/contract/records/device-configuration";
import { decideForResource } from "../decisions/decide.ts";
import type { AccessRequest } from "../decisions/request.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import type { Table } from "../model/table.ts";
import { addressesOf } from "./destinations.ts";
import { relaysFor } from "./gateway-rules.ts";
import type { DeviceLink, GatewayLink } from "./links.ts";

/** A device as its ways are worked out. */
export interface RoutedDevice extends Pick<DeviceLink, "ipv4" | "ipv6" | "sourceIp" | "country"> {
  /** False where no gateway can take it for a peer, as its key is none of WireGuard's. */
  readonly isPeer: boolean;
}

/** What ways are worked out from beside the facts that decisions are made from. */
export interface RouteInputs {
  readonly devices: ReadonlyMap<string, RoutedDevice>;
  readonly gateways: ReadonlyMap<string, GatewayLink>;
}

/** What a device was told before, and which gateways carried anything then. */
export interface PreviousRoutes {
  readonly configuration: DeviceConfiguration;
  readonly serving: ReadonlySet<string>;
  /** Whether a resource was changed since, by its id: perhaps its gateways were. */
  readonly isChanged: (resourceId: string) => boolean;
}

/** The gateways that devices can find and that are in service. */
export function servingGateways(model: Model, { gateways }: Pick<RouteInputs, "gateways">): ReadonlySet<string> {
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
  ways: RouteInputs,
  deviceId: string,
  now: number,
  earlier?: PreviousRoutes,
): DeviceConfiguration | undefined {
  const way = ways.devices.get(deviceId);
  if (way === undefined) return undefined;
  const { ipv4, ipv6, sourceIp, country } = way;
  const principal = model.devices.get(deviceId)?.principalIn(model.users, model.groups);
  if (principal?.isActive !== true || !way.isPeer) return { device: deviceId, ipv4, ipv6, gateways: [] };
  const routes = new Routes(model, ways.gateways);
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
    const decision = decideForResource(model, request, principal, resource);
    validUntil = Math.min(validUntil, decision.validUntil ?? validUntil);
    const found = decision.gateways.filter((id) => canBeFound(ways.gateways, id));
    const stays = resource === undefined ? undefined : standing?.choice(resource, routes.firstFree(resource), found);
    return stays ?? found[0];
  };
  for (const resource of inOrderOfCreation(model.resources)) {
    const gateway = gatewayFor(resource);
    if (gateway !== undefined) routes.add(gateway, resource);
  }
  const internet = gatewayFor(undefined);
  return {
    device: deviceId,
    ipv4,
    ipv6,
    gateways: routes.gateways(internet),
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
    link !== undefined &&
    link.publicKey !== null &&
    (link.endpoint !== null || relaysOf(gateways.values(), link).length > 0)
  );
}

/** In the order in which devices try them: those that are in service first, as each that does not answer costs time. */
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

/** Holds a device to the gateways that it is on, so that load and distance alone move nobody (SPEC.md of the device link). */
class Standing {
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
   * @param key an address that goes where the resource goes
   * @param found gateways that may carry it, in the order of the decision
   * @returns undefined where the first of them is right
   */
  choice({ facts }: CompiledResource, key: string | undefined, found: readonly string[]): string | undefined {
    // Priorities count at once.
    if (facts.loadBalancingMode === "MANUAL" || this.#isChanged(facts.id)) return undefined;
    const present = key === undefined ? undefined : this.#gatewayOf.get(key);
    if (present === undefined) return undefined;
    // A gateway that has come back takes its share: it does so by its place before the present one.
    return found.find((id) => id === present || !this.#serving.has(id));
  }
}

/** Collects what goes through which gateway. An address goes where the first created resource that has it goes. */
class Routes {
  readonly #model: Model;
  readonly #links: ReadonlyMap<string, GatewayLink>;
  readonly #taken = new Set<string>();
  readonly #found = new Map<string, { readonly allowedIps: string[]; readonly names: string[] }>();

  constructor(model: Model, links: ReadonlyMap<string, GatewayLink>) {
    this.#model = model;
    this.#links = links;
  }

  /** An address of the resource that goes nowhere yet. */
  firstFree(resource: CompiledResource): string | undefined {
    return addressesOf(resource).find(({ key }) => !this.#taken.has(key))?.key;
  }

  add(gatewayId: string, resource: CompiledResource): void {
    for (const { key, range } of addressesOf(resource)) {
      if (this.#taken.has(key)) continue;
      this.#taken.add(key);
      const { allowedIps, names } = this.#through(gatewayId);
      (range === undefined ? names : allowedIps).push(key);
    }
  }

  /** @param internet the gateway that is there even where nothing else goes through it */
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
