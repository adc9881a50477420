import { type CompiledPolicy, replaced } from "./compiled-policy.ts";
import { nextGeneration } from "./generation.ts";
import { anyoneHash, hasHash, type Source } from "./source.ts";
import { Table } from "./table.ts";

type Policies = readonly CompiledPolicy[];

const none: Policies = [];

/** Up to so many policies, which name so many sources together, are asked one by one; others are looked up by who is named in them. */
const maxAskedInTurn = 12;
const maxSourcesInTurn = 64;

/** Policies by what in a source makes them apply, each list in order of rank. A policy stands wherever one of its sources leads. */
interface Parts {
  readonly anyone: Policies;
  readonly anyGroup: Policies;
  readonly anyDevice: Policies;
  readonly byUser: Table<Policies>;
  readonly byGroup: Table<Policies>;
  readonly byDevice: Table<Policies>;
}

/**
 * Active policies for the same destination, from which those for a source are found without asking each: the cost of a decision must
 * not grow with the number of policies that are about other people. Immutable.
 */
export class SourceIndex {
  static readonly empty = new SourceIndex(none, undefined);

  /** In order of rank. */
  readonly policies: Policies;
  readonly generation = nextGeneration();
  /** The hashes of all policies, and for each the place of its policy; empty where there are parts. */
  readonly #hashes: readonly number[];
  readonly #places: readonly number[];
  /** Undefined while there are so few that each is asked. */
  readonly #parts: Parts | undefined;

  private constructor(policies: Policies, parts: Parts | undefined) {
    this.policies = policies;
    const inTurn = parts === undefined ? policies : none;
    this.#hashes = inTurn.flatMap(({ hashes }) => hashes);
    this.#places = inTurn.flatMap(({ hashes }, place) => hashes.map(() => place));
    this.#parts = parts;
  }

  /** @param policies in order of rank */
  static of(policies: Policies): SourceIndex {
    return new SourceIndex(policies, areFew(policies) ? undefined : partsOf(policies));
  }

  /** The same without one policy and with another; either may be undefined. */
  with(before: CompiledPolicy | undefined, after: CompiledPolicy | undefined): SourceIndex {
    const policies = replaced(this.policies, before, after);
    if (this.#parts === undefined || areFew(policies)) return SourceIndex.of(policies);
    return new SourceIndex(policies, partsWith(this.#parts, before, after));
  }

  /** Policies that apply to every source, in order of rank. */
  get forAnyone(): Policies {
    return this.#parts === undefined ? none : this.#parts.anyone;
  }

  /** The other policies that apply to a source, in order of rank. */
  naming(source: Source): Policies {
    return this.#parts === undefined ? this.#askedInTurn(source) : lookedUp(this.#parts, source);
  }

  #askedInTurn(source: Source): Policies {
    const hashes = this.#hashes;
    let naming: CompiledPolicy[] | undefined;
    for (let index = 0; index < hashes.length; index += 1) {
      const hash = hashes[index] ?? anyoneHash;
      if (hash !== anyoneHash && !hasHash(source, hash)) continue;
      const policy = this.policies[this.#places[index] ?? 0];
      // One that names the source twice was found before.
      if (policy === undefined || policy === naming?.at(-1) || !policy.appliesTo(source)) continue;
      if (naming === undefined) naming = [policy];
      else naming.push(policy);
    }
    return naming ?? none;
  }
}

function areFew(policies: Policies): boolean {
  if (policies.length > maxAskedInTurn) return false;
  return policies.reduce((sum, { hashes }) => sum + hashes.length, 0) <= maxSourcesInTurn;
}

function lookedUp(parts: Parts, { userId, groupIds, deviceId }: Source): Policies {
  const { anyGroup, anyDevice, byUser, byGroup, byDevice } = parts;
  const lists = [byUser.get(userId), ...groupIds.map((id) => byGroup.get(id))];
  if (groupIds.length > 0) lists.push(anyGroup);
  if (deviceId !== undefined) lists.push(anyDevice, byDevice.get(deviceId));
  const [first = none, ...others] = lists.filter((list) => list !== undefined && list.length > 0);
  if (others.length === 0) return first;
  return [...new Set([first, ...others].flatMap((list) => list ?? none))].sort((a, b) => a.rank - b.rank);
}

function partsOf(policies: Policies): Parts {
  const byUser = new Map<string, CompiledPolicy[]>();
  const byGroup = new Map<string, CompiledPolicy[]>();
  const byDevice = new Map<string, CompiledPolicy[]>();
  for (const policy of policies) {
    if (policy.forAnyone) continue;
    for (const id of policy.users) append(byUser, id, policy);
    for (const id of policy.groups) append(byGroup, id, policy);
    for (const id of policy.devices) append(byDevice, id, policy);
  }
  return {
    anyone: policies.filter(({ forAnyone }) => forAnyone),
    anyGroup: policies.filter(({ forAnyone, facts }) => !forAnyone && facts.allGroups),
    anyDevice: policies.filter(({ forAnyone, facts }) => !forAnyone && facts.allDevices),
    byUser: Table.of<Policies>(byUser),
    byGroup: Table.of<Policies>(byGroup),
    byDevice: Table.of<Policies>(byDevice),
  };
}

function append(lists: Map<string, CompiledPolicy[]>, id: string, policy: CompiledPolicy): void {
  const list = lists.get(id);
  if (list === undefined) lists.set(id, [policy]);
  else list.push(policy);
}

function partsWith(parts: Parts, before: CompiledPolicy | undefined, after: CompiledPolicy | undefined): Parts {
  const listed = (belongs: (policy: CompiledPolicy) => boolean) =>
    [before, after].map((policy) => (policy !== undefined && belongs(policy) ? policy : undefined)) as [
      CompiledPolicy | undefined,
      CompiledPolicy | undefined,
    ]; // as many as there were
  const flag = (list: Policies, belongs: (policy: CompiledPolicy) => boolean) => {
    const [old, next] = listed(belongs);
    return old === undefined && next === undefined ? list : replaced(list, old, next);
  };
  const named = (table: Table<Policies>, names: (policy: CompiledPolicy) => ReadonlySet<string>) => {
    const [old, next] = listed(({ forAnyone }) => !forAnyone);
    const ids = new Set([...(old === undefined ? [] : names(old)), ...(next === undefined ? [] : names(next))]);
    return table.with(
      [...ids].map((id) => {
        const without = old !== undefined && names(old).has(id) ? old : undefined;
        const withOne = next !== undefined && names(next).has(id) ? next : undefined;
        const list = replaced(table.get(id) ?? none, without, withOne);
        return [id, list.length === 0 ? undefined : list];
      }),
    );
  };
  return {
    anyone: flag(parts.anyone, ({ forAnyone }) => forAnyone),
    anyGroup: flag(parts.anyGroup, ({ forAnyone, facts }) => !forAnyone && facts.allGroups),
    anyDevice: flag(parts.anyDevice, ({ forAnyone, facts }) => !forAnyone && facts.allDevices),
    byUser: named(parts.byUser, ({ users }) => users),
    byGroup: named(parts.byGroup, ({ groups }) => groups),
    byDevice: named(parts.byDevice, ({ devices }) => devices),
  };
}
