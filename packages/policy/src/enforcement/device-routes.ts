import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import { hasEnded } from "../decisions/decide.ts";
import { decidingForResourceAtGateways } from "../decisions/decide-at-gateways.ts";
import type { AccessRequest } from "../decisions/request.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import type { Table } from "../model/table.ts";
import { finish, type Work, yieldAfter } from "../work.ts";
import { sourceAt, sourcesAtGateways } from "./device-sources.ts";
import { relaysOf } from "./gateway-relays.ts";
import type { DeviceLink, GatewayLink } from "./links.ts";
import { RouteTable } from "./route-table.ts";
import { type PreviousRoutes, StickyGateways } from "./sticky-gateways.ts";

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
 * that the device can reach. If several resources have the address, it is the first gateway that can carry them all
 * (docs/decisions/0280-gateways-of-shared-addresses.md). The other gateways are prepared for the traffic, so failover
 * only replaces the first gateway. Addresses of private resources that the device may reach, but that no gateway in
 * service carries, are unserved: the local network must not get their traffic. Gateways that were never deployed do not
 * count. The work can be suspended between two policies.
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
  const findingGateways = function* (resource: CompiledResource | undefined): Work<readonly string[]> {
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
    const isCarrier = (id: string) => isDeployed(model, id) && mayCarry(id);
    if (found.length === 0 && resource?.type === "PRIVATE" && resource.facts.gateways.some(isCarrier)) {
      unserved.push(resource);
    }
    return found;
  };
  let unpaid = 0;
  for (const resource of inOrderOfCreation(model.resources)) {
    const found = yield* findingGateways(resource);
    if (found.length > 0) unpaid += routes.add(resource, found);
    if (unpaid < yieldAfter) continue;
    yield unpaid;
    unpaid = 0;
  }
  yield unpaid;
  yield* routes.choosing((resource, key, gateways) => sticky?.choice(resource, key, gateways) ?? gateways[0]);
  const [internet] = yield* findingGateways(undefined);
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
