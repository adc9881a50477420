import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";
import type { Model } from "../model/model.ts";
import { entryCost, type Work, yieldAfter } from "../work.ts";
import { mayAllow, sourceCertainty } from "./access-level.ts";
import { ByteColumn, IntColumn, NumberLists } from "./columns.ts";
import { allowBit, beforeSide, denyBit, doneBit, onSides } from "./level-states.ts";
import type { MergedPolicy } from "./merged-policies.ts";
import type { KnownCircumstances } from "./open-circumstances.ts";
import type { Certainty } from "./open-rule.ts";
import { inputsOf } from "./rule-inputs.ts";

/** A policy in a chain, with the bits that it sets in a state (`level-states.ts`). */
export interface ChainEntry {
  readonly policy: CompiledPolicy;
  /** The models in which the policy exists. */
  readonly sides: number;
  /** Whether the entry applies to every destination of the chain. */
  readonly everywhere: boolean;
  /** Bits set if the policy certainly qualifies. */
  readonly certainBits: number;
  /** Bits set if the policy perhaps qualifies. */
  readonly possibleBits: number;
  /** Undefined if the policy is unconditional. */
  readonly rule: CompiledRule | undefined;
  /** The only destination of the entry, if the rule reads the resource. Otherwise undefined. */
  readonly resource: CompiledResource | undefined;
}

/**
 * The part of a principal that a rule reads. A rule that ignores the device has one result for all devices of a user.
 */
export const ruleScope = { none: 0, user: 1, device: 2 } as const;

/** A rule of some entries, about one resource if the rule reads the resource. It has one result for a principal. */
export interface Condition {
  readonly rule: CompiledRule;
  readonly resource: CompiledResource | undefined;
}

/** Destinations that the same entries name. A principal has the same access to all of them. */
export interface DestinationClass {
  /** Positions of the entries that name these destinations, in ascending order. */
  readonly positions: readonly number[];
  readonly resources: readonly CompiledResource[];
}

/** Positions of entries by the id that they name, in ascending order. */
type PositionsById = ReadonlyMap<string, readonly number[]>;

/**
 * The policies of one type in the order of evaluation, from the models before and after a change at once. Entries are
 * indexed by the sources that they name. The position of an entry is its index in `entries`.
 */
export interface PolicyChain {
  readonly entries: readonly ChainEntry[];
  /** `certainBits` and `possibleBits` of each entry. Kept in columns for the loop over all entries of a user. */
  readonly certainBits: ByteColumn;
  readonly possibleBits: ByteColumn;
  /** The `ruleScope` of each entry. */
  readonly ruleScopes: ByteColumn;
  readonly conditions: readonly Condition[];
  /** The index of each entry's condition. Entries without a rule have none, and hold 0. */
  readonly conditionOf: IntColumn;
  /** 1 for entries that apply to every destination. */
  readonly everywhere: ByteColumn;
  readonly forAnyone: readonly number[];
  readonly forAnyGroup: readonly number[];
  readonly forAnyDevice: readonly number[];
  readonly byUser: PositionsById;
  readonly byGroup: PositionsById;
  readonly byDevice: PositionsById;
  /** The first class holds the destinations that no entry names. */
  readonly classes: readonly DestinationClass[];
  /** The number of destinations in each class. */
  readonly classSizes: IntColumn;
  /** Indexes of the classes that an entry names, by position. Empty for entries that apply everywhere. */
  readonly namedClasses: NumberLists;
  /** The number of destinations in these classes, by position. */
  readonly namedDestinations: IntColumn;
  readonly destinationCount: number;
  /** Bits that the default policies set if no other policy decided. */
  readonly fallbackBits: number;
}

export interface ChainParts {
  readonly before: Model;
  readonly after: Model;
  /** Merged policies in the order of evaluation. */
  readonly policies: readonly MergedPolicy[];
  /**
   * Resources of the chain's type. Undefined for the internet, where every policy applies regardless of its
   * destinations.
   */
  readonly resources: readonly CompiledResource[] | undefined;
  readonly fallbackBits: number;
  readonly circumstances: KnownCircumstances;
}

/** Builds a chain, as work that can be suspended between some policies and resources. */
export function* policyChain(parts: ChainParts): Work<PolicyChain> {
  const entries: ChainEntry[] = [];
  let unpaid = 0;
  for (const merged of parts.policies) {
    const more = yield* chainEntries(merged, parts);
    for (const entry of more) entries.push(entry);
    unpaid += (1 + more.length) * entryCost;
    if (unpaid < yieldAfter) continue;
    yield unpaid;
    unpaid = 0;
  }
  const classes = yield* destinationClasses(entries, parts.resources);
  const certainBits = ByteColumn.from(entries, ({ certainBits }) => certainBits);
  const possibleBits = ByteColumn.from(entries, ({ possibleBits }) => possibleBits);
  const ruleScopes = ByteColumn.from(entries, ({ rule }) => {
    if (rule === undefined) return ruleScope.none;
    return inputsOf(rule).device ? ruleScope.device : ruleScope.user;
  });
  const everywhere = ByteColumn.from(entries, (entry) => (entry.everywhere ? 1 : 0));
  yield entries.length * entryCost;
  return {
    entries,
    certainBits,
    possibleBits,
    ruleScopes,
    ...conditionsOf(entries),
    everywhere,
    ...(yield* bySources(
      entries,
      (id) => parts.before.groups.get(id) !== undefined || parts.after.groups.get(id) !== undefined,
    )),
    classes,
    ...(yield* namedClasses(entries, classes)),
    destinationCount: parts.resources === undefined ? 1 : parts.resources.length,
    fallbackBits: parts.fallbackBits,
  };
}

/** @throws RangeError for an index outside the chain */
export function conditionAt({ conditions }: PolicyChain, index: number): Condition {
  const found = conditions[index];
  if (found === undefined) throw new RangeError(`Condition ${index} is out of range of ${conditions.length}.`);
  return found;
}

/** @throws RangeError for an index outside the chain */
export function classAt({ classes }: PolicyChain, index: number): DestinationClass {
  const found = classes[index];
  if (found === undefined) throw new RangeError(`Class ${index} is out of range of ${classes.length} classes.`);
  return found;
}

/** The bits that a policy sets in the state of one model. */
export function outcomeBits(policy: CompiledPolicy, certainty: Certainty): number {
  if (certainty === "no") return 0;
  return (mayAllow(policy) ? allowBit : denyBit) | (certainty === "yes" ? doneBit : 0);
}

/** No entry for a policy that never qualifies, one per resource if its rule reads the resource, otherwise one. */
function* chainEntries({ policy, sides }: MergedPolicy, parts: ChainParts): Work<readonly ChainEntry[]> {
  const { resources } = parts;
  const { facts } = policy;
  const source = sourceCertainty(policy, parts.circumstances);
  if (source === "no") return [];
  const model = sides === beforeSide ? parts.before : parts.after;
  const rule = facts.action ? model.rules.get(facts.rule) : undefined;
  if (facts.action && (rule === undefined || rule.facts.type === "DENY")) return [];
  const customRule = rule?.facts.type === "CUSTOM" ? rule : undefined;
  const entry: ChainEntry = {
    policy,
    sides,
    everywhere: resources === undefined || facts.allResources,
    certainBits: onSides(outcomeBits(policy, source), sides),
    possibleBits: onSides(outcomeBits(policy, "perhaps"), sides),
    rule: customRule,
    resource: undefined,
  };
  if (resources === undefined || customRule === undefined || !inputsOf(customRule).resource) return [entry];
  yield resources.length * entryCost;
  const named = facts.allResources ? undefined : new Set(facts.resources);
  return resources
    .filter(({ id }) => named === undefined || named.has(id))
    .map((resource) => ({ ...entry, everywhere: false, resource }));
}

function conditionsOf(entries: readonly ChainEntry[]) {
  const conditions: Condition[] = [];
  const conditionOf = new IntColumn(entries.length);
  const known = new Map<CompiledRule, Map<CompiledResource | undefined, number>>();
  for (const [position, { rule, resource }] of entries.entries()) {
    if (rule === undefined) continue;
    let byResource = known.get(rule);
    if (byResource === undefined) {
      byResource = new Map();
      known.set(rule, byResource);
    }
    let index = byResource.get(resource);
    if (index === undefined) {
      index = conditions.push({ rule, resource }) - 1;
      byResource.set(resource, index);
    }
    conditionOf.set(position, index);
  }
  return { conditions, conditionOf };
}

/** @param isGroup whether a group exists; a policy for a missing group applies to nobody */
function* bySources(entries: readonly ChainEntry[], isGroup: (id: string) => boolean) {
  const forAnyone: number[] = [];
  const forAnyGroup: number[] = [];
  const forAnyDevice: number[] = [];
  const byUser = new Map<string, number[]>();
  const byGroup = new Map<string, number[]>();
  const byDevice = new Map<string, number[]>();
  let unpaid = 0;
  for (const [position, { policy }] of entries.entries()) {
    unpaid += (1 + policy.sourceCount) * entryCost;
    if (unpaid >= yieldAfter) {
      yield unpaid;
      unpaid = 0;
    }
    if (policy.forAnyone) {
      forAnyone.push(position);
      continue;
    }
    if (policy.facts.allGroups) forAnyGroup.push(position);
    if (policy.facts.allDevices) forAnyDevice.push(position);
    for (const id of policy.users) append(byUser, id, position);
    for (const id of policy.groups) if (isGroup(id)) append(byGroup, id, position);
    for (const id of policy.devices) append(byDevice, id, position);
  }
  return { forAnyone, forAnyGroup, forAnyDevice, byUser, byGroup, byDevice };
}

interface MutableClass extends DestinationClass {
  readonly resources: CompiledResource[];
}

function* destinationClasses(
  entries: readonly ChainEntry[],
  resources: readonly CompiledResource[] | undefined,
): Work<readonly DestinationClass[]> {
  const unnamed: MutableClass = { positions: [], resources: [] };
  if (resources === undefined) return [unnamed];
  const positionsById = new Map<string, number[]>();
  let unpaid = 0;
  for (const [position, { policy, everywhere, resource }] of entries.entries()) {
    unpaid += (1 + policy.facts.resources.length) * entryCost;
    if (unpaid >= yieldAfter) {
      yield unpaid;
      unpaid = 0;
    }
    if (everywhere) continue;
    if (resource !== undefined) append(positionsById, resource.id, position);
    else for (const id of new Set(policy.facts.resources)) append(positionsById, id, position);
  }
  const classes = [unnamed];
  const byKey = new Map<string, MutableClass>();
  for (const resource of resources) {
    const positions = positionsById.get(resource.id);
    unpaid += (1 + (positions?.length ?? 0)) * entryCost;
    if (unpaid >= yieldAfter) {
      yield unpaid;
      unpaid = 0;
    }
    if (positions === undefined) {
      unnamed.resources.push(resource);
      continue;
    }
    const key = positions.join();
    const known = byKey.get(key);
    if (known !== undefined) {
      known.resources.push(resource);
      continue;
    }
    const named = { positions, resources: [resource] };
    byKey.set(key, named);
    classes.push(named);
  }
  return classes;
}

function* namedClasses(entries: readonly ChainEntry[], classes: readonly DestinationClass[]) {
  const classSizes = new IntColumn(classes.length);
  const namedDestinations = new IntColumn(entries.length);
  const lists = entries.map((): number[] => []);
  let unpaid = 0;
  for (const [index, { positions, resources }] of classes.entries()) {
    classSizes.set(index, resources.length);
    unpaid += (1 + positions.length) * entryCost;
    if (unpaid >= yieldAfter) {
      yield unpaid;
      unpaid = 0;
    }
    for (const position of positions) {
      lists[position]?.push(index);
      namedDestinations.add(position, resources.length);
    }
  }
  return { classSizes, namedClasses: NumberLists.of(lists), namedDestinations };
}

function append(lists: Map<string, number[]>, id: string, position: number): void {
  const list = lists.get(id);
  if (list === undefined) lists.set(id, [position]);
  else list.push(position);
}
