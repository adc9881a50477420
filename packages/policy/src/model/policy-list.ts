import type { PolicyType } from "@gatehouse/contract/records/policy";
import { CompiledPolicy, indexOfRank, replaced } from "./compiled-policy.ts";
import type { PolicyFacts } from "./facts.ts";
import { nextGeneration } from "./generation.ts";
import { SourceIndex } from "./source-index.ts";
import { Table } from "./table.ts";

/** The default policy comes after all others. */
const lastRank = Number.POSITIVE_INFINITY;

/** A new order that moves more policies than this is made anew rather than step by step. */
const maxMoved = 100;

/** The policies of one type, found by destination and source. Immutable. */
export class PolicyList {
  readonly type: PolicyType;
  /** All of them in the order of evaluation, inactive ones and the default too. */
  readonly policies: readonly CompiledPolicy[];
  /** Active ones for all resources. */
  readonly everywhere: SourceIndex;
  /** Active ones by the id of a resource that they name. */
  readonly byResource: Table<SourceIndex>;
  /** Active ones, whatever their destination: for traffic to no resource. Only of type INTERNET. */
  readonly anywhere: SourceIndex;
  /** What decides when no other policy did; active or not. */
  readonly fallback: CompiledPolicy | undefined;
  readonly generation = nextGeneration();

  private constructor(fields: Pick<PolicyList, "type" | "policies" | "everywhere" | "byResource" | "anywhere">) {
    this.type = fields.type;
    this.policies = fields.policies;
    this.everywhere = fields.everywhere;
    this.byResource = fields.byResource;
    this.anywhere = fields.anywhere;
    const last = fields.policies.at(-1);
    this.fallback = last?.facts.isDefault === true ? last : undefined;
  }

  /** @param facts of the type's policies, in the order in which they are evaluated */
  static of(type: PolicyType, facts: readonly PolicyFacts[]): PolicyList {
    const policies = facts.map((policy, index) => new CompiledPolicy(policy, policy.isDefault ? lastRank : index));
    return PolicyList.#ofRanked(
      type,
      policies.sort((a, b) => (a.rank < b.rank ? -1 : a.rank > b.rank ? 1 : 0)),
    );
  }

  static #ofRanked(type: PolicyType, policies: readonly CompiledPolicy[]): PolicyList {
    const asked = policies.filter(isAsked);
    const byResource = new Map<string, CompiledPolicy[]>();
    for (const policy of asked) {
      for (const id of resourcesOf(policy)) {
        const list = byResource.get(id);
        if (list === undefined) byResource.set(id, [policy]);
        else list.push(policy);
      }
    }
    return new PolicyList({
      type,
      policies,
      everywhere: SourceIndex.of(asked.filter(({ facts }) => facts.allResources)),
      byResource: Table.of(Array.from(byResource, ([id, list]) => [id, SourceIndex.of(list)])),
      anywhere: type === "INTERNET" ? SourceIndex.of(asked) : SourceIndex.empty,
    });
  }

  find(id: string): CompiledPolicy | undefined {
    return this.policies.find(({ facts }) => facts.id === id);
  }

  /** With a policy as it is now: in its place, or new before the default policy. */
  withPolicy(facts: PolicyFacts): PolicyList {
    const before = this.find(facts.id);
    const rank = facts.isDefault ? lastRank : (before?.rank ?? this.#nextRank());
    return this.#replaced(before, new CompiledPolicy(facts, rank));
  }

  without(id: string): PolicyList {
    const before = this.find(id);
    return before === undefined ? this : this.#replaced(before, undefined);
  }

  /** @param ids of all policies of the type, in the order in which they are evaluated */
  inOrder(ids: readonly string[]): PolicyList {
    const one = onlyMoved(this.policies, ids);
    if (one !== undefined) {
      const { policy, previous, next } = one;
      const rank = between(previous?.rank, next?.rank);
      if (rank !== undefined) return this.#replaced(policy, undefined).#replaced(undefined, policy.withRank(rank));
    }
    const byId = new Map(this.policies.map((policy) => [policy.facts.id, policy]));
    const wanted = ids.flatMap((id) => {
      const policy = byId.get(id);
      return policy === undefined || policy.facts.isDefault ? [] : [policy];
    });
    const kept = longestRun(wanted);
    if (wanted.length - kept.size > maxMoved) return this.#reordered(wanted);
    const moved = wanted.filter((policy) => !kept.has(policy));
    // All of them out before the first goes in, so that no two policies ever have one rank.
    let list = moved.reduce<PolicyList>((rest, policy) => rest.#replaced(policy, undefined), this);
    let previous: number | undefined;
    for (const [place, policy] of wanted.entries()) {
      if (kept.has(policy)) {
        previous = policy.rank;
        continue;
      }
      const next = wanted.slice(place + 1).find((later) => kept.has(later))?.rank;
      const rank = between(previous, next);
      if (rank === undefined) return this.#reordered(wanted);
      list = list.#replaced(undefined, policy.withRank(rank));
      previous = rank;
    }
    return list;
  }

  #nextRank(): number {
    const last = this.policies.at(this.fallback === undefined ? -1 : -2);
    return last === undefined ? 0 : Math.floor(last.rank) + 1;
  }

  #reordered(wanted: readonly CompiledPolicy[]): PolicyList {
    const left = this.policies.filter((policy) => !wanted.includes(policy));
    return PolicyList.of(
      this.type,
      [...wanted, ...left].map(({ facts }) => facts),
    );
  }

  #replaced(before: CompiledPolicy | undefined, after: CompiledPolicy | undefined): PolicyList {
    const [was, is] = [before, after].map((policy) => (policy !== undefined && isAsked(policy) ? policy : undefined));
    const everywhere = [was, is].map((policy) => (policy?.facts.allResources === true ? policy : undefined));
    const oldIds = new Set(was === undefined ? [] : resourcesOf(was));
    const newIds = new Set(is === undefined ? [] : resourcesOf(is));
    const byResource = [...new Set([...oldIds, ...newIds])].map((id): [string, SourceIndex | undefined] => {
      const index = this.byResource.get(id) ?? SourceIndex.empty;
      const changed = index.with(oldIds.has(id) ? was : undefined, newIds.has(id) ? is : undefined);
      return [id, changed.policies.length === 0 ? undefined : changed];
    });
    return new PolicyList({
      type: this.type,
      policies: replaced(this.policies, before, after),
      everywhere:
        everywhere[0] === undefined && everywhere[1] === undefined
          ? this.everywhere
          : this.everywhere.with(everywhere[0], everywhere[1]),
      byResource: this.byResource.with(byResource),
      anywhere: this.type === "INTERNET" ? this.anywhere.with(was, is) : this.anywhere,
    });
  }
}

/** Whether a policy is asked in its turn: inactive ones are skipped, the default one decides what is left. */
function isAsked({ facts }: CompiledPolicy): boolean {
  return facts.active && !facts.isDefault;
}

/** The resources by which a policy is found: none for one that is for all of them. */
function resourcesOf({ facts }: CompiledPolicy): readonly string[] {
  return facts.allResources ? [] : [...new Set(facts.resources)];
}

/** A rank between two others; undefined where numbers leave no room. */
function between(previous: number | undefined, next: number | undefined): number | undefined {
  if (previous === undefined) return next === undefined ? 0 : next - 1;
  if (next === undefined) return previous + 1;
  const middle = (previous + next) / 2;
  return previous < middle && middle < next ? middle : undefined;
}

/** A policy that has another place, and those between which that is. */
interface MovedPolicy {
  readonly policy: CompiledPolicy;
  readonly previous: CompiledPolicy | undefined;
  readonly next: CompiledPolicy | undefined;
}

/**
 * The one policy that moved, where all others keep their order: what an administrator does by hand, found without a look at how
 * thousands stand to each other.
 *
 * @returns undefined where nothing moved, or more than one policy did, or the default one
 */
function onlyMoved(policies: readonly CompiledPolicy[], ids: readonly string[]): MovedPolicy | undefined {
  if (policies.length !== ids.length) return undefined;
  const isAt = (place: number, wanted: number) => policies[place]?.facts.id === ids[wanted];
  let first = 0;
  while (first < ids.length && isAt(first, first)) first += 1;
  let last = ids.length - 1;
  while (last > first && isAt(last, last)) last -= 1;
  if (first >= last) return undefined;
  const later = isAt(first, last);
  for (let place = first; place < last; place += 1) {
    if (!(later ? isAt(place + 1, place) : isAt(place, place + 1))) return undefined;
  }
  if (!later && !isAt(last, first)) return undefined;
  const policy = policies[later ? first : last];
  if (policy === undefined || policy.facts.isDefault) return undefined;
  const [previous, next] = later ? [policies[last], policies[last + 1]] : [policies[first - 1], policies[first]];
  if (previous?.facts.isDefault === true) return undefined;
  return { policy, previous, next: next?.facts.isDefault === true ? undefined : next };
}

/** Of policies in a wanted order, as many as possible that stand in it already: the longest run of rising ranks. */
function longestRun(wanted: readonly CompiledPolicy[]): ReadonlySet<CompiledPolicy> {
  /** The policy that ends the best run of each length, and before each policy the one that it follows in its run. */
  const ends: CompiledPolicy[] = [];
  const follows = new Map<CompiledPolicy, CompiledPolicy | undefined>();
  for (const policy of wanted) {
    const length = indexOfRank(ends, policy.rank);
    ends[length] = policy;
    follows.set(policy, length === 0 ? undefined : ends[length - 1]);
  }
  const run = new Set<CompiledPolicy>();
  for (let policy = ends.at(-1); policy !== undefined; policy = follows.get(policy)) run.add(policy);
  return run;
}
