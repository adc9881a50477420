import type { Membership } from "@gatehouse/agent-protocol/gateway/configuration";
import { HashTree } from "@gatehouse/agent-protocol/link/hash-tree";
import { type ClassDefinition, type EligibleDevice, type FoundMembership, readsSource } from "./access-classes.ts";
import { sourcesAtGateways } from "./device-sources.ts";

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

/**
 * The class with the current memberships of some devices.
 *
 * @param membershipOf for a gateway, or for those that observed nothing themselves
 */
export function updatedClass(
  before: CachedClass,
  devices: DevicesByKey,
  membershipOf: (device: EligibleDevice, gatewayId?: string) => FoundMembership,
): CachedClass {
  let { exactUntil } = before;
  const membership = (device: EligibleDevice | undefined, gatewayId?: string) => {
    if (device === undefined) return undefined;
    const found = membershipOf(device, gatewayId);
    exactUntil = Math.min(exactUntil, found.exactUntil);
    return found.membership;
  };
  const general = new Map(Array.from(devices, ([key, device]) => [key, membership(device)]));
  const members = changed(before.members, general);
  /** The devices for which another address counts, by gateway. */
  const observed = new Map<string, Map<string, EligibleDevice>>();
  for (const [key, device] of readsSource(before.definition) ? devices : []) {
    if (device === undefined) continue;
    for (const gatewayId of sourcesAtGateways(device.link.sources).keys()) {
      const own = observed.get(gatewayId);
      if (own === undefined) observed.set(gatewayId, new Map([[key, device]]));
      else own.set(key, device);
    }
  }
  const atGateways = new Map<string, MembersAtGateway>();
  for (const gatewayId of new Set([...before.atGateways.keys(), ...observed.keys()])) {
    const cached = before.atGateways.get(gatewayId);
    const own = Array.from(observed.get(gatewayId) ?? [], ([key, device]): [string, Membership | undefined] => [
      key,
      membership(device, gatewayId),
    ]);
    const wanted = cached === undefined ? new Map(own) : new Map([...general, ...own]);
    const tree = changed(cached?.members ?? members, wanted);
    let differing = cached?.differing ?? 0;
    for (const key of wanted.keys()) {
      if (cached !== undefined && !isSameMembership(cached.members.get(key), before.members.get(key))) differing -= 1;
      if (!isSameMembership(tree.get(key), members.get(key))) differing += 1;
    }
    if (differing > 0) atGateways.set(gatewayId, { members: tree, differing });
  }
  return { definition: before.definition, members, atGateways, exactUntil };
}

function changed(
  tree: HashTree<Membership>,
  wanted: ReadonlyMap<string, Membership | undefined>,
): HashTree<Membership> {
  return tree.with([...wanted].filter(([key, membership]) => !isSameMembership(tree.get(key), membership)));
}

function isSameMembership(one: Membership | undefined, other: Membership | undefined): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
