import type { Membership } from "@gatehouse/agent-protocol/gateway/configuration";
import type { ContentTree } from "@gatehouse/agent-protocol/gateway/content-tree";
import type { HashTree } from "@gatehouse/agent-protocol/link/hash-tree";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { FactChange } from "../model/facts.ts";
import type { Model } from "../model/model.ts";
import { entryCost, forEach, recordCost, type Work } from "../work.ts";
import {
  type ClassDefinition,
  classesOf,
  classKeysOf,
  type EligibleDevice,
  findingMembership,
  isSameDefinition,
} from "./access-classes.ts";
import { devicePlan, type PlanStep, sitePlan } from "./access-plan.ts";
import { type CachedClass, type DevicesByKey, emptyClass, updatingClass } from "./cached-classes.ts";
import type { CachedPlan } from "./cached-plans.ts";
import { EligibleDevices } from "./eligible-devices.ts";
import { GatewayContents, type PrepareContent } from "./gateway-contents.ts";
import type { ActionScope, TimedStep } from "./gateway-rules.ts";
import type { DeviceLink, GatewayLink, LinkChange, LinkFacts } from "./links.ts";
import { isSameList } from "./reuse-trees.ts";
import { findingWindows, sharedRuleBudget, type ValidityPeriod } from "./rule-windows.ts";

/** The key of the internet outside any resource. */
const internetKey = "";

/** A change of facts or of links. */
export type EnforcementChange = FactChange | LinkChange;

/** A link that is indexed. */
const linkCost = 25;
/** A policy that may decide about a resource, as a step of its plan. */
const stepCost = 100;
/** A class whose definition is compared. */
const classCost = 25;

function* notPrepared(): Work<void> {}

/**
 * The content that every gateway of a tenant enforces. It is a function of the model, the links and the validity
 * period. Intermediate results are cached with their inputs, so that an update only recomputes what a change affects.
 *
 * Both the first computation and updates are work that can be suspended: they take seconds for a large tenant. Until
 * an update ends, the previous contents stay available.
 */
export class TenantEnforcement {
  /** The period for which the contents are computed. Configurations expire at its end. */
  readonly validity: ValidityPeriod;
  #model: Model;
  readonly #devices = new EligibleDevices();
  readonly #gateways: GatewayContents;
  #plans = new Map<string, CachedPlan>();
  #classes = new Map<string, CachedClass>();

  private constructor(model: Model, pools: readonly string[], validity: ValidityPeriod) {
    this.validity = validity;
    this.#model = model;
    this.#gateways = new GatewayContents(pools);
  }

  /** @param prepare work on each content before it can be read */
  static *composing(
    model: Model,
    { pools, devices, gateways }: LinkFacts,
    validity: ValidityPeriod,
    prepare: PrepareContent = notPrepared,
  ): Work<TenantEnforcement> {
    const enforcement = new TenantEnforcement(model, pools, validity);
    const own = enforcement.#devices;
    yield* forEach(devices, linkCost, (link) => own.setLink(link.deviceId, link));
    yield* forEach(gateways, linkCost, (link) => enforcement.#gateways.setLink(link.gatewayId, link));
    yield* forEach(model.devices.values(), recordCost, (device) => own.setOwner(device.facts.id, device));
    yield* enforcement.#refreshing(own.links.keys(), validity, prepare);
    return enforcement;
  }

  /**
   * The next time at which a device's session ends, in milliseconds since 1970. `update` then removes the device.
   * Infinity if no session ends. Gateways apply the end by their own clocks, even without an update.
   */
  get nextSessionEnd(): number {
    return this.#devices.nextSessionEnd;
  }

  /**
   * Applies changes. Contents that were returned before stay unchanged. Updates must not overlap. An update that was
   * not finished leaves the enforcement unusable.
   *
   * @param model the model after the changes
   * @param now milliseconds since 1970; recomputed windows start here
   * @param prepare work on each new content before it replaces the former one
   * @returns the ids of the gateways whose content changed
   */
  *updating(
    model: Model,
    changes: readonly EnforcementChange[],
    now: number,
    prepare: PrepareContent = notPrepared,
  ): Work<readonly string[]> {
    const before = new Map(this.contents());
    this.#model = model;
    const from = Math.max(now, this.validity.from);
    const touched = yield* this.#findingTouched(changes);
    for (const id of this.#devices.endedAt(from)) touched.add(id);
    yield* this.#refreshing(touched, { from, until: this.validity.until }, prepare);
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

  /** Finds the devices whose memberships may differ after the changes, apart from changed policies. */
  *#findingTouched(changes: readonly EnforcementChange[]): Work<Set<string>> {
    const touched = new Set<string>();
    const addDevicesOf = (userId: string) => {
      for (const device of this.#devices.idsOfUser(userId)) touched.add(device);
    };
    for (const change of changes) {
      yield linkCost;
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
          yield* forEach(this.#model.users.values(), recordCost, ({ facts }) => {
            if (facts.groups.includes(id)) addDevicesOf(facts.id);
          });
          break;
        }
        default:
          break;
      }
    }
    return touched;
  }

  *#refreshing(devices: Iterable<string>, validity: ValidityPeriod, prepare: PrepareContent): Work<void> {
    const touched = yield* this.#devices.refreshing(devices, this.#model, validity.from);
    yield* this.#refreshingPlans(validity);
    yield* this.#refreshingClasses(touched, validity);
    const plans = [...this.#plans.values()];
    const inputs = { model: this.#model, plans, classes: this.#classes, devices: this.#devices };
    yield* this.#gateways.refreshing(inputs, touched, prepare);
  }

  *#refreshingPlans(validity: ValidityPeriod): Work<void> {
    const plans = new Map<string, CachedPlan>();
    for (const resource of this.#model.resources.values()) {
      plans.set(resource.id, yield* this.#findingPlan(resource, validity));
    }
    plans.set(internetKey, yield* this.#findingPlan(undefined, validity));
    this.#plans = plans;
  }

  *#findingPlan(resource: CompiledResource | undefined, validity: ValidityPeriod): Work<CachedPlan> {
    const { policies, rules } = this.#model;
    const lists = resource === undefined ? [policies.INTERNET] : [policies[resource.type], policies.SITETOSITE];
    const madeFrom = [
      resource?.generation,
      rules.generation,
      ...lists.flatMap((list) => [
        (resource === undefined ? list.anywhere : list.everywhere).generation,
        resource?.policiesIn(list)?.generation,
        list.fallback,
      ]),
    ];
    yield recordCost;
    const cached = this.#plans.get(resource?.id ?? internetKey);
    if (cached !== undefined && isSameList(cached.madeFrom, madeFrom)) return cached;
    let exactUntil = validity.until;
    const contextAt = (now: number) => ({ source: {}, resource: resource?.forRules, now: new Date(now) });
    function* findingScope(step: PlanStep, action: "allow" | "deny"): Work<ActionScope> {
      const keys = classKeysOf(step, action);
      const { sharedRule, isUnpredictable } = step;
      if (isUnpredictable) return { keys, when: action === "deny" || [] };
      if (sharedRule === undefined) return { keys, when: true };
      const windows = yield* findingWindows(sharedRule, contextAt, validity, sharedRuleBudget, action === "deny");
      yield windows.unpaid;
      exactUntil = Math.min(exactUntil, windows.exactUntil);
      return { keys, when: windows.when };
    }
    function* timing(steps: readonly PlanStep[]): Work<readonly TimedStep[]> {
      const timed: TimedStep[] = [];
      for (const step of steps) {
        yield stepCost;
        timed.push({ step, allow: yield* findingScope(step, "allow"), deny: yield* findingScope(step, "deny") });
      }
      return timed;
    }
    const deviceSteps = yield* timing(devicePlan(this.#model, resource));
    const siteSteps = resource === undefined ? [] : yield* timing(sitePlan(this.#model, resource));
    const gateways = new Set([...deviceSteps, ...siteSteps].flatMap(({ step }) => step.gateways));
    // A resource without gateways needs no classes.
    const steps = gateways.size === 0 ? [] : deviceSteps.map(({ step }) => step);
    const definitions = steps.flatMap((step) => [...classesOf(step, "allow"), ...classesOf(step, "deny")]);
    return { madeFrom, resource, deviceSteps, siteSteps, gateways, definitions, rulesAt: new Map(), exactUntil };
  }

  *#refreshingClasses(touched: DevicesByKey, validity: ValidityPeriod): Work<void> {
    const classes = new Map<string, CachedClass>();
    for (const { definitions } of this.#plans.values()) {
      for (const definition of definitions) {
        yield classCost;
        if (classes.has(definition.key)) continue;
        classes.set(definition.key, yield* this.#updatingClass(definition, touched, validity));
      }
    }
    this.#classes = classes;
  }

  *#updatingClass(definition: ClassDefinition, touched: DevicesByKey, validity: ValidityPeriod): Work<CachedClass> {
    const cached = this.#classes.get(definition.key);
    const membershipOf = (device: EligibleDevice, gatewayId?: string) =>
      findingMembership(definition, this.#model, device, validity, gatewayId);
    if (cached !== undefined && isSameDefinition(cached.definition, definition)) {
      return touched.size === 0
        ? { ...cached, definition }
        : yield* updatingClass({ ...cached, definition }, touched, membershipOf);
    }
    const empty = emptyClass(definition, validity.until);
    const members = cached?.members ?? empty.members;
    const candidates = yield* this.#findingCandidates(definition, members);
    return yield* updatingClass({ ...empty, members }, candidates, membershipOf);
  }

  /** Finds the devices that may be members of a class, and its former members, by key. */
  *#findingCandidates({ policy, group }: ClassDefinition, members: HashTree<Membership>): Work<DevicesByKey> {
    const candidates = new Map<string, EligibleDevice | undefined>();
    yield* forEach(members.entries(), entryCost, ([key]) => candidates.set(key, undefined));
    const add = (device: EligibleDevice | undefined) => {
      if (device !== undefined) candidates.set(device.link.ipv4, device);
    };
    const isForMany =
      policy?.forAnyone === true || policy?.facts.allGroups === true || policy?.facts.allDevices === true;
    if (group === "" || isForMany) {
      yield* forEach(this.#devices.values(), entryCost, add);
      return candidates;
    }
    const groups = group === undefined ? (policy?.groups ?? []) : [group];
    for (const id of groups) yield* forEach(yield* this.#devices.findingOfGroup(id), entryCost, add);
    yield* forEach(policy?.users ?? [], linkCost, (user) => {
      for (const device of this.#devices.idsOfUser(user)) add(this.#devices.get(device));
    });
    yield* forEach(policy?.devices ?? [], entryCost, (device) => add(this.#devices.get(device)));
    return candidates;
  }
}

function idOf(change: { readonly facts: { readonly id: string } } | { readonly gone: string }): string {
  return "facts" in change ? change.facts.id : change.gone;
}
