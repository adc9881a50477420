import type { PolicyType } from "@gatehouse/contract/records/policy";
import { finish, recordCost, recordsAtOnce, referenceCost, type Work } from "../work.ts";
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
  withPolicy(facts: PolicyFacts): PolicyList {
    const before = this.find(facts.id);
    const rank = facts.isDefault ? lastRank : (before?.rank ?? this.#nextRank());
    return this.#replaced(before, new CompiledPolicy(facts, rank));
  }

  without(id: string): PolicyList {
    const before = this.find(id);
    return before === undefined ? this : this.#replaced(before, undefined);
  }

  /** @param ids all policies of the type, in the order of evaluation */
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
    const unmoved = longestRun(wanted);
    if (wanted.length - unmoved.size > maxMoved) return this.#reordered(wanted);
    const moved = wanted.filter((policy) => !unmoved.has(policy));
    // Remove all moved policies before the first insertion, so that two policies never have the same rank.
    let list = moved.reduce<PolicyList>((rest, policy) => rest.#replaced(policy, undefined), this);
    let previous: number | undefined;
    for (const [index, policy] of wanted.entries()) {
      if (unmoved.has(policy)) {
        previous = policy.rank;
        continue;
      }
      const next = wanted.slice(index + 1).find((later) => unmoved.has(later))?.rank;
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
    const [was, is] = [before, after].map((policy) =>
      policy !== undefined && isEvaluated(policy) ? policy : undefined,
    );
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

/** The largest set of policies that are already in the wanted order: the longest run of increasing ranks. */
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
