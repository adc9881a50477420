import type { DeviceConfiguration, DeviceGateway } from "@gatehouse/contract/device-link/device-configuration";
import { decideAbout } from "../decisions/decide.ts";
import type { AccessRequest } from "../decisions/request.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import { relaysFor } from "./gateway-rules.ts";
import type { DeviceLink, GatewayLink } from "./links.ts";
import { addressesOf } from "./places.ts";

/**
 * The way to everything that a device may reach now: each address through one gateway, the first of the decision's that devices can find. The
 * other gateways are ready for it, so another first one is all that failover takes.
 *
 * @param now milliseconds since 1970
 * @returns undefined for a device that is not known or may reach nothing at all
 */
export function deviceConfiguration(
  model: Model,
  links: { readonly devices: ReadonlyMap<string, DeviceLink>; readonly gateways: ReadonlyMap<string, GatewayLink> },
  deviceId: string,
  now: number,
): DeviceConfiguration | undefined {
  const link = links.devices.get(deviceId);
  const asker = model.devices.get(deviceId)?.askerIn(model.users, model.groups);
  if (link === undefined || asker === undefined || !asker.isActive) return undefined;
  const routes = new Routes(links.gateways);
  let validUntil = Number.POSITIVE_INFINITY;
  const gatewayFor = (resource: CompiledResource | undefined) => {
    const request: AccessRequest = {
      subject: { kind: "device", deviceId },
      destination: { kind: "resource", resourceId: resource?.facts.id ?? "" },
      now,
      ...(link.sourceIp === null ? {} : { sourceIp: link.sourceIp }),
      ...(link.country === null ? {} : { country: link.country }),
    };
    const decision = decideAbout(model, request, asker, resource);
    validUntil = Math.min(validUntil, decision.validUntil ?? validUntil);
    return decision.gateways.find((id) => routes.canBeFound(id));
  };
  const inOrder = [...model.resources.values()].sort((a, b) => (a.facts.id < b.facts.id ? -1 : 1));
  for (const resource of inOrder) {
    const gateway = gatewayFor(resource);
    if (gateway !== undefined) routes.add(gateway, resource);
  }
  const internet = gatewayFor(undefined);
  if (internet !== undefined) routes.use(internet);
  return {
    device: deviceId,
    ipv4: link.ipv4,
    ipv6: link.ipv6,
    gateways: routes.gateways(),
    ...(internet === undefined ? {} : { internet }),
    ...(validUntil === Number.POSITIVE_INFINITY ? {} : { validUntil }),
  };
}

/** Collects what goes through which gateway. An address goes where the first created resource that has it goes. */
class Routes {
  readonly #links: ReadonlyMap<string, GatewayLink>;
  readonly #taken = new Set<string>();
  readonly #found = new Map<string, { readonly allowedIps: string[]; readonly names: string[] }>();

  constructor(links: ReadonlyMap<string, GatewayLink>) {
    this.#links = links;
  }

  canBeFound(gatewayId: string): boolean {
    const link = this.#links.get(gatewayId);
    return link !== undefined && link.publicKey !== null && (link.endpoint !== null || this.#relaysOf(link).length > 0);
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
          relays: this.#relaysOf(link),
          allowedIps: allowedIps.sort(),
          names: names.sort(),
        },
      ];
    });
  }

  #relaysOf(target: GatewayLink): string[] {
    return [...this.#links.values()].flatMap((relay) => {
      if (!relaysFor(relay, target) || relay.endpoint === null) return [];
      return [`${relay.endpoint.slice(0, relay.endpoint.lastIndexOf(":"))}:${target.relayPort}`];
    });
  }
}
