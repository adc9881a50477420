import type {
  DevicePeer,
  Membership,
  Peer,
  ResourceRules,
  Settings,
  SiteRule,
} from "@gatehouse/agent-protocol/gateway/configuration";
import type { ContentTree } from "@gatehouse/agent-protocol/gateway/content-tree";
import { HashTree } from "@gatehouse/agent-protocol/link/hash-tree";
import { isLowOrderKey } from "@gatehouse/contract/wireguard-keys";
import { hasEnded } from "../decisions/decide.ts";
import type { CompiledDevice } from "../model/compiled-device.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { FactChange } from "../model/facts.ts";
import type { Model } from "../model/model.ts";
import {
  type ClassDefinition,
  classesOf,
  classKeysOf,
  type EligibleDevice,
  isSameDefinition,
  membershipIn,
} from "./access-classes.ts";
import { devicePlan, type PlanStep, sitePlan } from "./access-plan.ts";
import { type CachedClass, emptyClass, membersAt, updatedClass } from "./cached-classes.ts";
import { type CachedPlan, type ClassKeys, classKeysAt, rulesOf } from "./cached-plans.ts";
import { destinationsOf } from "./destinations.ts";
import { type ActionScope, hasNetworks, settingsOf, siteRules, type TimedStep } from "./gateway-rules.ts";
import type { DeviceLink, GatewayLink, LinkChange, LinkFacts } from "./links.ts";
import { reuseContent, reuseTree } from "./reuse-trees.ts";
import { sharedRuleBudget, type ValidityPeriod, windowsOf } from "./rule-windows.ts";
import { sitePeersOf } from "./site-peers.ts";
import { withUsableKeys } from "./usable-keys.ts";

/** The key of the internet outside any resource. */
const internetKey = "";

interface CachedGateway {
  readonly content: ContentTree;
  readonly madeFrom: readonly unknown[];
  readonly destinationsMadeFrom: string;
}

/** A change of facts or of links. */
export type EnforcementChange = FactChange | LinkChange;

/**
 * The content that every gateway of a tenant enforces. It is a function of the model, the links and the validity
 * period. Intermediate results are cached with their inputs, so that an update only recomputes what a change affects.
 */
export class TenantEnforcement {
  /** The period for which the contents are computed. Configurations expire at its end. */
  readonly validity: ValidityPeriod;
  #model: Model;
  readonly #pools: readonly string[];
  readonly #deviceLinks = new Map<string, LinkFacts["devices"][number]>();
  readonly #gatewayLinks = new Map<string, GatewayLink>();
  readonly #deviceOfKey = new Map<string, string>();
  readonly #devicesOfUser = new Map<string, Set<string>>();
  readonly #ownerOf = new Map<string, string>();
  readonly #eligible = new Map<string, EligibleDevice>();
  #everyPeer: HashTree<Peer> = HashTree.empty;
  /** Undefined until it is needed. */
  #nextSessionEnd: number | undefined;
  #plans = new Map<string, CachedPlan>();
  #classes = new Map<string, CachedClass>();
  #gateways = new Map<string, CachedGateway>();

  constructor(model: Model, links: LinkFacts, validity: ValidityPeriod) {
    this.validity = validity;
    this.#model = model;
    this.#pools = links.pools;
    for (const link of links.devices) this.#setDeviceLink(link.deviceId, link);
    for (const link of links.gateways) this.#gatewayLinks.set(link.gatewayId, link);
    for (const device of model.devices.values()) this.#setOwner(device.facts.id, device);
    this.#refresh(this.#deviceLinks.keys(), validity);
  }

  /**
   * The next time at which a device's session ends, in milliseconds since 1970. `update` then removes the device.
   * Infinity if no session ends. Gateways apply the end by their own clocks, also without an update.
   */
  get nextSessionEnd(): number {
    this.#nextSessionEnd ??= [...this.#eligible.values()].reduce(
      (next, { principal }) => Math.min(next, principal.endsAt),
      Number.POSITIVE_INFINITY,
    );
    return this.#nextSessionEnd;
  }

  /**
   * Applies changes. Contents that were returned before stay unchanged.
   *
   * @param model the model after the changes
   * @param now milliseconds since 1970; recomputed windows start here
   * @returns the ids of the gateways whose content changed
   */
  update(model: Model, changes: readonly EnforcementChange[], now: number): readonly string[] {
    const before = new Map(this.contents());
    this.#model = model;
    const from = Math.max(now, this.validity.from);
    const touched = new Set([...this.#touchedBy(changes), ...this.#endedAt(from)]);
    this.#refresh(touched, { from, until: this.validity.until });
    return [...this.#gateways].flatMap(([id, { content }]) => (before.get(id) === content ? [] : [id]));
  }

  contentOf(gatewayId: string): ContentTree | undefined {
    return this.#gateways.get(gatewayId)?.content;
  }

  *contents(): Iterable<readonly [gatewayId: string, content: ContentTree]> {
    for (const [id, { content }] of this.#gateways) yield [id, content];
  }

  /**
   * The time up to which all windows are exact. Rules that change too often limit it to less than the validity period.
   */
  get exactUntil(): number {
    let until = this.validity.until;
    for (const { exactUntil } of this.#plans.values()) until = Math.min(until, exactUntil);
    for (const { exactUntil } of this.#classes.values()) until = Math.min(until, exactUntil);
    return until;
  }

  get links(): {
    readonly devices: ReadonlyMap<string, LinkFacts["devices"][number]>;
    readonly gateways: ReadonlyMap<string, GatewayLink>;
  } {
    return { devices: this.#deviceLinks, gateways: this.#gatewayLinks };
  }

  *#endedAt(now: number): Iterable<string> {
    if (now < this.nextSessionEnd) return;
    for (const [id, { principal }] of this.#eligible) if (hasEnded(principal, now)) yield id;
  }

  /** The devices whose memberships may differ after the changes, apart from changed policies. */
  #touchedBy(changes: readonly EnforcementChange[]): ReadonlySet<string> {
    const devices = new Set<string>();
    for (const change of changes) {
      const id = "gone" in change ? change.gone : undefined;
      switch (change.kind) {
        case "device-link":
          if ("link" in change) this.#setDeviceLink(change.link.deviceId, change.link);
          else this.#setDeviceLink(change.gone, undefined);
          devices.add(id ?? ("link" in change ? change.link.deviceId : ""));
          break;
        case "gateway-link":
          if ("link" in change) this.#gatewayLinks.set(change.link.gatewayId, change.link);
          else this.#gatewayLinks.delete(change.gone);
          break;
        case "device": {
          const deviceId = id ?? ("facts" in change ? change.facts.id : "");
          this.#setOwner(deviceId, this.#model.devices.get(deviceId));
          devices.add(deviceId);
          break;
        }
        case "user": {
          const userId = id ?? ("facts" in change ? change.facts.id : "");
          for (const device of this.#devicesOfUser.get(userId) ?? []) devices.add(device);
          break;
        }
        case "group": {
          const groupId = id ?? ("facts" in change ? change.facts.id : "");
          // Rules read the names of a user's groups.
          for (const user of this.#model.users.values()) {
            if (!user.facts.groups.includes(groupId)) continue;
            for (const device of this.#devicesOfUser.get(user.facts.id) ?? []) devices.add(device);
          }
          break;
        }
        default:
          break;
      }
    }
    return devices;
  }

  #setDeviceLink(deviceId: string, link: DeviceLink | undefined): void {
    const before = this.#deviceLinks.get(deviceId);
    // The key may have moved to another device meanwhile.
    if (before !== undefined && this.#deviceOfKey.get(before.publicKey) === deviceId) {
      this.#deviceOfKey.delete(before.publicKey);
    }
    if (link === undefined) this.#deviceLinks.delete(deviceId);
    else {
      this.#deviceLinks.set(deviceId, link);
      this.#deviceOfKey.set(link.publicKey, deviceId);
    }
  }

  #setOwner(deviceId: string, device: CompiledDevice | undefined): void {
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

  #refresh(devices: Iterable<string>, validity: ValidityPeriod): void {
    const touched = this.#refreshDevices(devices, validity.from);
    this.#refreshPlans(validity);
    this.#refreshClasses(touched, validity);
    this.#refreshGateways(touched);
  }

  /** @returns by key, the current state of these devices; undefined for devices that are no longer eligible */
  #refreshDevices(ids: Iterable<string>, now: number): ReadonlyMap<string, EligibleDevice | undefined> {
    const touched = new Map<string, EligibleDevice | undefined>();
    this.#byGroup = undefined;
    this.#nextSessionEnd = undefined;
    for (const id of ids) {
      const before = this.#eligible.get(id);
      const device = this.#eligibleDevice(id, now);
      if (before !== undefined && before.link.ipv4 !== device?.link.ipv4) touched.set(before.link.ipv4, undefined);
      if (device !== undefined) touched.set(device.link.ipv4, device);
      if (device === undefined) this.#eligible.delete(id);
      else this.#eligible.set(id, device);
    }
    this.#everyPeer = this.#everyPeer.with(
      Array.from(touched, ([key, device]): [string, Peer | undefined] => {
        const peer = device === undefined ? undefined : devicePeer(device);
        return [key, reusePeer(this.#everyPeer.get(key), peer)];
      }),
    );
    return touched;
  }

  #eligibleDevice(id: string, now: number): EligibleDevice | undefined {
    const link = this.#deviceLinks.get(id);
    const principal = this.#model.devices.get(id)?.principalIn(this.#model.users, this.#model.groups);
    if (link === undefined || principal === undefined || !principal.isActive) return undefined;
    if (hasEnded(principal, now)) return undefined;
    return isLowOrderKey(link.publicKey) ? undefined : { principal, link };
  }

  #refreshPlans(validity: ValidityPeriod): void {
    const plans = new Map<string, CachedPlan>();
    for (const resource of this.#model.resources.values()) {
      plans.set(resource.facts.id, this.#plan(resource, validity));
    }
    plans.set(internetKey, this.#plan(undefined, validity));
    this.#plans = plans;
  }

  #plan(resource: CompiledResource | undefined, validity: ValidityPeriod): CachedPlan {
    const { policies, rules } = this.#model;
    const lists = resource === undefined ? [policies.INTERNET] : [policies[resource.type], policies.SITETOSITE];
    const madeFrom = [
      resource,
      rules.generation,
      ...lists.flatMap((list) => [
        (resource === undefined ? list.anywhere : list.everywhere).generation,
        resource?.policiesIn(list)?.generation,
        list.fallback,
      ]),
    ];
    const cached = this.#plans.get(resource?.facts.id ?? internetKey);
    if (cached !== undefined && isSameList(cached.madeFrom, madeFrom)) return cached;
    let exactUntil = validity.until;
    const whenOf = ({ sharedRule, isUnpredictable }: PlanStep, action: "allow" | "deny") => {
      if (isUnpredictable) return action === "deny" || [];
      if (sharedRule === undefined) return true;
      const contextAt = (now: number) => ({ source: {}, resource: resource?.forRules, now: new Date(now) });
      const windows = windowsOf(sharedRule, contextAt, validity, sharedRuleBudget, action === "deny");
      exactUntil = Math.min(exactUntil, windows.exactUntil);
      return windows.when;
    };
    const scopeOf = (step: PlanStep, action: "allow" | "deny"): ActionScope => ({
      keys: classKeysOf(step, action),
      when: whenOf(step, action),
    });
    const timed = (step: PlanStep): TimedStep => ({ step, allow: scopeOf(step, "allow"), deny: scopeOf(step, "deny") });
    const deviceSteps = devicePlan(this.#model, resource).map(timed);
    const siteSteps = resource === undefined ? [] : sitePlan(this.#model, resource).map(timed);
    const gateways = new Set([...deviceSteps, ...siteSteps].flatMap(({ step }) => step.gateways));
    // A resource without gateways needs no classes.
    const steps = gateways.size === 0 ? [] : deviceSteps.map(({ step }) => step);
    const definitions = steps.flatMap((step) => [...classesOf(step, "allow"), ...classesOf(step, "deny")]);
    return { madeFrom, resource, deviceSteps, siteSteps, gateways, definitions, rulesAt: new Map(), exactUntil };
  }

  #refreshClasses(touched: ReadonlyMap<string, EligibleDevice | undefined>, validity: ValidityPeriod): void {
    const classes = new Map<string, CachedClass>();
    for (const { definitions } of this.#plans.values()) {
      for (const definition of definitions) {
        if (!classes.has(definition.key)) classes.set(definition.key, this.#class(definition, touched, validity));
      }
    }
    this.#classes = classes;
  }

  #class(
    definition: ClassDefinition,
    touched: ReadonlyMap<string, EligibleDevice | undefined>,
    validity: ValidityPeriod,
  ): CachedClass {
    const cached = this.#classes.get(definition.key);
    const membershipOf = (device: EligibleDevice, gatewayId?: string) =>
      membershipIn(definition, this.#model, device, validity, gatewayId);
    if (cached !== undefined && isSameDefinition(cached.definition, definition)) {
      return touched.size === 0
        ? { ...cached, definition }
        : updatedClass({ ...cached, definition }, touched, membershipOf);
    }
    const empty = emptyClass(definition, validity.until);
    const members = cached?.members ?? empty.members;
    return updatedClass({ ...empty, members }, this.#candidates(definition, members), membershipOf);
  }

  /** The devices that may be members of a class, and its former members, by key. */
  #candidates(
    { policy, group }: ClassDefinition,
    members: HashTree<Membership>,
  ): ReadonlyMap<string, EligibleDevice | undefined> {
    const candidates = new Map<string, EligibleDevice | undefined>();
    for (const [key] of members.entries()) candidates.set(key, undefined);
    const add = (device: EligibleDevice | undefined) => {
      if (device !== undefined) candidates.set(device.link.ipv4, device);
    };
    const isForMany =
      policy?.forAnyone === true || policy?.facts.allGroups === true || policy?.facts.allDevices === true;
    if (group === "" || isForMany) {
      for (const device of this.#eligible.values()) add(device);
      return candidates;
    }
    const groups = group === undefined ? (policy?.groups ?? []) : [group];
    for (const id of groups) for (const device of this.#devicesOfGroup(id)) add(device);
    for (const user of policy?.users ?? []) {
      for (const device of this.#devicesOfUser.get(user) ?? []) add(this.#eligible.get(device));
    }
    for (const device of policy?.devices ?? []) add(this.#eligible.get(device));
    return candidates;
  }

  /** Computed on first use after a change. */
  #byGroup: Map<string, EligibleDevice[]> | undefined;

  #devicesOfGroup(id: string): readonly EligibleDevice[] {
    if (this.#byGroup === undefined) {
      this.#byGroup = new Map();
      for (const device of this.#eligible.values()) {
        for (const group of device.principal.groupIds) {
          const devices = this.#byGroup.get(group);
          if (devices === undefined) this.#byGroup.set(group, [device]);
          else devices.push(device);
        }
      }
    }
    return this.#byGroup.get(id) ?? [];
  }

  // Gateways ----------------------------------------------------------------------------------------------------------

  #refreshGateways(touched: ReadonlyMap<string, EligibleDevice | undefined>): void {
    const carried = new Map<string, CachedPlan[]>();
    for (const plan of this.#plans.values()) {
      for (const id of plan.gateways) {
        const plans = carried.get(id);
        if (plans === undefined) carried.set(id, [plan]);
        else plans.push(plan);
      }
    }
    this.#refreshKnownLinks();
    const { resources, rules, policies } = this.#model;
    // Traffic between sites depends on the rules of both gateways.
    const sites = policies.SITETOSITE.policies.length === 0 ? [] : [policies.SITETOSITE.generation, rules.generation];
    const everywhere = [resources.generation, this.#linksGeneration, ...sites];
    this.#siteRules.clear();
    const gateways = new Map<string, CachedGateway>();
    const unions = new Map<string, HashTree<Peer>>();
    for (const [id, link] of this.#knownLinks) {
      const plans = carried.get(id) ?? [];
      const cached = this.#gateways.get(id);
      const keys = classKeysAt(plans, id);
      const classes = keys.named.map((key) => membersAt(this.#classes.get(key), id));
      const everyone = keys.allowsEveryone ? this.#everyPeer : undefined;
      const isPeerChanged =
        cached !== undefined && [...touched.keys()].some((key) => cached.content.peers.get(key) !== undefined);
      const madeFrom = [...everywhere, link, everyone, ...plans, ...classes];
      if (cached !== undefined && !isPeerChanged && isSameList(cached.madeFrom, madeFrom)) {
        gateways.set(id, cached);
        continue;
      }
      gateways.set(id, { madeFrom, ...this.#content({ id, link, plans, keys }, cached, unions) });
    }
    this.#gateways = gateways;
  }

  /** The links of existing gateways, and a number that changes with any of them. */
  #knownLinks: ReadonlyMap<string, GatewayLink> = new Map();
  #linksGeneration = 0;

  #refreshKnownLinks(): void {
    const existing = new Map(this.#gatewayLinks);
    for (const id of this.#gatewayLinks.keys()) if (this.#model.gateways.get(id) === undefined) existing.delete(id);
    const known = withUsableKeys(existing, (publicKey) => this.#deviceOfKey.has(publicKey));
    const ordered = (links: ReadonlyMap<string, GatewayLink>) => [...links.values()].sort(byGateway);
    if (isSameList(ordered(known), ordered(this.#knownLinks))) return;
    this.#knownLinks = known;
    this.#linksGeneration += 1;
  }

  #content(
    { id, link, plans, keys }: GatewayParts,
    cached: CachedGateway | undefined,
    unions: Map<string, HashTree<Peer>>,
  ): Pick<CachedGateway, "content" | "destinationsMadeFrom"> {
    const before = cached?.content;
    const resources = new Map<string, ResourceRules>();
    let internet: Settings["internet"];
    for (const plan of plans) {
      const { resource, siteSteps } = plan;
      const devices = [...rulesOf(plan, id)];
      if (resource === undefined) internet = devices.length === 0 ? undefined : { devices };
      else {
        const sites = siteRules(siteSteps, id);
        if (devices.length + sites.length > 0) resources.set(resource.facts.id, { devices, sites });
      }
    }
    const isCarried = (resource: CompiledResource) => resources.has(resource.facts.id);
    const ids = [...resources.keys()].sort();
    const scope = { internet: internet !== undefined, hasNetworks: hasNetworks(link) };
    const destinationsMadeFrom = `${this.#model.resources.generation} ${scope.internet} ${scope.hasNetworks} ${ids.join(" ")}`;
    const destinations =
      before !== undefined && cached?.destinationsMadeFrom === destinationsMadeFrom
        ? before.destinations
        : reuseTree(before?.destinations, destinationsOf(this.#model, isCarried, scope));
    const sites = sitePeersOf(this.#model, this.#knownLinks, id, (gatewayId) => this.#siteRulesAt(gatewayId));
    const devicePeers = this.#devicePeers(id, keys, before?.peers, unions);
    const classes = keys.named.flatMap((key): [string, HashTree<Membership>][] => {
      const members = membersAt(this.#classes.get(key), id);
      return members === undefined || members.size === 0 ? [] : [[key, members]];
    });
    const content = {
      settings: settingsOf(link, this.#pools, internet, [...this.#knownLinks.values()]),
      peers: sites.length === 0 ? devicePeers : reuseTree(before?.peers, [...devicePeers.entries(), ...sites]),
      classes: reuseTree(before?.classes, classes),
      resources: reuseTree(before?.resources, resources),
      destinations,
    };
    return { content: reuseContent(before, content), destinationsMadeFrom };
  }

  readonly #siteRules = new Map<string, readonly SiteRule[]>();

  #siteRulesAt(gatewayId: string): readonly SiteRule[] {
    let rules = this.#siteRules.get(gatewayId);
    if (rules === undefined) {
      rules = [...this.#plans.values()].flatMap(({ siteSteps, gateways }) =>
        gateways.has(gatewayId) ? siteRules(siteSteps, gatewayId) : [],
      );
      this.#siteRules.set(gatewayId, rules);
    }
    return rules;
  }

  /** The devices in classes that some rule allows. Gateways with the same classes share the result. */
  #devicePeers(
    gatewayId: string,
    keys: ClassKeys,
    before: HashTree<Peer> | undefined,
    unions: Map<string, HashTree<Peer>>,
  ): HashTree<Peer> {
    if (keys.allowsEveryone) return this.#everyPeer;
    const isOwn = keys.allowed.some((key) => this.#classes.get(key)?.atGateways.has(gatewayId) === true);
    const name = [...keys.allowed, ...(isOwn ? [gatewayId] : [])].join(" ");
    const known = unions.get(name);
    if (known !== undefined) return known;
    const wanted = new Map<string, Peer>();
    for (const key of keys.allowed) {
      for (const [peerKey] of membersAt(this.#classes.get(key), gatewayId)?.entries() ?? []) {
        const peer = wanted.has(peerKey) ? undefined : this.#everyPeer.get(peerKey);
        if (peer !== undefined) wanted.set(peerKey, peer);
      }
    }
    const peers = reuseTree(before, wanted);
    unions.set(name, peers);
    return peers;
  }
}

function byGateway(one: GatewayLink, other: GatewayLink): number {
  return one.gatewayId < other.gatewayId ? -1 : 1;
}

interface GatewayParts {
  readonly id: string;
  readonly link: GatewayLink;
  /** The plans of the traffic that the gateway may carry. */
  readonly plans: readonly CachedPlan[];
  readonly keys: ClassKeys;
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

function isSameList(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((value, index) => value === other[index]);
}
