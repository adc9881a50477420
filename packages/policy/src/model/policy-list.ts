import type { PolicyType } from "@gatehouse/contract/records/policy";
import { copyCost, entryCost, finish, recordCost, recordsAtOnce, referenceCost, type Work } from "../work.ts";
import { CompiledPolicy, indexOfRank, replaced } from "./compiled-policy.ts";
import type { PolicyFacts } from "./facts.ts";
import { nextGeneration } from "./generation.ts";
import { SourceIndex } from "./source-index.ts";
import { Table } from "./table.ts";

/** The default policy comes after all other policies. */
const lastRank = Number.POSITIVE_INFINITY;

/** A new order that moves more policies than this rebuilds the list. */
const maxMoved = 100;

/** The policies of one type, indexed by destination and source. Immutable. */
export class PolicyList {
  readonly type: PolicyType;
  /** All policies in the order of evaluation, including inactive ones and the default policy. */
  readonly policies: readonly CompiledPolicy[];
  /** Active policies for all resources. */
  readonly everywhere: SourceIndex;
  /** Active policies by the id of a resource that they name. */
  readonly byResource: Table<SourceIndex>;
  /**
   * Active policies for any destination. They decide about traffic to no resource. Empty unless the type is INTERNET.
   */
  readonly anywhere: SourceIndex;
  /** The default policy, active or not. It decides if no other policy did. */
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

  /** @param facts the policies of the type, in the order of evaluation */
  static of(type: PolicyType, facts: readonly PolicyFacts[]): PolicyList {
    return finish(PolicyList.compiling(type, facts));
  }

  /** Like `of`, as work that can be suspended between some policies. */
  static *compiling(type: PolicyType, facts: readonly PolicyFacts[]): Work<PolicyList> {
    const policies: CompiledPolicy[] = [];
    let spent = 0;
    for (const policy of facts) {
      const compiled = new CompiledPolicy(policy, policy.isDefault ? lastRank : policies.length);
      policies.push(compiled);
      spent += recordCost + compiled.sourceCount * referenceCost;
      if (spent < recordsAtOnce * recordCost) continue;
      yield spent;
      spent = 0;
    }
    return yield* PolicyList.#indexing(
      type,
      policies.sort((a, b) => (a.rank < b.rank ? -1 : a.rank > b.rank ? 1 : 0)),
    );
  }

  static *#indexing(type: PolicyType, policies: readonly CompiledPolicy[]): Work<PolicyList> {
    const asked = policies.filter(isEvaluated);
    const byResource = new Map<string, CompiledPolicy[]>();
    let spent = 0;
    for (const policy of asked) {
      for (const id of resourcesOf(policy)) {
        const list = byResource.get(id);
        if (list === undefined) byResource.set(id, [policy]);
        else list.push(policy);
        spent += recordCost;
      }
      if (spent < recordsAtOnce * recordCost) continue;
      yield spent;
      spent = 0;
    }
    const indexes = new Map<string, SourceIndex>();
    for (const [id, list] of byResource) {
      indexes.set(id, yield* SourceIndex.compiling(list));
      spent += recordCost;
      if (spent < recordsAtOnce * recordCost) continue;
      yield spent;
      spent = 0;
    }
    yield spent;
    const everywhere = yield* SourceIndex.compiling(asked.filter(({ facts }) => facts.allResources));
    const anywhere = type === "INTERNET" ? yield* SourceIndex.compiling(asked) : SourceIndex.empty;
    return new PolicyList({ type, policies, everywhere, byResource: Table.ofMap(indexes), anywhere });
  }

  find(id: string): CompiledPolicy | undefined {
    return this.policies.find(({ facts }) => facts.id === id);
  }

  /** Adds or replaces a policy. A new policy comes last, before the default policy. */
  *adding(facts: PolicyFacts): Work<PolicyList> {
    const before = this.find(facts.id);
    const rank = facts.isDefault ? lastRank : (before?.rank ?? this.#nextRank());
    return yield* this.#replacing(before, new CompiledPolicy(facts, rank));
  }

  *removing(id: string): Work<PolicyList> {
    const before = this.find(id);
    return before === undefined ? this : yield* this.#replacing(before, undefined);
  }

  /** @param ids all policies of the type, in the order of evaluation */
  *ordering(ids: readonly string[]): Work<PolicyList> {
    yield ids.length * entryCost;
    const one = onlyMoved(this.policies, ids);
    if (one !== undefined) {
      const { policy, previous, next } = one;
      const rank = between(previous?.rank, next?.rank);
      if (rank !== undefined) {
        return yield* (yield* this.#replacing(policy, undefined)).#replacing(undefined, policy.withRank(rank));
      }
    }
    const byId = new Map(this.policies.map((policy) => [policy.facts.id, policy]));
    const wanted = ids.flatMap((id) => {
      const policy = byId.get(id);
      return policy === undefined || policy.facts.isDefault ? [] : [policy];
    });
    yield ids.length * entryCost;
    const unmoved = longestRun(wanted);
    if (wanted.length - unmoved.size > maxMoved) return yield* this.#reordering(wanted);
    // Remove all moved policies before the first insertion, so that two policies never have the same rank.
    let list: PolicyList = this;
    for (const policy of wanted) if (!unmoved.has(policy)) list = yield* list.#replacing(policy, undefined);
    let previous: number | undefined;
    for (const [index, policy] of wanted.entries()) {
      if (unmoved.has(policy)) {
        previous = policy.rank;
        continue;
      }
      const next = wanted.slice(index + 1).find((later) => unmoved.has(later))?.rank;
      const rank = between(previous, next);
      if (rank === undefined) return yield* this.#reordering(wanted);
      list = yield* list.#replacing(undefined, policy.withRank(rank));
      previous = rank;
    }
    return list;
  }

  #nextRank(): number {
    const last = this.policies.at(this.fallback === undefined ? -1 : -2);
    return last === undefined ? 0 : Math.floor(last.rank) + 1;
  }

  *#reordering(wanted: readonly CompiledPolicy[]): Work<PolicyList> {
    const listed = new Set(wanted);
    const left = this.policies.filter((policy) => !listed.has(policy));
    return yield* PolicyList.compiling(
      this.type,
      [...wanted, ...left].map(({ facts }) => facts),
    );
  }

  /** A list without `before` and with `after`, as work that can be suspended between two of their resources. */
  *#replacing(before: CompiledPolicy | undefined, after: CompiledPolicy | undefined): Work<PolicyList> {
    const [was, is] = [before, after].map((policy) =>
      policy !== undefined && isEvaluated(policy) ? policy : undefined,
    );
    const everywhere = [was, is].map((policy) => (policy?.facts.allResources === true ? policy : undefined));
    const oldIds = new Set(was === undefined ? [] : resourcesOf(was));
    const newIds = new Set(is === undefined ? [] : resourcesOf(is));
    const sources = (was?.sourceCount ?? 0) + (is?.sourceCount ?? 0);
    let unpaid = recordCost + this.policies.length * copyCost + sources * referenceCost;
    const byResource: [string, SourceIndex | undefined][] = [];
    for (const id of new Set([...oldIds, ...newIds])) {
      const index = this.byResource.get(id) ?? SourceIndex.empty;
      const changed = yield* index.changing(oldIds.has(id) ? was : undefined, newIds.has(id) ? is : undefined);
      byResource.push([id, changed.policies.length === 0 ? undefined : changed]);
      unpaid += recordCost + index.policies.length * copyCost;
      if (unpaid < recordsAtOnce * recordCost) continue;
      yield unpaid;
      unpaid = 0;
    }
    yield unpaid;
    return new PolicyList({
      type: this.type,
      policies: replaced(this.policies, before, after),
      everywhere:
        everywhere[0] === undefined && everywhere[1] === undefined
          ? this.everywhere
          : yield* this.everywhere.changing(everywhere[0], everywhere[1]),
      byResource: yield* this.byResource.changing(byResource),
      anywhere: this.type === "INTERNET" ? yield* this.anywhere.changing(was, is) : this.anywhere,
    });
  }
}

/**
 * Whether a policy is evaluated in its turn. Inactive policies are skipped, and the default policy only decides at the
 * end.
 */
function isEvaluated({ facts }: CompiledPolicy): boolean {
  return facts.active && !facts.isDefault;
}

/** The resources by which the policy is indexed. Empty for a policy for all resources. */
function resourcesOf({ facts }: CompiledPolicy): readonly string[] {
  return facts.allResources ? [] : [...new Set(facts.resources)];
}

/** A rank between two others. Undefined if no number lies between them. */
function between(previous: number | undefined, next: number | undefined): number | undefined {
  if (previous === undefined) return next === undefined ? 0 : next - 1;
  if (next === undefined) return previous + 1;
  const middle = (previous + next) / 2;
  return previous < middle && middle < next ? middle : undefined;
}

/** A moved policy and its new neighbors. */
interface MovedPolicy {
  readonly policy: CompiledPolicy;
  readonly previous: CompiledPolicy | undefined;
  readonly next: CompiledPolicy | undefined;
}

/**
 * The only policy that moved, if all others keep their order. This is the usual case, and it takes linear time.
 *
 * @returns undefined if nothing moved, several policies moved, or the default policy moved
 */
function onlyMoved(policies: readonly CompiledPolicy[], ids: readonly string[]): MovedPolicy | undefined {
  if (policies.length !== ids.length) return undefined;
  const isAt = (index: number, wanted: number) => policies[index]?.facts.id === ids[wanted];
  let first = 0;
  while (first < ids.length && isAt(first, first)) first += 1;
  let last = ids.length - 1;
  while (last > first && isAt(last, last)) last -= 1;
  if (first >= last) return undefined;
  const later = isAt(first, last);
  for (let index = first; index < last; index += 1) {
    if (!(later ? isAt(index + 1, index) : isAt(index, index + 1))) return undefined;
  }
  if (!later && !isAt(last, first)) return undefined;
  const policy = policies[later ? first : last];
  if (policy === undefined || policy.facts.isDefault) return undefined;
  const [previous, next] = later ? [policies[last], policies[last + 1]] : [policies[first - 1], policies[first]];
  if (previous?.facts.isDefault === true) return undefined;
  return { policy, previous, next: next?.facts.isDefault === true ? undefined : next };
}

/** The largest set of policies that are already in the desired order: the longest run of increasing ranks. */
function longestRun(wanted: readonly CompiledPolicy[]): ReadonlySet<CompiledPolicy> {
  /**
   * `ends` holds the last policy of the best run of each length. `follows` holds the predecessor of each policy in its
   * run.
   */
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
