import type { Membership } from "@gatehouse/agent-protocol/gateway/configuration";
import { HashTree } from "@gatehouse/agent-protocol/link/hash-tree";
import { entryCost, forEach, type Work, yieldAfter } from "../work.ts";
import { type ClassDefinition, type EligibleDevice, type FoundMembership, readsSource } from "./access-classes.ts";
import { sourcesAtGateways } from "./device-sources.ts";
import { changingTree } from "./tree-work.ts";

/** The members of a class, by the key of the device's peer. */
export interface CachedClass {
  readonly definition: ClassDefinition;
  readonly members: HashTree<Membership>;
  /** The gateways with other members, because they observed other source addresses. */
  readonly atGateways: ReadonlyMap<string, MembersAtGateway>;
  readonly exactUntil: number;
}

interface MembersAtGateway {
  readonly members: HashTree<Membership>;
  /** The number of memberships that differ from those at other gateways. */
  readonly differing: number;
}

export function emptyClass(definition: ClassDefinition, exactUntil: number): CachedClass {
  return { definition, members: HashTree.empty, atGateways: new Map(), exactUntil };
}

export function membersAt(cached: CachedClass | undefined, gatewayId: string): HashTree<Membership> | undefined {
  return cached?.atGateways.get(gatewayId)?.members ?? cached?.members;
}

/** Devices by the key of their peer; undefined for a device that may reach nothing any more. */
export type DevicesByKey = ReadonlyMap<string, EligibleDevice | undefined>;

/** The comparison of two memberships. */
const comparisonCost = 20;

/**
 * Updates a class with the current memberships of some devices.
 *
 * @param membershipOf for a gateway, or for those that observed nothing themselves
 */
export function* updatingClass(
  before: CachedClass,
  devices: DevicesByKey,
  membershipOf: (device: EligibleDevice, gatewayId?: string) => Work<FoundMembership>,
): Work<CachedClass> {
  let { exactUntil } = before;
  /** Finds the memberships of devices, and adds them to a map. */
  function* addingTo(memberships: Map<string, Membership | undefined>, some: DevicesByKey, gatewayId?: string) {
    let unpaid = 0;
    for (const [key, device] of some) {
      if (device === undefined) memberships.set(key, undefined);
      else {
        const found = yield* membershipOf(device, gatewayId);
        exactUntil = Math.min(exactUntil, found.exactUntil);
        memberships.set(key, found.membership);
        unpaid += found.unpaid;
      }
      unpaid += entryCost;
      if (unpaid < yieldAfter) continue;
      yield unpaid;
      unpaid = 0;
    }
    yield unpaid;
  }
  const general = new Map<string, Membership | undefined>();
  yield* addingTo(general, devices);
  const members = yield* changing(before.members, general);
  const observed = yield* observedAtGateways(before.definition, devices);
  const atGateways = new Map<string, MembersAtGateway>();
  for (const gatewayId of new Set([...before.atGateways.keys(), ...observed.keys()])) {
    const cached = before.atGateways.get(gatewayId);
    const wanted = new Map<string, Membership | undefined>();
    if (cached !== undefined) yield* forEach(general, entryCost, ([key, membership]) => wanted.set(key, membership));
    yield* addingTo(wanted, observed.get(gatewayId) ?? new Map(), gatewayId);
    const tree = yield* changing(cached?.members ?? members, wanted);
    let differing = cached?.differing ?? 0;
    yield* forEach(wanted.keys(), 2 * comparisonCost, (key) => {
      if (cached !== undefined && !isSameMembership(cached.members.get(key), before.members.get(key))) differing -= 1;
      if (!isSameMembership(tree.get(key), members.get(key))) differing += 1;
    });
    if (differing > 0) atGateways.set(gatewayId, { members: tree, differing });
  }
  return { definition: before.definition, members, atGateways, exactUntil };
}

/** The devices for which another address counts, by gateway. */
function* observedAtGateways(
  definition: ClassDefinition,
  devices: DevicesByKey,
): Work<ReadonlyMap<string, ReadonlyMap<string, EligibleDevice>>> {
  const observed = new Map<string, Map<string, EligibleDevice>>();
  if (!readsSource(definition)) return observed;
  const costOf = ([, device]: readonly [string, EligibleDevice | undefined]) =>
    entryCost * (1 + (device?.link.sources.gateways.size ?? 0));
  yield* forEach(devices, costOf, ([key, device]) => {
    if (device === undefined) return;
    for (const gatewayId of sourcesAtGateways(device.link.sources).keys()) {
      const own = observed.get(gatewayId);
      if (own === undefined) observed.set(gatewayId, new Map([[key, device]]));
      else own.set(key, device);
    }
  });
  return observed;
}

function* changing(
  tree: HashTree<Membership>,
  wanted: ReadonlyMap<string, Membership | undefined>,
): Work<HashTree<Membership>> {
  const changes = new Map<string, Membership | undefined>();
  yield* forEach(wanted, comparisonCost, ([key, membership]) => {
    if (!isSameMembership(tree.get(key), membership)) changes.set(key, membership);
  });
  return yield* changingTree(tree, changes);
}

function isSameMembership(one: Membership | undefined, other: Membership | undefined): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
