import type {
  Membership,
  Peer,
  ResourceRules,
  Settings,
  SiteRule,
} from "@gatehouse/agent-protocol/gateway/configuration";
import type { ContentTree } from "@gatehouse/agent-protocol/gateway/content-tree";
import type { HashTree } from "@gatehouse/agent-protocol/link/hash-tree";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import { entryCost, forEach, type Work, yieldAfter } from "../work.ts";
import { type CachedClass, type DevicesByKey, membersAt } from "./cached-classes.ts";
import { type CachedPlan, type ClassKeys, costOfPlan, findingClassKeys, rulesOf } from "./cached-plans.ts";
import { findingDestinations } from "./destinations.ts";
import type { EligibleDevices } from "./eligible-devices.ts";
import { hasNetworks, settingsOf, siteRules } from "./gateway-rules.ts";
import type { GatewayLink } from "./links.ts";
import { isSameList, reuseContent, reusingTree } from "./reuse-trees.ts";
import { findingNetworks, findingSitePeers, type Sites } from "./site-peers.ts";
import { withUsableKeys } from "./usable-keys.ts";

/** The state of a tenant from which the contents are computed. */
interface ContentInputs {
  readonly model: Model;
  readonly plans: readonly CachedPlan[];
  /** Classes by the key of their definition. */
  readonly classes: ReadonlyMap<string, CachedClass>;
  readonly devices: EligibleDevices;
}

interface CachedGateway {
  readonly content: ContentTree;
  readonly madeFrom: readonly unknown[];
  readonly plans: readonly CachedPlan[];
  /** The classes that the rules of these plans name. */
  readonly keys: ClassKeys;
  readonly destinationsMadeFrom: string;
}

interface GatewayParts {
  readonly id: string;
  readonly link: GatewayLink;
  /** The plans of the traffic that the gateway may carry. */
  readonly plans: readonly CachedPlan[];
  readonly keys: ClassKeys;
}

/** The results that gateways share during a refresh. */
interface SharedParts {
  /** Trees of devices by the names of their classes. */
  readonly unions: Map<string, HashTree<Peer>>;
  /** Undefined if no policy allows traffic between sites. */
  readonly sites: Sites | undefined;
}

/** Work on a content before it replaces the former one. */
export type PrepareContent = (gatewayId: string, content: ContentTree) => Work<void>;

/** A gateway whose inputs are compared. */
const gatewayCost = 100;
/** An entry of a tree that is looked up. */
const lookUpCost = 15;

/** The content of each gateway of a tenant. A gateway whose inputs did not change retains its content. */
export class GatewayContents {
  readonly #pools: readonly string[];
  readonly #links = new Map<string, GatewayLink>();
  /** The links of existing gateways, and a number that changes with any of them. */
  #knownLinks: ReadonlyMap<string, GatewayLink> = new Map();
  #linksGeneration = 0;
  /** Gateways for which other gateways relay traffic. The list is replaced only if it changes. */
  #relayed: readonly GatewayLink[] = [];
  #gateways = new Map<string, CachedGateway>();

  /** @param pools the tenant's address blocks in the tunnel */
  constructor(pools: readonly string[]) {
    this.#pools = pools;
  }

  get links(): ReadonlyMap<string, GatewayLink> {
    return this.#links;
  }

  setLink(gatewayId: string, link: GatewayLink | undefined): void {
    if (link === undefined) this.#links.delete(gatewayId);
    else this.#links.set(gatewayId, link);
  }

  get(gatewayId: string): ContentTree | undefined {
    return this.#gateways.get(gatewayId)?.content;
  }

  *entries(): Iterable<readonly [gatewayId: string, content: ContentTree]> {
    for (const [id, { content }] of this.#gateways) yield [id, content];
  }

  /**
   * Recomputes the contents whose inputs changed. They replace the former ones at the end.
   *
   * @param touched by key, the devices that changed since the last call
   * @param prepare work on each new content before it replaces the former one
   */
  *refreshing(inputs: ContentInputs, touched: DevicesByKey, prepare: PrepareContent): Work<void> {
    const { model, plans: allPlans, classes: allClasses, devices } = inputs;
    const carried = new Map<string, CachedPlan[]>();
    const costOfGateways = ({ gateways }: CachedPlan) => entryCost * (1 + gateways.size);
    yield* forEach(allPlans, costOfGateways, (plan) => {
      for (const id of plan.gateways) {
        const plans = carried.get(id);
        if (plans === undefined) carried.set(id, [plan]);
        else plans.push(plan);
      }
    });
    this.#refreshKnownLinks(model, devices);
    const { resources, rules, policies } = model;
    // Traffic between sites depends on the links and the rules of both gateways.
    const hasSites = policies.SITETOSITE.policies.length > 0;
    const sites = hasSites ? [policies.SITETOSITE.generation, rules.generation, this.#linksGeneration] : [];
    const everywhere = [resources.generation, ...sites];
    const shared: SharedParts = {
      unions: new Map(),
      sites: hasSites ? yield* this.#findingSites(inputs) : undefined,
    };
    const gateways = new Map<string, CachedGateway>();
    for (const [id, link] of this.#knownLinks) {
      const plans = carried.get(id) ?? [];
      yield gatewayCost + plans.length;
      const cached = this.#gateways.get(id);
      const keys =
        cached !== undefined && isSameList(cached.plans, plans) ? cached.keys : yield* findingClassKeys(plans, id);
      const classes = keys.named.map((key) => membersAt(allClasses.get(key), id));
      const everyone = keys.allowsEveryone ? devices.peers : undefined;
      const isPeerChanged = cached !== undefined && (yield* hasAnyOf(cached.content.peers, touched));
      const relayed = link.relayEnabled ? this.#relayed : undefined;
      const madeFrom = [...everywhere, link, relayed, everyone, ...plans, ...classes];
      if (cached !== undefined && !isPeerChanged && isSameList(cached.madeFrom, madeFrom)) {
        gateways.set(id, cached);
        continue;
      }
      const computed = yield* this.#computing(inputs, { id, link, plans, keys }, cached, shared);
      yield* prepare(id, computed.content);
      gateways.set(id, { madeFrom, plans, keys, ...computed });
    }
    this.#gateways = gateways;
  }

  #refreshKnownLinks(model: Model, devices: EligibleDevices): void {
    const existing = new Map(this.#links);
    for (const id of this.#links.keys()) if (model.gateways.get(id) === undefined) existing.delete(id);
    const known = withUsableKeys(existing, (publicKey) => devices.hasKey(publicKey));
    const ordered = (links: ReadonlyMap<string, GatewayLink>) => [...links.values()].sort(byGateway);
    if (isSameList(ordered(known), ordered(this.#knownLinks))) return;
    this.#knownLinks = known;
    this.#linksGeneration += 1;
    const relayed = ordered(known).filter(({ relayPort }) => relayPort !== null);
    if (!isSameList(relayed, this.#relayed)) this.#relayed = relayed;
  }

  *#computing(
    inputs: ContentInputs,
    { id, link, plans, keys }: GatewayParts,
    cached: CachedGateway | undefined,
    shared: SharedParts,
  ): Work<Pick<CachedGateway, "content" | "destinationsMadeFrom">> {
    const { model } = inputs;
    const before = cached?.content;
    const resources = new Map<string, ResourceRules>();
    let internet: Settings["internet"];
    yield* forEach(plans, costOfPlan, (plan) => {
      const { resource, siteSteps } = plan;
      const devices = [...rulesOf(plan, id)];
      if (resource === undefined) internet = devices.length === 0 ? undefined : { devices };
      else {
        const sites = siteRules(siteSteps, id);
        if (devices.length + sites.length > 0) resources.set(resource.id, { devices, sites });
      }
    });
    const isCarried = (resource: CompiledResource) => resources.has(resource.id);
    const ids = [...resources.keys()].sort();
    const scope = { internet: internet !== undefined, hasNetworks: hasNetworks(link) };
    const destinationsMadeFrom = `${model.resources.generation} ${scope.internet} ${scope.hasNetworks} ${ids.join(" ")}`;
    const destinations =
      before !== undefined && cached?.destinationsMadeFrom === destinationsMadeFrom
        ? before.destinations
        : yield* reusingTree(
            before?.destinations,
            yield* findingDestinations(model, isCarried, scope),
            ({ services }) => 1 + services.length,
          );
    const sites = shared.sites === undefined ? [] : yield* findingSitePeers(shared.sites, id);
    const devicePeers = yield* this.#findingDevicePeers(inputs, id, keys, before?.peers, shared);
    const classes = new Map<string, HashTree<Membership>>();
    for (const key of keys.named) {
      const members = membersAt(inputs.classes.get(key), id);
      if (members !== undefined && members.size > 0) classes.set(key, members);
    }
    const content = {
      settings: settingsOf(link, this.#pools, internet, this.#relayed),
      peers: sites.length === 0 ? devicePeers : yield* reusingPeers(before?.peers, devicePeers, sites),
      classes: yield* reusingTree(before?.classes, classes),
      resources: yield* reusingTree(before?.resources, resources),
      destinations,
    };
    return { content: reuseContent(before, content), destinationsMadeFrom };
  }

  *#findingSites({ model, plans }: ContentInputs): Work<Sites> {
    const rules = new Map<string, SiteRule[]>();
    const costOf = ({ siteSteps, gateways }: CachedPlan) => entryCost * (1 + gateways.size * (1 + siteSteps.length));
    yield* forEach(plans, costOf, ({ siteSteps, gateways }) => {
      for (const id of siteSteps.length === 0 ? [] : gateways) {
        const own = rules.get(id);
        if (own === undefined) rules.set(id, siteRules(siteSteps, id));
        else own.push(...siteRules(siteSteps, id));
      }
    });
    return {
      links: [...this.#knownLinks.values()].sort(byGateway),
      networks: yield* findingNetworks(model, this.#knownLinks),
      rulesAt: (gatewayId) => rules.get(gatewayId) ?? [],
    };
  }

  /** The devices in classes that some rule allows. Gateways with the same classes share the result. */
  *#findingDevicePeers(
    { devices, classes }: ContentInputs,
    gatewayId: string,
    keys: ClassKeys,
    before: HashTree<Peer> | undefined,
    { unions }: SharedParts,
  ): Work<HashTree<Peer>> {
    if (keys.allowsEveryone) return devices.peers;
    const isOwn = keys.allowed.some((key) => classes.get(key)?.atGateways.has(gatewayId) === true);
    const name = [...keys.allowed, ...(isOwn ? [gatewayId] : [])].join(" ");
    const known = unions.get(name);
    if (known !== undefined) return known;
    const wanted = new Map<string, Peer>();
    for (const key of keys.allowed) {
      yield* forEach(membersAt(classes.get(key), gatewayId)?.entries() ?? [], lookUpCost, ([peerKey]) => {
        const peer = wanted.has(peerKey) ? undefined : devices.peers.get(peerKey);
        if (peer !== undefined) wanted.set(peerKey, peer);
      });
    }
    const peers = yield* reusingTree(before, wanted);
    unions.set(name, peers);
    return peers;
  }
}

/** The devices and the sites as one tree of peers. */
function* reusingPeers(
  before: HashTree<Peer> | undefined,
  devices: HashTree<Peer>,
  sites: readonly (readonly [key: string, peer: Peer])[],
): Work<HashTree<Peer>> {
  const peers = new Map<string, Peer>();
  yield* forEach(devices.entries(), entryCost, ([key, peer]) => peers.set(key, peer));
  for (const [key, peer] of sites) peers.set(key, peer);
  return yield* reusingTree(before, peers);
}

/** Whether a tree has any of these keys. */
function* hasAnyOf(tree: HashTree<Peer>, keys: DevicesByKey): Work<boolean> {
  let unpaid = 0;
  for (const key of keys.keys()) {
    if (tree.get(key) !== undefined) return true;
    unpaid += lookUpCost;
    if (unpaid < yieldAfter) continue;
    yield unpaid;
    unpaid = 0;
  }
  return false;
}

function byGateway(one: GatewayLink, other: GatewayLink): number {
  return one.gatewayId < other.gatewayId ? -1 : 1;
}
