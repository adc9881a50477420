import type { DevicePeer, Peer } from "@gatehouse/agent-protocol/gateway/configuration";
import { HashTree, shareEntry } from "@gatehouse/agent-protocol/link/hash-tree";
import { keyWeakness } from "@gatehouse/contract/wireguard-keys";
import { hasEnded } from "../decisions/decide.ts";
import type { CompiledDevice } from "../model/compiled-device.ts";
import type { Model } from "../model/model.ts";
import { entryCost, forEach, recordCost, type Work } from "../work.ts";
import type { EligibleDevice } from "./access-classes.ts";
import type { DevicesByKey } from "./cached-classes.ts";
import type { DeviceLink } from "./links.ts";
import { changingTree } from "./tree-work.ts";

/** The device and the user of a large tenant, which are decoded when they are read. */
const readRecordCost = 150;

/** The eligible devices of a tenant as peers, and indexes by user, group and key. */
export class EligibleDevices {
  readonly #links = new Map<string, DeviceLink>();
  readonly #deviceOfKey = new Map<string, string>();
  readonly #devicesOfUser = new Map<string, Set<string>>();
  readonly #ownerOf = new Map<string, string>();
  readonly #eligible = new Map<string, EligibleDevice>();
  /** Computed on first use after a change. */
  #byGroup: Map<string, EligibleDevice[]> | undefined;
  /** Computed on first use after a change. */
  #nextSessionEnd: number | undefined;
  #peers: HashTree<Peer> = HashTree.empty;

  /** The links of all devices, eligible or not. */
  get links(): ReadonlyMap<string, DeviceLink> {
    return this.#links;
  }

  /** Every eligible device as a peer, by key. */
  get peers(): HashTree<Peer> {
    return this.#peers;
  }

  /** The next time at which a device's session ends, in milliseconds since 1970. Infinity if no session ends. */
  get nextSessionEnd(): number {
    this.#nextSessionEnd ??= [...this.#eligible.values()].reduce(
      (next, { principal }) => Math.min(next, principal.endsAt),
      Number.POSITIVE_INFINITY,
    );
    return this.#nextSessionEnd;
  }

  /** The ids of the devices whose session has ended since the last refresh. */
  *endedAt(now: number): Iterable<string> {
    if (now < this.nextSessionEnd) return;
    for (const [id, { principal }] of this.#eligible) if (hasEnded(principal, now)) yield id;
  }

  /** Whether a device has this WireGuard key. */
  hasKey(publicKey: string): boolean {
    return this.#deviceOfKey.has(publicKey);
  }

  setLink(deviceId: string, link: DeviceLink | undefined): void {
    const before = this.#links.get(deviceId);
    // The key may have moved to another device meanwhile.
    if (before !== undefined && this.#deviceOfKey.get(before.publicKey) === deviceId) {
      this.#deviceOfKey.delete(before.publicKey);
    }
    if (link === undefined) this.#links.delete(deviceId);
    else {
      this.#links.set(deviceId, link);
      this.#deviceOfKey.set(link.publicKey, deviceId);
    }
  }

  setOwner(deviceId: string, device: CompiledDevice | undefined): void {
    const before = this.#ownerOf.get(deviceId);
    if (before !== undefined) this.#devicesOfUser.get(before)?.delete(deviceId);
    this.#ownerOf.delete(deviceId);
    const owner = device?.userId ?? null;
    if (owner === null) return;
    this.#ownerOf.set(deviceId, owner);
    const devices = this.#devicesOfUser.get(owner);
    if (devices === undefined) this.#devicesOfUser.set(owner, new Set([deviceId]));
    else devices.add(deviceId);
  }

  /** The ids of a user's devices, eligible or not. */
  idsOfUser(userId: string): Iterable<string> {
    return this.#devicesOfUser.get(userId) ?? [];
  }

  get(deviceId: string): EligibleDevice | undefined {
    return this.#eligible.get(deviceId);
  }

  values(): Iterable<EligibleDevice> {
    return this.#eligible.values();
  }

  *findingOfGroup(id: string): Work<readonly EligibleDevice[]> {
    if (this.#byGroup === undefined) {
      const byGroup = new Map<string, EligibleDevice[]>();
      const costOf = ({ principal }: EligibleDevice) => entryCost * (1 + principal.groupIds.length);
      yield* forEach(this.#eligible.values(), costOf, (device) => {
        for (const group of device.principal.groupIds) {
          const devices = byGroup.get(group);
          if (devices === undefined) byGroup.set(group, [device]);
          else devices.push(device);
        }
      });
      this.#byGroup = byGroup;
    }
    return this.#byGroup.get(id) ?? [];
  }

  /**
   * Recomputes which of these devices are eligible.
   *
   * @returns by key, the current state of the devices; undefined for devices that are no longer eligible
   */
  *refreshing(ids: Iterable<string>, model: Model, now: number): Work<DevicesByKey> {
    const touched = new Map<string, EligibleDevice | undefined>();
    yield* forEach(ids, recordCost + readRecordCost, (id) => {
      const before = this.#eligible.get(id);
      const device = this.#eligibleDevice(id, model, now);
      if (before !== undefined && before.link.ipv4 !== device?.link.ipv4) touched.set(before.link.ipv4, undefined);
      if (device !== undefined) touched.set(device.link.ipv4, device);
      if (device === undefined) this.#eligible.delete(id);
      else this.#eligible.set(id, device);
    });
    this.#byGroup = undefined;
    this.#nextSessionEnd = undefined;
    const peers = new Map<string, Peer | undefined>();
    yield* forEach(touched, recordCost, ([key, device]) => {
      const peer = device === undefined ? undefined : devicePeer(device);
      const shared = reusePeer(this.#peers.get(key), peer);
      // Most gateways have many devices in common.
      if (shared !== undefined) shareEntry(key, shared);
      peers.set(key, shared);
    });
    this.#peers = yield* changingTree(this.#peers, peers);
    return touched;
  }

  #eligibleDevice(id: string, model: Model, now: number): EligibleDevice | undefined {
    const link = this.#links.get(id);
    const principal = model.devices.get(id)?.principalIn(model.users, model.groups);
    if (link === undefined || principal === undefined || !principal.isActive) return undefined;
    if (hasEnded(principal, now)) return undefined;
    // Records that predate the check of keys can have a weak one. Such a device is not a peer.
    return keyWeakness(link.publicKey) === undefined ? { principal, link } : undefined;
  }
}

function devicePeer({ link, principal }: EligibleDevice): DevicePeer {
  const peer = { kind: "device", publicKey: link.publicKey, ipv6: link.ipv6 } as const;
  return principal.endsAt === Number.POSITIVE_INFINITY ? peer : { ...peer, until: principal.endsAt };
}

/** The previous peer if nothing changed, so that callers can compare by identity. */
function reusePeer(before: Peer | undefined, after: Peer | undefined): Peer | undefined {
  const isSame = before?.kind === after?.kind && before?.publicKey === after?.publicKey && before?.ipv6 === after?.ipv6;
  return isSame && untilOf(before) === untilOf(after) ? before : after;
}

function untilOf(peer: Peer | undefined): number | undefined {
  return peer?.kind === "device" ? peer.until : undefined;
}
