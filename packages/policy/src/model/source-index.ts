import { copyCost, recordCost, recordsAtOnce, referenceCost, type Work } from "../work.ts";
import { type CompiledPolicy, replaced } from "./compiled-policy.ts";
import { nextGeneration } from "./generation.ts";
import { anyoneHash, hasHash, type Source } from "./source.ts";
import { Table } from "./table.ts";

type Policies = readonly CompiledPolicy[];

const none: Policies = [];

/**
 * An index with at most this many policies, and this many sources in total, is scanned. A larger one is looked up by
 * id.
 */
const maxScannedPolicies = 12;
const maxScannedSources = 64;

/**
 * Policies by the kind of source to which they apply, each list in order of rank. A policy is in the list of each of
 * its sources.
 */
interface Parts {
  readonly anyone: Policies;
  readonly anyGroup: Policies;
  readonly anyDevice: Policies;
  readonly byUser: Table<Policies>;
  readonly byGroup: Table<Policies>;
  readonly byDevice: Table<Policies>;
}

/**
 * Active policies for one destination, indexed by source. The time of a decision must not grow with the number of
 * policies that apply to other people. Immutable.
 */
export class SourceIndex {
  static readonly empty = new SourceIndex(none, undefined);

  /** Policies in order of rank. */
  readonly policies: Policies;
  readonly generation = nextGeneration();
  /** Hashes of the sources of all policies, and for each hash the index of its policy. Empty if there are parts. */
  readonly #hashes: readonly number[];
  readonly #policyIndexes: readonly number[];
  /** Undefined for a small index, which is scanned. */
  readonly #parts: Parts | undefined;

  private constructor(policies: Policies, parts: Parts | undefined) {
    this.policies = policies;
    const scanned = parts === undefined ? policies : none;
    this.#hashes = scanned.flatMap(({ hashes }) => hashes);
    this.#policyIndexes = scanned.flatMap(({ hashes }, index) => hashes.map(() => index));
    this.#parts = parts;
  }

  /**
   * Indexes policies, as work that can be suspended between two of them.
   *
   * @param policies in order of rank
   */
  static *compiling(policies: Policies): Work<SourceIndex> {
    return new SourceIndex(policies, areFew(policies) ? undefined : yield* compilingParts(policies));
  }

  /** An index without `before` and with `after`. Either may be undefined. */
  *changing(before: CompiledPolicy | undefined, after: CompiledPolicy | undefined): Work<SourceIndex> {
    const policies = replaced(this.policies, before, after);
    if (this.#parts === undefined || areFew(policies)) return yield* SourceIndex.compiling(policies);
    return new SourceIndex(policies, yield* changingParts(this.#parts, before, after));
  }

  /** Policies that apply to every source, in order of rank. */
  get forAnyone(): Policies {
    return this.#parts === undefined ? none : this.#parts.anyone;
  }

  /** The other policies that apply to a source, in order of rank. */
  naming(source: Source): Policies {
    return this.#parts === undefined ? this.#scan(source) : lookUp(this.#parts, source);
  }

  #scan(source: Source): Policies {
    const hashes = this.#hashes;
    let naming: CompiledPolicy[] | undefined;
    for (let index = 0; index < hashes.length; index += 1) {
      const hash = hashes[index] ?? anyoneHash;
      if (hash !== anyoneHash && !hasHash(source, hash)) continue;
      const policy = this.policies[this.#policyIndexes[index] ?? 0];
      // A policy that names the source twice is already in the list.
      if (policy === undefined || policy === naming?.at(-1) || !policy.appliesTo(source)) continue;
      if (naming === undefined) naming = [policy];
      else naming.push(policy);
    }
    return naming ?? none;
  }
}

function areFew(policies: Policies): boolean {
  if (policies.length > maxScannedPolicies) return false;
  return policies.reduce((sum, { hashes }) => sum + hashes.length, 0) <= maxScannedSources;
}

function lookUp(parts: Parts, { userId, groupIds, deviceId }: Source): Policies {
  const { anyGroup, anyDevice, byUser, byGroup, byDevice } = parts;
  const lists = [byUser.get(userId), ...groupIds.map((id) => byGroup.get(id))];
  if (groupIds.length > 0) lists.push(anyGroup);
  if (deviceId !== undefined) lists.push(anyDevice, byDevice.get(deviceId));
  const [first = none, ...others] = lists.filter((list) => list !== undefined && list.length > 0);
  if (others.length === 0) return first;
  return [...new Set([first, ...others].flatMap((list) => list ?? none))].sort((a, b) => a.rank - b.rank);
}

function* compilingParts(policies: Policies): Work<Parts> {
  const byUser = new Map<string, CompiledPolicy[]>();
  const byGroup = new Map<string, CompiledPolicy[]>();
  const byDevice = new Map<string, CompiledPolicy[]>();
  let spent = 0;
  for (const policy of policies) {
    spent += recordCost;
    if (!policy.forAnyone) {
      for (const id of policy.users) append(byUser, id, policy);
      for (const id of policy.groups) append(byGroup, id, policy);
      for (const id of policy.devices) append(byDevice, id, policy);
      spent += policy.sourceCount * referenceCost;
    }
    if (spent < recordsAtOnce * recordCost) continue;
    yield spent;
    spent = 0;
  }
  yield spent;
  return {
    anyone: policies.filter(({ forAnyone }) => forAnyone),
    anyGroup: policies.filter(({ forAnyone, facts }) => !forAnyone && facts.allGroups),
    anyDevice: policies.filter(({ forAnyone, facts }) => !forAnyone && facts.allDevices),
    byUser: Table.ofMap<Policies>(byUser),
    byGroup: Table.ofMap<Policies>(byGroup),
    byDevice: Table.ofMap<Policies>(byDevice),
  };
}

function append(lists: Map<string, CompiledPolicy[]>, id: string, policy: CompiledPolicy): void {
  const list = lists.get(id);
  if (list === undefined) lists.set(id, [policy]);
  else list.push(policy);
}

function* changingParts(
  parts: Parts,
  before: CompiledPolicy | undefined,
  after: CompiledPolicy | undefined,
): Work<Parts> {
  const listed = (belongs: (policy: CompiledPolicy) => boolean) =>
    [before, after].map((policy) => (policy !== undefined && belongs(policy) ? policy : undefined)) as [
      CompiledPolicy | undefined,
      CompiledPolicy | undefined,
    ]; // two items, like the array that was mapped
  const flag = (list: Policies, belongs: (policy: CompiledPolicy) => boolean) => {
    const [old, next] = listed(belongs);
    return old === undefined && next === undefined ? list : replaced(list, old, next);
  };
  const [old, next] = listed(({ forAnyone }) => !forAnyone);
  const named = function* (
    table: Table<Policies>,
    names: (policy: CompiledPolicy) => ReadonlySet<string>,
  ): Work<Table<Policies>> {
    const ids = new Set([...(old === undefined ? [] : names(old)), ...(next === undefined ? [] : names(next))]);
    const lists: [string, Policies | undefined][] = [];
    let spent = 0;
    for (const id of ids) {
      const without = old !== undefined && names(old).has(id) ? old : undefined;
      const withOne = next !== undefined && names(next).has(id) ? next : undefined;
      const former = table.get(id) ?? none;
      const list = replaced(former, without, withOne);
      lists.push([id, list.length === 0 ? undefined : list]);
      spent += 2 * referenceCost + former.length * copyCost;
      if (spent < recordsAtOnce * recordCost) continue;
      yield spent;
      spent = 0;
    }
    yield spent;
    return yield* table.changing(lists);
  };
  return {
    anyone: flag(parts.anyone, ({ forAnyone }) => forAnyone),
    anyGroup: flag(parts.anyGroup, ({ forAnyone, facts }) => !forAnyone && facts.allGroups),
    anyDevice: flag(parts.anyDevice, ({ forAnyone, facts }) => !forAnyone && facts.allDevices),
    byUser: yield* named(parts.byUser, ({ users }) => users),
    byGroup: yield* named(parts.byGroup, ({ groups }) => groups),
    byDevice: yield* named(parts.byDevice, ({ devices }) => devices),
  };
}
