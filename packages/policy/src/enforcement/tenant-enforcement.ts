import type { Membership } from "@gatehouse/agent-protocol/gateway/configuration";
import type { ContentTree } from "@gatehouse/agent-protocol/gateway/content-tree";
import type { HashTree } from "@gatehouse/agent-protocol/link/hash-tree";
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
import { type CachedClass, type DevicesByKey, emptyClass, updatedClass } from "./cached-classes.ts";
import type { CachedPlan } from "./cached-plans.ts";
import { EligibleDevices } from "./eligible-devices.ts";
import { GatewayContents } from "./gateway-contents.ts";
import type { ActionScope, TimedStep } from "./gateway-rules.ts";
import type { DeviceLink, GatewayLink, LinkChange, LinkFacts } from "./links.ts";
import { isSameList } from "./reuse-trees.ts";
import { sharedRuleBudget, type ValidityPeriod, windowsOf } from "./rule-windows.ts";

/** The key of the internet outside any resource. */
const internetKey = "";

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
  readonly #devices = new EligibleDevices();
  readonly #gateways: GatewayContents;
  #plans = new Map<string, CachedPlan>();
  #classes = new Map<string, CachedClass>();

  constructor(model: Model, links: LinkFacts, validity: ValidityPeriod) {
    this.validity = validity;
    this.#model = model;
    this.#gateways = new GatewayContents(links.pools);
    for (const link of links.devices) this.#devices.setLink(link.deviceId, link);
    for (const link of links.gateways) this.#gateways.setLink(link.gatewayId, link);
    for (const device of model.devices.values()) this.#devices.setOwner(device.facts.id, device);
    this.#refresh(this.#devices.links.keys(), validity);
  }

  /**
   * The next time at which a device's session ends, in milliseconds since 1970. `update` then removes the device.
   * Infinity if no session ends. Gateways apply the end by their own clocks, also without an update.
   */
  get nextSessionEnd(): number {
    return this.#devices.nextSessionEnd;
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
    const touched = new Set([...this.#touchedBy(changes), ...this.#devices.endedAt(from)]);
    this.#refresh(touched, { from, until: this.validity.until });
    return Array.from(this.contents()).flatMap(([id, content]) => (before.get(id) === content ? [] : [id]));
  }

  contentOf(gatewayId: string): ContentTree | undefined {
    return this.#gateways.get(gatewayId);
  }

  contents(): Iterable<readonly [gatewayId: string, content: ContentTree]> {
    return this.#gateways.entries();
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
    readonly devices: ReadonlyMap<string, DeviceLink>;
    readonly gateways: ReadonlyMap<string, GatewayLink>;
  } {
    return { devices: this.#devices.links, gateways: this.#gateways.links };
  }

  /** The devices whose memberships may differ after the changes, apart from changed policies. */
  #touchedBy(changes: readonly EnforcementChange[]): ReadonlySet<string> {
    const touched = new Set<string>();
    const addDevicesOf = (userId: string) => {
      for (const device of this.#devices.idsOfUser(userId)) touched.add(device);
    };
    for (const change of changes) {
      switch (change.kind) {
        case "device-link": {
          const [id, link] = "link" in change ? [change.link.deviceId, change.link] : [change.gone, undefined];
          this.#devices.setLink(id, link);
          touched.add(id);
          break;
        }
        case "gateway-link":
          if ("link" in change) this.#gateways.setLink(change.link.gatewayId, change.link);
          else this.#gateways.setLink(change.gone, undefined);
          break;
        case "device": {
          const id = idOf(change);
          this.#devices.setOwner(id, this.#model.devices.get(id));
          touched.add(id);
          break;
        }
        case "user":
          addDevicesOf(idOf(change));
          break;
        case "group": {
          const id = idOf(change);
          // Rules read the names of a user's groups.
          for (const { facts } of this.#model.users.values()) if (facts.groups.includes(id)) addDevicesOf(facts.id);
          break;
        }
        default:
          break;
      }
    }
    return touched;
  }

  #refresh(devices: Iterable<string>, validity: ValidityPeriod): void {
    const touched = this.#devices.refresh(devices, this.#model, validity.from);
    this.#refreshPlans(validity);
    this.#refreshClasses(touched, validity);
    const plans = [...this.#plans.values()];
    this.#gateways.refresh({ model: this.#model, plans, classes: this.#classes, devices: this.#devices }, touched);
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

  #refreshClasses(touched: DevicesByKey, validity: ValidityPeriod): void {
    const classes = new Map<string, CachedClass>();
    for (const { definitions } of this.#plans.values()) {
      for (const definition of definitions) {
        if (!classes.has(definition.key)) classes.set(definition.key, this.#class(definition, touched, validity));
      }
    }
    this.#classes = classes;
  }

  #class(definition: ClassDefinition, touched: DevicesByKey, validity: ValidityPeriod): CachedClass {
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
  #candidates({ policy, group }: ClassDefinition, members: HashTree<Membership>): DevicesByKey {
    const candidates = new Map<string, EligibleDevice | undefined>();
    for (const [key] of members.entries()) candidates.set(key, undefined);
    const add = (device: EligibleDevice | undefined) => {
      if (device !== undefined) candidates.set(device.link.ipv4, device);
    };
    const isForMany =
      policy?.forAnyone === true || policy?.facts.allGroups === true || policy?.facts.allDevices === true;
    if (group === "" || isForMany) {
      for (const device of this.#devices.values()) add(device);
      return candidates;
    }
    const groups = group === undefined ? (policy?.groups ?? []) : [group];
    for (const id of groups) for (const device of this.#devices.ofGroup(id)) add(device);
    for (const user of policy?.users ?? []) {
      for (const device of this.#devices.idsOfUser(user)) add(this.#devices.get(device));
    }
    for (const device of policy?.devices ?? []) add(this.#devices.get(device));
    return candidates;
  }
}

function idOf(change: { readonly facts: { readonly id: string } } | { readonly gone: string }): string {
  return "facts" in change ? change.facts.id : change.gone;
}
