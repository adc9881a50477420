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
import { type CachedClass, type DevicesByKey, membersAt } from "./cached-classes.ts";
import { type CachedPlan, type ClassKeys, classKeysAt, rulesOf } from "./cached-plans.ts";
import { destinationsOf } from "./destinations.ts";
import type { EligibleDevices } from "./eligible-devices.ts";
import { hasNetworks, settingsOf, siteRules } from "./gateway-rules.ts";
import type { GatewayLink } from "./links.ts";
import { isSameList, reuseContent, reuseTree } from "./reuse-trees.ts";
import { sitePeersOf } from "./site-peers.ts";
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

/** The content of each gateway of a tenant. A gateway whose inputs did not change retains its content. */
export class GatewayContents {
  readonly #pools: readonly string[];
  readonly #links = new Map<string, GatewayLink>();
  /** The links of existing gateways, and a number that changes with any of them. */
  #knownLinks: ReadonlyMap<string, GatewayLink> = new Map();
  #linksGeneration = 0;
  /** Gateways for which other gateways relay traffic. The list is replaced only if it changes. */
  #relayed: readonly GatewayLink[] = [];
  /** Computed on first use during a refresh. */
  readonly #siteRules = new Map<string, readonly SiteRule[]>();
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
   * Recomputes the contents whose inputs changed.
   *
   * @param touched by key, the devices that changed since the last call
   */
  refresh(inputs: ContentInputs, touched: DevicesByKey): void {
    const { model, plans: allPlans, classes: allClasses, devices } = inputs;
    const carried = new Map<string, CachedPlan[]>();
    for (const plan of allPlans) {
      for (const id of plan.gateways) {
        const plans = carried.get(id);
        if (plans === undefined) carried.set(id, [plan]);
        else plans.push(plan);
      }
    }
    this.#refreshKnownLinks(model, devices);
    const { resources, rules, policies } = model;
    // Traffic between sites depends on the links and the rules of both gateways.
    const hasSites = policies.SITETOSITE.policies.length > 0;
    const sites = hasSites ? [policies.SITETOSITE.generation, rules.generation, this.#linksGeneration] : [];
    const everywhere = [resources.generation, ...sites];
    const touchedKeys = [...touched.keys()];
    this.#siteRules.clear();
    const gateways = new Map<string, CachedGateway>();
    const unions = new Map<string, HashTree<Peer>>();
    for (const [id, link] of this.#knownLinks) {
      const plans = carried.get(id) ?? [];
      const cached = this.#gateways.get(id);
      const keys = cached !== undefined && isSameList(cached.plans, plans) ? cached.keys : classKeysAt(plans, id);
      const classes = keys.named.map((key) => membersAt(allClasses.get(key), id));
      const everyone = keys.allowsEveryone ? devices.peers : undefined;
      const isPeerChanged =
        cached !== undefined && touchedKeys.some((key) => cached.content.peers.get(key) !== undefined);
      const relayed = link.relayEnabled ? this.#relayed : undefined;
      const madeFrom = [...everywhere, link, relayed, everyone, ...plans, ...classes];
      if (cached !== undefined && !isPeerChanged && isSameList(cached.madeFrom, madeFrom)) {
        gateways.set(id, cached);
        continue;
      }
      const parts = { id, link, plans, keys };
      gateways.set(id, { madeFrom, plans, keys, ...this.#content(inputs, parts, cached, unions) });
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

  #content(
    inputs: ContentInputs,
    { id, link, plans, keys }: GatewayParts,
    cached: CachedGateway | undefined,
    unions: Map<string, HashTree<Peer>>,
  ): Pick<CachedGateway, "content" | "destinationsMadeFrom"> {
    const { model } = inputs;
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
    const destinationsMadeFrom = `${model.resources.generation} ${scope.internet} ${scope.hasNetworks} ${ids.join(" ")}`;
    const destinations =
      before !== undefined && cached?.destinationsMadeFrom === destinationsMadeFrom
        ? before.destinations
        : reuseTree(before?.destinations, destinationsOf(model, isCarried, scope));
    const sites = sitePeersOf(model, this.#knownLinks, id, (gatewayId) => this.#siteRulesAt(inputs, gatewayId));
    const devicePeers = this.#devicePeers(inputs, id, keys, before?.peers, unions);
    const classes = keys.named.flatMap((key): [string, HashTree<Membership>][] => {
      const members = membersAt(inputs.classes.get(key), id);
      return members === undefined || members.size === 0 ? [] : [[key, members]];
    });
    const content = {
      settings: settingsOf(link, this.#pools, internet, this.#relayed),
      peers: sites.length === 0 ? devicePeers : reuseTree(before?.peers, [...devicePeers.entries(), ...sites]),
      classes: reuseTree(before?.classes, classes),
      resources: reuseTree(before?.resources, resources),
      destinations,
    };
    return { content: reuseContent(before, content), destinationsMadeFrom };
  }

  #siteRulesAt({ plans }: ContentInputs, gatewayId: string): readonly SiteRule[] {
    let rules = this.#siteRules.get(gatewayId);
    if (rules === undefined) {
      rules = plans.flatMap(({ siteSteps, gateways }) =>
        gateways.has(gatewayId) ? siteRules(siteSteps, gatewayId) : [],
      );
      this.#siteRules.set(gatewayId, rules);
    }
    return rules;
  }

  /** The devices in classes that some rule allows. Gateways with the same classes share the result. */
  #devicePeers(
    { devices, classes }: ContentInputs,
    gatewayId: string,
    keys: ClassKeys,
    before: HashTree<Peer> | undefined,
    unions: Map<string, HashTree<Peer>>,
  ): HashTree<Peer> {
    if (keys.allowsEveryone) return devices.peers;
    const isOwn = keys.allowed.some((key) => classes.get(key)?.atGateways.has(gatewayId) === true);
    const name = [...keys.allowed, ...(isOwn ? [gatewayId] : [])].join(" ");
    const known = unions.get(name);
    if (known !== undefined) return known;
    const wanted = new Map<string, Peer>();
    for (const key of keys.allowed) {
      for (const [peerKey] of membersAt(classes.get(key), gatewayId)?.entries() ?? []) {
        const peer = wanted.has(peerKey) ? undefined : devices.peers.get(peerKey);
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
