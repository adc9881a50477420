/** Access at a time in the past, decided pair by pair from the tenant's model at that time. Pure. */
import type { PastAccess } from "@gatehouse/contract/records/past-access";
import { deciding } from "@gatehouse/policy/decisions/decide";
import type { AccessRequest, Subject } from "@gatehouse/policy/decisions/request";
import { possibleSubjects } from "@gatehouse/policy/decisions/search";
import type { CompiledResource } from "@gatehouse/policy/model/compiled-resource";
import type { GatewayFacts } from "@gatehouse/policy/model/facts";
import { indexingDevices } from "@gatehouse/policy/model/members";
import type { Model } from "@gatehouse/policy/model/model";
import { Table } from "@gatehouse/policy/model/table";
import { sorting } from "@gatehouse/policy/sorting";
import type { Work } from "@gatehouse/policy/work";

export interface PastQuestion {
  readonly userId?: string;
  readonly deviceId?: string;
  readonly resourceId?: string;
  readonly circumstances: Pick<AccessRequest, "sourceIp" | "country" | "now">;
}

/** A principal: a user without a device, or with one of the user's devices. */
interface Asking {
  readonly userId: string;
  readonly deviceId?: string;
}

/**
 * Yields each access that existed, in the order of users, devices and resources, and the units of cost that it spent
 * since it last yielded.
 */
export function* pastAccess(past: Model, question: PastQuestion): Generator<PastAccess | number, void> {
  const model = withoutReports(past);
  const resources = question.resourceId === undefined ? yield* sorting(model.resources.ids()) : [question.resourceId];
  for (const key of yield* sorting(yield* askingOf(model, question))) {
    const asking = askingWith(key);
    const { userId, deviceId } = asking;
    const subject: Subject = deviceId === undefined ? { kind: "user", userId } : { kind: "device", deviceId };
    for (const resourceId of resources) {
      const access = yield* accessTo(model, asking, resourceId, { ...question.circumstances, subject });
      if (access !== undefined) yield access;
    }
  }
}

/**
 * The model with all gateways reachable. The history does not hold reachability, which gateways report; it does hold
 * maintenance, which administrators set.
 */
function withoutReports(model: Model): Model {
  const gateways = Array.from(model.gateways.values(), (gateway): [string, GatewayFacts] => {
    const status = gateway.status === "MAINTENANCE" ? gateway.status : "ONLINE";
    return [gateway.id, { ...gateway, status, load: null, roundTripTimeMs: null }];
  });
  return { ...model, gateways: Table.of(gateways) };
}

/** The keys of all principals that may have access. The answer is in the order of keys. */
function* askingOf(model: Model, { userId, deviceId, resourceId }: PastQuestion): Work<Iterable<string>> {
  if (deviceId !== undefined) {
    const owner = model.devices.get(deviceId)?.userId ?? undefined;
    return owner === undefined || (userId !== undefined && userId !== owner) ? [] : [keyOf(owner, deviceId)];
  }
  if (userId !== undefined) {
    const devices = yield* indexingDevices(model.devices);
    return [keyOf(userId), ...Array.from(devices.idsOf(userId), (id) => keyOf(userId, id))];
  }
  if (resourceId === undefined) return [];
  const destination = { kind: "resource", resourceId } as const;
  const users = yield* possibleSubjects(model, "user", destination);
  return keysOf(users, yield* possibleSubjects(model, "device", destination), model);
}

function* keysOf(users: Iterable<string>, devices: Iterable<string>, model: Model): Iterable<string> {
  for (const id of users) yield keyOf(id);
  for (const id of devices) {
    const owner = model.devices.get(id)?.userId ?? undefined;
    if (owner !== undefined) yield keyOf(owner, id);
  }
}

function keyOf(userId: string, deviceId = ""): string {
  return `${userId} ${deviceId}`;
}

function askingWith(key: string): Asking {
  const [userId = "", deviceId = ""] = key.split(" ");
  return deviceId === "" ? { userId } : { userId, deviceId };
}

function* accessTo(
  model: Model,
  { userId, deviceId }: Asking,
  resourceId: string,
  request: Omit<AccessRequest, "destination">,
): Work<PastAccess | undefined> {
  const decision = yield* deciding(model, { ...request, destination: { kind: "resource", resourceId } });
  const { allowed, policy, gateways, mode } = decision;
  const resource = model.resources.get(resourceId);
  if (!allowed || policy === undefined || resource === undefined) return undefined;
  const device = deviceId === undefined ? undefined : model.devices.get(deviceId)?.facts.name;
  return {
    user: { id: userId, name: model.users.get(userId)?.facts.email ?? "" },
    ...(deviceId === undefined || device === undefined ? {} : { device: { id: deviceId, name: device } }),
    resource: resource.named,
    policy,
    ...(mode === undefined ? {} : { mode }),
    gateways: gateways.flatMap((id) => {
      const gateway = model.gateways.get(id);
      return gateway === undefined ? [] : [{ id, name: gateway.name }];
    }),
    balanced: isBalanced(resource, gateways),
  };
}

/** Whether load balancing ordered the gateways. The gateways of an INTERNET policy have a fixed order. */
function isBalanced({ facts }: CompiledResource, gateways: readonly string[]): boolean {
  return facts.loadBalancingMode === "AUTOMATIC" && facts.gateways.length > 0 && gateways.length > 1;
}
