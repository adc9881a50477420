import type { PolicyType } from "@gatehouse/contract/records/policy";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";
import type { FactChange, GroupFacts } from "../model/facts.ts";
import type { Model } from "../model/model.ts";
import type { Table } from "../model/table.ts";
import { sorting } from "../sorting.ts";
import {
  comparedUserCost,
  entriesAtOnce,
  entryCost,
  finish,
  recordCost,
  recordsAtOnce,
  type Work,
  yieldAfter,
} from "../work.ts";
import type { AccessDifference } from "./access-difference.ts";
import { AccessListing } from "./access-listing.ts";
import { type AffectedAccess, affectedAccess, Scope } from "./affected-access.ts";
import { ChainComparison } from "./chain-comparison.ts";
import { ComparedSubjects, type NamedSubject } from "./compared-subjects.ts";
import { ChangedCounts, countsOf, type DestinationChanges } from "./destination-changes.ts";
import { changeCount, isGain } from "./level-changes.ts";
import { afterSide, beforeSide, onSides } from "./level-states.ts";
import type { MergedPolicy } from "./merged-policies.ts";
import { type KnownCircumstances, knownCircumstances, type OpenCircumstances } from "./open-circumstances.ts";
import { type ChainParts, outcomeBits, type PolicyChain, policyChain } from "./policy-chain.ts";
import { RuleCertainties } from "./rule-certainties.ts";
import { type ChangedSubjects, noSubjects } from "./subject-tally.ts";

/**
 * Computes who gains and who loses access to what. Subjects are each user without a device and with each of the user's
 * devices, and each gateway as a site. Destinations are each resource, and the internet apart from resources.
 *
 * @param changes all changes that lead from `before` to `after`; access that they cannot affect is not evaluated
 */
export function compareAccess(
  before: Model,
  after: Model,
  changes: readonly FactChange[],
  circumstances: OpenCircumstances,
): AccessDifference {
  return finish(comparingAccess(before, after, changes, circumstances));
}

/** Compares like `compareAccess`, as work that can be suspended between two policies of a user. */
export function* comparingAccess(
  before: Model,
  after: Model,
  changes: readonly FactChange[],
  circumstances: OpenCircumstances,
): Work<AccessDifference> {
  yield comparedUserCost;
  const comparison = yield* Comparison.starting(before, after, changes, knownCircumstances(circumstances));
  return yield* comparison.difference();
}

const userTypes = ["PRIVATE", "SAAS", "INTERNET"] as const;

class Comparison {
  readonly #before: Model;
  readonly #after: Model;
  readonly #circumstances: KnownCircumstances;
  readonly #affected: AffectedAccess;
  readonly #subjects: ComparedSubjects;
  readonly #listing: AccessListing;
  #userComparisons: readonly ChainComparison[] = [];
  #internetComparison: ChainComparison | undefined;
  #siteComparison: ChainComparison | undefined;
  readonly #gained = new ChangedCounts();
  readonly #lost = new ChangedCounts();

  private constructor(
    before: Model,
    after: Model,
    circumstances: KnownCircumstances,
    affected: AffectedAccess,
    subjects: ComparedSubjects,
  ) {
    this.#before = before;
    this.#after = after;
    this.#circumstances = circumstances;
    this.#affected = affected;
    this.#subjects = subjects;
    this.#listing = new AccessListing(before, after, affected, circumstances);
  }

  /** Finds everything that is compared, as work that can be suspended between some records. */
  static *starting(
    before: Model,
    after: Model,
    changes: readonly FactChange[],
    circumstances: KnownCircumstances,
  ): Work<Comparison> {
    const affected = yield* affectedAccess(before, after, changes);
    const users = new Scope();
    for (const scope of [affected.users, ...affected.changedResources.map((resource) => resource.users)]) {
      yield scope.ids.size * entryCost;
      users.addScope(scope);
    }
    const subjects = yield* ComparedSubjects.finding(before, after, users);
    const comparison = new Comparison(before, after, circumstances, affected, subjects);
    yield* comparison.#buildChains();
    return comparison;
  }

  *#buildChains(): Work<void> {
    const affected = this.#affected;
    const certainties = new RuleCertainties(this.#circumstances);
    const groups = this.#subjects.numberedGroups;
    const users: ChainComparison[] = [];
    for (const type of [...userTypes, "SITETOSITE"] as const) {
      const isWanted = type === "SITETOSITE" ? affected.sites : !affected.users.isEmpty;
      const chain = isWanted && affected.types.has(type) ? yield* this.#chainOf(type) : undefined;
      if (chain === undefined) continue;
      const comparison = new ChainComparison(chain, certainties, groups);
      if (type === "SITETOSITE") this.#siteComparison = comparison;
      else users.push(comparison);
    }
    this.#userComparisons = users;
    if (affected.internet && !affected.users.isEmpty) {
      this.#internetComparison = new ChainComparison(yield* this.#internetChain(), certainties, groups);
    }
  }

  /** The changed resources, which are compared directly. */
  *#resourcesToCompare(): Work<readonly ComparedResource[]> {
    const all: ComparedResource[] = [];
    for (const { id, users } of this.#affected.changedResources) {
      all.push({ id, users, byChange: undefined });
      if (all.length % recordsAtOnce === 0) yield recordsAtOnce * recordCost;
    }
    return all;
  }

  *difference(): Work<AccessDifference> {
    const changed = yield* this.#resourcesToCompare();
    const siteComparison = this.#siteComparison;
    const comparisons = [...this.#userComparisons];
    if (this.#internetComparison !== undefined) comparisons.push(this.#internetComparison);
    let spent = 0;
    for (const { userId, subjects } of this.#subjects.byUser()) {
      spent += comparedUserCost * subjects.length;
      if (spent >= yieldAfter) {
        yield spent;
        spent = 0;
      }
      if (this.#affected.users.has(userId)) {
        for (const comparison of comparisons) {
          comparison.start(subjects);
          while (!comparison.proceed()) yield comparison.takeSpent();
        }
      }
      for (const resource of changed) {
        if (resource.users.has(userId)) yield* this.#compareDirectly(subjects, resource);
      }
      this.#countUser(subjects);
    }
    yield spent;
    if (siteComparison !== undefined || changed.length > 0) {
      for (const site of this.#subjects.sites()) {
        if (siteComparison !== undefined) {
          siteComparison.start([site]);
          while (!siteComparison.proceed()) yield siteComparison.takeSpent();
        }
        for (const resource of changed) yield* this.#compareDirectly([site], resource);
        if (site.gains) this.#gained.sites += 1;
        if (site.loses) this.#lost.sites += 1;
      }
    }
    if (siteComparison !== undefined) comparisons.push(siteComparison);
    for (const comparison of comparisons) yield comparison.takeSpent();
    const destinations = yield* this.#destinations(changed);
    return {
      gained: countsOf("gained", this.#gained, destinations),
      lost: countsOf("lost", this.#lost, destinations),
      groups: yield* this.#listing.groupsOf(destinations),
      rows: (page) => this.#listing.rows(destinations, page),
    };
  }

  /** @param subjects all subjects of one user */
  #countUser(subjects: readonly NamedSubject[]): void {
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

  /**
   * Compares the access to one resource by evaluating each subject in both models. A resource whose type or name
   * changed is in no chain, because the policies about it differ between the models.
   *
   * @param subjects all subjects of one user, or one site
   */
  *#compareDirectly(subjects: readonly NamedSubject[], resource: ComparedResource): Work<void> {
    let counted = 0;
    for (const subject of subjects) {
      const change = yield* this.#listing.changeFor(subject.subject, resource.id);
      if (change === 0) continue;
      resource.byChange ??= noChanges();
      const sum = resource.byChange[change];
      if (sum === undefined) continue;
      if (isGain(change)) subject.gains = true;
      else subject.loses = true;
      sum.subjects += 1;
      sum.fingerprintA ^= subject.fingerprintA;
      sum.fingerprintB ^= subject.fingerprintB;
      if (subject.subject.kind === "site") sum.sites += 1;
      else if ((counted & (1 << change)) === 0) sum.users += 1;
      if (subject.isDevice) sum.devices += 1;
      counted |= 1 << change;
    }
  }

  /** All destinations with any change, in the order of ids, the internet last. */
  *#destinations(changed: readonly ComparedResource[]): Work<readonly DestinationChanges[]> {
    const byId = new Map<string, readonly ChangedSubjects[]>();
    for (const { id, byChange } of changed) if (byChange !== undefined) byId.set(id, byChange);
    for (const comparison of this.#userComparisons) yield* addClasses(byId, comparison, false);
    if (this.#siteComparison !== undefined) yield* addClasses(byId, this.#siteComparison, true);
    const destinations: DestinationChanges[] = [];
    for (const resourceId of yield* sorting(byId.keys())) {
      destinations.push({ resourceId, byChange: byId.get(resourceId) ?? [] });
      if (destinations.length % entriesAtOnce === 0) yield entriesAtOnce * entryCost;
    }
    const internet = this.#internetComparison?.baseChanges();
    if (internet !== undefined && isChanged(internet)) destinations.push({ resourceId: undefined, byChange: internet });
    return destinations;
  }

  /** @returns undefined for a chain without destinations */
  *#chainOf(type: PolicyType): Work<PolicyChain | undefined> {
    const { destinations, policies, changedResources } = this.#affected;
    const merged = policies[type];
    if (destinations.all && changedResources.length === 0) return yield* this.#wholeChain(type, merged);
    const changed = new Set(changedResources.map(({ id }) => id));
    const resources = (yield* this.#resourcesFor(type)).filter(({ id }) => destinations.has(id) && !changed.has(id));
    if (resources.length === 0) return undefined;
    yield merged.length * entryCost;
    const relevant = destinations.all
      ? merged
      : merged.filter(
          ({ policy }) => policy.facts.allResources || policy.facts.resources.some((id) => destinations.has(id)),
        );
    return yield* policyChain(this.#partsOf(type, relevant, resources));
  }

  /** The chain with all resources of a type. Cached as long as the policies and everything it reads stay the same. */
  *#wholeChain(type: PolicyType, merged: readonly MergedPolicy[]): Work<PolicyChain | undefined> {
    const { resources, rules, groups, policies } = this.#after;
    if (resources.size === 0) return undefined;
    const before = this.#before;
    const isSame = policies[type] === before.policies[type] && rules === before.rules && groups === before.groups;
    const sourceIp = JSON.stringify([this.#circumstances.open.sourceIp, this.#circumstances.source]);
    const cached = isSame ? wholeChains.get(merged) : undefined;
    if (
      cached?.resources === resources &&
      cached.rules === rules &&
      cached.groups === groups &&
      cached.sourceIp === sourceIp
    ) {
      return cached.chain;
    }
    const chain = yield* policyChain(this.#partsOf(type, merged, yield* this.#resourcesFor(type)));
    if (isSame) wholeChains.set(merged, { chain, resources, rules, groups, sourceIp });
    return chain;
  }

  #internetChain(): Work<PolicyChain> {
    return policyChain(this.#partsOf("INTERNET", this.#affected.policies.INTERNET, undefined));
  }

  *#resourcesFor(type: PolicyType): Work<readonly CompiledResource[]> {
    const { resources } = this.#after;
    const { destinations } = this.#affected;
    const found: CompiledResource[] = [];
    let unpaid = 0;
    for (const candidate of destinations.all ? resources.values() : destinations.ids) {
      const resource = typeof candidate === "string" ? resources.get(candidate) : candidate;
      if (resource !== undefined && (type === "SITETOSITE" || resource.type === type)) found.push(resource);
      unpaid += 1;
      if (unpaid < entriesAtOnce) continue;
      yield unpaid * entryCost;
      unpaid = 0;
    }
    return found;
  }

  #partsOf(
    type: PolicyType,
    policies: readonly MergedPolicy[],
    resources: readonly CompiledResource[] | undefined,
  ): ChainParts {
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

interface WholeChain {
  readonly chain: PolicyChain;
  readonly resources: Table<CompiledResource>;
  readonly rules: Table<CompiledRule>;
  readonly groups: Table<GroupFacts>;
  readonly sourceIp: string;
}

/** Whole chains of unchanged policy lists, by the merged list that `affectedAccess` caches for such a list. */
const wholeChains = new WeakMap<readonly MergedPolicy[], WholeChain>();

/** A changed resource, and the changes of access to it by the users whom the change concerns. */
interface ComparedResource {
  readonly id: string;
  readonly users: Scope;
  /** Undefined until a change is found: a configuration can add 10,000 resources that change no access. */
  byChange: readonly ChangedSubjects[] | undefined;
}

function noChanges(): readonly ChangedSubjects[] {
  return Array.from({ length: changeCount }, noSubjects);
}

function isChanged(byChange: readonly ChangedSubjects[]): boolean {
  return byChange.some(({ subjects }) => subjects > 0);
}

/** Adds the changes about each resource of a chain. */
function* addClasses(
  byId: Map<string, readonly ChangedSubjects[]>,
  comparison: ChainComparison,
  areSites: boolean,
): Work<void> {
  const base = asSites(comparison.baseChanges(), areSites);
  for (const [index, { resources }] of comparison.chain.classes.entries()) {
    yield (1 + resources.length) * entryCost;
    const own = comparison.changesOf(index);
    const byChange = own === undefined ? base : asSites(own, areSites);
    if (!isChanged(byChange)) continue;
    for (const { facts } of resources) {
      const known = byId.get(facts.id);
      byId.set(facts.id, known === undefined ? byChange : sumOf(known, byChange));
    }
  }
}

/** A chain counts each site as the only subject of a user. Moves these counts from users to sites. */
function asSites(byChange: readonly ChangedSubjects[], areSites: boolean): readonly ChangedSubjects[] {
  return areSites ? byChange.map((sum) => ({ ...sum, users: 0, sites: sum.subjects })) : byChange;
}

function sumOf(some: readonly ChangedSubjects[], others: readonly ChangedSubjects[]): readonly ChangedSubjects[] {
  return some.map((one, change) => {
    const other = others[change] ?? noSubjects();
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
