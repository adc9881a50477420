import type { PolicyType } from "@gatehouse/contract/records/policy";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";
import type { FactChange, GroupFacts } from "../model/facts.ts";
import type { Model } from "../model/model.ts";
import type { Table } from "../model/table.ts";
import type { AccessDifference } from "./access-difference.ts";
import { AccessListing } from "./access-listing.ts";
import { type AffectedAccess, affectedAccess, Scope } from "./affected-access.ts";
import { ChainComparison } from "./chain-comparison.ts";
import { ComparedSubjects, type NamedSubject } from "./compared-subjects.ts";
import {
  ChangedCounts,
  type ChangedSubjects,
  countsOf,
  type DestinationChanges,
  noSubjects,
} from "./difference-tally.ts";
import { afterSide, beforeSide, changeCount, isGain, onSides } from "./level-states.ts";
import type { MergedPolicy } from "./merged-policies.ts";
import { type KnownCircumstances, knownCircumstances, type OpenCircumstances } from "./open-circumstances.ts";
import { outcomeBits, type PolicyChain, policyChain } from "./policy-chain.ts";
import { RuleCertainties } from "./rule-certainties.ts";

/**
 * Who gains and who loses access to what. Subjects are each user without a device and with each of theirs, and each gateway as a site;
 * destinations are each resource, and the internet as far as it is no resource.
 *
 * @param changes all that make `after` of `before`: only what they can touch is looked at
 */
export function compareAccess(
  before: Model,
  after: Model,
  changes: readonly FactChange[],
  circumstances: OpenCircumstances,
): AccessDifference {
  return new Comparison(before, after, changes, knownCircumstances(circumstances)).difference();
}

const userTypes = ["PRIVATE", "SAAS", "INTERNET"] as const;

class Comparison {
  readonly #before: Model;
  readonly #after: Model;
  readonly #circumstances: KnownCircumstances;
  readonly #affected: AffectedAccess;
  readonly #subjects: ComparedSubjects;
  readonly #listing: AccessListing;
  readonly #userWalks: readonly ChainComparison[];
  readonly #internetWalk: ChainComparison | undefined;
  readonly #siteWalk: ChainComparison | undefined;
  readonly #gained = new ChangedCounts();
  readonly #lost = new ChangedCounts();

  constructor(before: Model, after: Model, changes: readonly FactChange[], circumstances: KnownCircumstances) {
    this.#before = before;
    this.#after = after;
    this.#circumstances = circumstances;
    const affected = affectedAccess(before, after, changes);
    this.#affected = affected;
    const users = new Scope();
    for (const scope of [affected.users, ...affected.changedResources.map((resource) => resource.users)]) {
      users.addScope(scope);
    }
    this.#subjects = new ComparedSubjects(before, after, users);
    this.#listing = new AccessListing(before, after, affected, circumstances);
    const certainties = new RuleCertainties(circumstances);
    const walks = (type: PolicyType) => {
      const chain = affected.types.has(type) ? this.#chainOf(type) : undefined;
      return chain === undefined ? [] : [new ChainComparison(chain, certainties)];
    };
    this.#userWalks = affected.users.isEmpty ? [] : userTypes.flatMap(walks);
    this.#siteWalk = affected.sites ? walks("SITETOSITE")[0] : undefined;
    this.#internetWalk =
      affected.internet && !affected.users.isEmpty
        ? new ChainComparison(this.#internetChain(), certainties)
        : undefined;
  }

  difference(): AccessDifference {
    const changed = this.#affected.changedResources.map(({ id, users }) => ({ id, users, byCode: noChanges() }));
    for (const { userId, subjects } of this.#subjects.byUser()) {
      if (this.#affected.users.has(userId)) {
        for (const walk of this.#userWalks) walk.compare(subjects);
        this.#internetWalk?.compare(subjects);
      }
      for (const { id, users, byCode } of changed) if (users.has(userId)) this.#compareDirectly(subjects, id, byCode);
      this.#countParties(subjects);
    }
    if (this.#siteWalk !== undefined || changed.length > 0) {
      for (const site of this.#subjects.sites()) {
        this.#siteWalk?.compare([site]);
        for (const { id, byCode } of changed) this.#compareDirectly([site], id, byCode);
        if (site.gains) this.#gained.sites += 1;
        if (site.loses) this.#lost.sites += 1;
      }
    }
    const destinations = this.#destinations(changed);
    return {
      gained: countsOf("gained", this.#gained, destinations),
      lost: countsOf("lost", this.#lost, destinations),
      groups: this.#listing.groupsOf(destinations),
      rows: (page) => this.#listing.rows(destinations, page),
    };
  }

  #countParties(subjects: readonly NamedSubject[]): void {
    let gains = false;
    let loses = false;
    for (const subject of subjects) {
      gains ||= subject.gains;
      loses ||= subject.loses;
      if (!subject.isDevice) continue;
      if (subject.gains) this.#gained.devices += 1;
      if (subject.loses) this.#lost.devices += 1;
    }
    if (gains) this.#gained.users += 1;
    if (loses) this.#lost.users += 1;
  }

  /** @param subjects all of one user, or one site */
  #compareDirectly(subjects: readonly NamedSubject[], resourceId: string, byCode: readonly ChangedSubjects[]): void {
    let codes = 0;
    for (const subject of subjects) {
      const code = this.#listing.changeFor(subject.subject, resourceId);
      const sum = byCode[code];
      if (code === 0 || sum === undefined) continue;
      if (isGain(code)) subject.gains = true;
      else subject.loses = true;
      sum.subjects += 1;
      sum.fingerprintA ^= subject.fingerprintA;
      sum.fingerprintB ^= subject.fingerprintB;
      if (subject.subject.kind === "site") sum.sites += 1;
      else if ((codes & (1 << code)) === 0) sum.users += 1;
      if (subject.isDevice) sum.devices += 1;
      codes |= 1 << code;
    }
  }

  /** All destinations that anything changed about, in order of ids, the internet last. */
  #destinations(
    changed: readonly { readonly id: string; readonly byCode: readonly ChangedSubjects[] }[],
  ): readonly DestinationChanges[] {
    const byId = new Map<string, readonly ChangedSubjects[]>();
    for (const { id, byCode } of changed) if (isChanged(byCode)) byId.set(id, byCode);
    for (const walk of this.#userWalks) addClasses(byId, walk, false);
    if (this.#siteWalk !== undefined) addClasses(byId, this.#siteWalk, true);
    const destinations: DestinationChanges[] = Array.from(byId, ([resourceId, byCode]) => ({ resourceId, byCode }));
    destinations.sort((a, b) => ((a.resourceId ?? "") < (b.resourceId ?? "") ? -1 : 1));
    const internet = this.#internetWalk?.baseChanges();
    if (internet !== undefined && isChanged(internet)) destinations.push({ resourceId: undefined, byCode: internet });
    return destinations;
  }

  /** @returns undefined for a chain without destinations */
  #chainOf(type: PolicyType): PolicyChain | undefined {
    const { destinations, policies, changedResources } = this.#affected;
    const merged = policies[type];
    if (destinations.all && changedResources.length === 0) return this.#wholeChain(type, merged);
    const changed = new Set(changedResources.map(({ id }) => id));
    const resources = [...this.#resourcesFor(type)].filter(
      ({ facts: { id } }) => destinations.has(id) && !changed.has(id),
    );
    if (resources.length === 0) return undefined;
    const own = destinations.all
      ? merged
      : merged.filter(
          ({ policy }) => policy.facts.allResources || policy.facts.resources.some((id) => destinations.has(id)),
        );
    return policyChain(this.#partsOf(type, own, resources));
  }

  #wholeChain(type: PolicyType, merged: readonly MergedPolicy[]): PolicyChain | undefined {
    const { resources, rules, groups, policies } = this.#after;
    if (resources.size === 0) return undefined;
    const before = this.#before;
    const isSame = policies[type] === before.policies[type] && rules === before.rules && groups === before.groups;
    const sourceIp = JSON.stringify([this.#circumstances.open.sourceIp, this.#circumstances.source]);
    const known = isSame ? cachedChains.get(merged) : undefined;
    if (
      known?.resources === resources &&
      known.rules === rules &&
      known.groups === groups &&
      known.sourceIp === sourceIp
    )
      return known.chain;
    const chain = policyChain(this.#partsOf(type, merged, [...this.#resourcesFor(type)]));
    if (isSame) cachedChains.set(merged, { chain, resources, rules, groups, sourceIp });
    return chain;
  }

  #internetChain(): PolicyChain {
    return policyChain(this.#partsOf("INTERNET", this.#affected.policies.INTERNET, undefined));
  }

  *#resourcesFor(type: PolicyType): Iterable<CompiledResource> {
    const { resources } = this.#after;
    const { destinations } = this.#affected;
    if (!destinations.all) {
      for (const id of destinations.ids) {
        const resource = resources.get(id);
        if (resource !== undefined && (type === "SITETOSITE" || resource.type === type)) yield resource;
      }
      return;
    }
    for (const resource of resources.values()) if (type === "SITETOSITE" || resource.type === type) yield resource;
  }

  #partsOf(type: PolicyType, policies: readonly MergedPolicy[], resources: readonly CompiledResource[] | undefined) {
    const fallbacks = [this.#before.policies[type].fallback, this.#after.policies[type].fallback];
    const [was = 0, is = 0] = fallbacks.map((policy) => (policy === undefined ? 0 : outcomeBits(policy, "yes")));
    const fallbackBits = onSides(was, beforeSide) | onSides(is, afterSide);
    return {
      before: this.#before,
      after: this.#after,
      policies,
      resources,
      fallbackBits,
      circumstances: this.#circumstances,
    };
  }
}

interface CachedChain {
  readonly chain: PolicyChain;
  readonly resources: Table<CompiledResource>;
  readonly rules: Table<CompiledRule>;
  readonly groups: Table<GroupFacts>;
  readonly sourceIp: string;
}

/** Of lists that were the same before and after, by what `affectedAccess` keeps for such a list. */
const cachedChains = new WeakMap<readonly MergedPolicy[], CachedChain>();

function noChanges(): readonly ChangedSubjects[] {
  return Array.from({ length: changeCount }, noSubjects);
}

function isChanged(byCode: readonly ChangedSubjects[]): boolean {
  return byCode.some(({ subjects }) => subjects > 0);
}

function addClasses(byId: Map<string, readonly ChangedSubjects[]>, walk: ChainComparison, areSites: boolean): void {
  const bases = asSites(walk.baseChanges(), areSites);
  for (const [index, { resources }] of walk.chain.classes.entries()) {
    const own = walk.changesOf(index);
    const byCode = own === undefined ? bases : asSites(own, areSites);
    if (!isChanged(byCode)) continue;
    for (const { facts } of resources) {
      const known = byId.get(facts.id);
      byId.set(facts.id, known === undefined ? byCode : together(known, byCode));
    }
  }
}

/** Each site is counted as the one subject of a user. */
function asSites(byCode: readonly ChangedSubjects[], areSites: boolean): readonly ChangedSubjects[] {
  return areSites ? byCode.map((sum) => ({ ...sum, users: 0, sites: sum.subjects })) : byCode;
}

function together(some: readonly ChangedSubjects[], others: readonly ChangedSubjects[]): readonly ChangedSubjects[] {
  return some.map((one, code) => {
    const other = others[code] ?? noSubjects();
    return {
      users: one.users + other.users,
      devices: one.devices + other.devices,
      sites: one.sites + other.sites,
      subjects: one.subjects + other.subjects,
      fingerprintA: one.fingerprintA ^ other.fingerprintA,
      fingerprintB: one.fingerprintB ^ other.fingerprintB,
    };
  });
}
