import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";
import type { Model } from "../model/model.ts";
import { mayAllow, sourceCertainty } from "./access-level.ts";
import { allowBit, beforeSide, denyBit, doneBit, onSides } from "./level-states.ts";
import type { MergedPolicy } from "./merged-policies.ts";
import type { KnownCircumstances } from "./open-circumstances.ts";
import { type Certainty, inputsOf } from "./open-rule.ts";

/** A policy of a chain, with what it does to a state. */
export interface ChainEntry {
  readonly policy: CompiledPolicy;
  readonly sides: number;
  /** Whether it is for every destination of the chain. */
  readonly everywhere: boolean;
  /** The bits that it sets where it certainly qualifies, and where it perhaps does. */
  readonly certainBits: number;
  readonly possibleBits: number;
  /** Undefined where it qualifies whoever asks for whatever. */
  readonly rule: CompiledRule | undefined;
  /** What the entry is about alone, where the rule gives different answers about different resources. */
  readonly resource: CompiledResource | undefined;
  /** Whether the rule asks about the device. */
  readonly asksDevice: boolean;
}

/** What an entry has to be asked about: a rule that does not read the device gives the same for all devices of a user. */
export const asking = { nothing: 0, user: 1, device: 2 } as const;

/** Destinations about which the same policies decide, so that whoever reaches one reaches all. */
export interface DestinationClass {
  /** Of the entries that name them. */
  readonly places: readonly number[];
  readonly resources: readonly CompiledResource[];
}

/** Ids, and the places of the entries that name them, in order. */
type PlacesById = ReadonlyMap<string, readonly number[]>;

/**
 * The policies that decide about some destinations of one type, of two models at once, found by who asks. The entries' places are the
 * order of evaluation.
 */
export interface PolicyChain {
  readonly entries: readonly ChainEntry[];
  /** Of each entry, for those who go through many: the bits that it certainly sets, and how it is asked. */
  readonly certainBits: Uint8Array;
  readonly askings: Uint8Array;
  readonly everywhere: Uint8Array;
  readonly forAnyone: readonly number[];
  readonly forAnyGroup: readonly number[];
  readonly forAnyDevice: readonly number[];
  readonly byUser: PlacesById;
  readonly byGroup: PlacesById;
  readonly byDevice: PlacesById;
  /** The first class is of destinations that no entry names. */
  readonly classes: readonly DestinationClass[];
  /** How many destinations each class has. */
  readonly classSizes: Int32Array;
  readonly destinationCount: number;
  /** The classes that entry `n` names: those from `classStarts[n]` to `classStarts[n + 1]`. */
  readonly classStarts: Int32Array;
  readonly namedClasses: Int32Array;
  /** How many destinations each entry names. */
  readonly namedCounts: Int32Array;
  /** What decides in each model when no policy did: bits to set. */
  readonly fallbackBits: number;
}

export interface ChainParts {
  readonly before: Model;
  readonly after: Model;
  /** In order of evaluation. */
  readonly policies: readonly MergedPolicy[];
  /** Of the chain's type. Undefined: the chain is about the internet, for which every policy decides whatever it names. */
  readonly resources: readonly CompiledResource[] | undefined;
  readonly fallbackBits: number;
  readonly circumstances: KnownCircumstances;
}

export function policyChain(parts: ChainParts): PolicyChain {
  const entries = parts.policies.flatMap((merged) => chainEntries(merged, parts));
  const classes = destinationClasses(entries, parts.resources);
  return {
    entries,
    certainBits: Uint8Array.from(entries, ({ certainBits }) => certainBits),
    askings: Uint8Array.from(entries, ({ rule, asksDevice }) => {
      return rule === undefined ? asking.nothing : asksDevice ? asking.device : asking.user;
    }),
    everywhere: Uint8Array.from(entries, ({ everywhere }) => (everywhere ? 1 : 0)),
    ...bySources(
      entries,
      (id) => parts.before.groups.get(id) !== undefined || parts.after.groups.get(id) !== undefined,
    ),
    classes,
    classSizes: Int32Array.from(classes, ({ resources }) => resources.length),
    destinationCount: parts.resources === undefined ? 1 : parts.resources.length,
    ...classesNamed(entries, classes),
    fallbackBits: parts.fallbackBits,
  };
}

/** What a policy does to a state, on one side. */
export function outcomeBits(policy: CompiledPolicy, certainty: Certainty): number {
  if (certainty === "no") return 0;
  return (mayAllow(policy) ? allowBit : denyBit) | (certainty === "yes" ? doneBit : 0);
}

/** One, or one for each resource, or none for a policy that never qualifies. */
function chainEntries({ policy, sides }: MergedPolicy, parts: ChainParts): readonly ChainEntry[] {
  const { resources } = parts;
  const { facts } = policy;
  const source = sourceCertainty(policy, parts.circumstances);
  if (source === "no") return [];
  const model = sides === beforeSide ? parts.before : parts.after;
  const rule = facts.action ? model.rules.get(facts.rule) : undefined;
  if (facts.action && (rule === undefined || rule.facts.type === "DENY")) return [];
  const reading = rule?.facts.type === "CUSTOM" ? inputsOf(rule) : undefined;
  const entry: ChainEntry = {
    policy,
    sides,
    everywhere: resources === undefined || facts.allResources,
    certainBits: onSides(outcomeBits(policy, source), sides),
    possibleBits: onSides(outcomeBits(policy, "perhaps"), sides),
    rule: reading === undefined ? undefined : rule,
    resource: undefined,
    asksDevice: reading?.device === true,
  };
  if (resources === undefined || reading?.resource !== true) return [entry];
  return resources
    .filter(({ facts: { id } }) => facts.allResources || facts.resources.includes(id))
    .map((resource) => ({ ...entry, everywhere: false, resource }));
}

/** @param isGroup whether there is a group of an id; policies for others are for nobody */
function bySources(entries: readonly ChainEntry[], isGroup: (id: string) => boolean) {
  const forAnyone: number[] = [];
  const forAnyGroup: number[] = [];
  const forAnyDevice: number[] = [];
  const byUser = new Map<string, number[]>();
  const byGroup = new Map<string, number[]>();
  const byDevice = new Map<string, number[]>();
  for (const [place, { policy }] of entries.entries()) {
    if (policy.forAnyone) {
      forAnyone.push(place);
      continue;
    }
    if (policy.facts.allGroups) forAnyGroup.push(place);
    if (policy.facts.allDevices) forAnyDevice.push(place);
    for (const id of policy.users) append(byUser, id, place);
    for (const id of policy.groups) if (isGroup(id)) append(byGroup, id, place);
    for (const id of policy.devices) append(byDevice, id, place);
  }
  return { forAnyone, forAnyGroup, forAnyDevice, byUser, byGroup, byDevice };
}

interface NamedClass extends DestinationClass {
  readonly resources: CompiledResource[];
}

function destinationClasses(
  entries: readonly ChainEntry[],
  resources: readonly CompiledResource[] | undefined,
): readonly NamedClass[] {
  const unnamed: NamedClass = { places: [], resources: [] };
  if (resources === undefined) return [unnamed];
  const placesById = new Map<string, number[]>();
  for (const [place, { policy, everywhere, resource }] of entries.entries()) {
    if (everywhere) continue;
    if (resource !== undefined) append(placesById, resource.facts.id, place);
    else for (const id of new Set(policy.facts.resources)) append(placesById, id, place);
  }
  const classes = [unnamed];
  const byKey = new Map<string, NamedClass>();
  for (const resource of resources) {
    const places = placesById.get(resource.facts.id);
    if (places === undefined) {
      unnamed.resources.push(resource);
      continue;
    }
    const key = places.join();
    const known = byKey.get(key);
    if (known !== undefined) {
      known.resources.push(resource);
      continue;
    }
    const named = { places, resources: [resource] };
    byKey.set(key, named);
    classes.push(named);
  }
  return classes;
}

function classesNamed(entries: readonly ChainEntry[], classes: readonly NamedClass[]) {
  const classStarts = new Int32Array(entries.length + 1);
  for (const { places } of classes)
    for (const place of places) classStarts[place + 1] = (classStarts[place + 1] ?? 0) + 1;
  for (let place = 0; place < entries.length; place += 1) {
    classStarts[place + 1] = (classStarts[place + 1] ?? 0) + (classStarts[place] ?? 0);
  }
  const namedClasses = new Int32Array(classStarts[entries.length] ?? 0);
  const namedCounts = new Int32Array(entries.length);
  const next = classStarts.slice();
  for (const [index, { places, resources }] of classes.entries()) {
    for (const place of places) {
      const at = next[place] ?? 0;
      namedClasses[at] = index;
      next[place] = at + 1;
      namedCounts[place] = (namedCounts[place] ?? 0) + resources.length;
    }
  }
  return { classStarts, namedClasses, namedCounts };
}

function append(lists: Map<string, number[]>, id: string, place: number): void {
  const list = lists.get(id);
  if (list === undefined) lists.set(id, [place]);
  else list.push(place);
}
