/** Compares a tenant's records with a document, in memory and in linear time. */

import type { ProblemField } from "@gatehouse/contract/problem";
import {
  type Configuration,
  type ConfigurationChange,
  type ConfiguredKind,
  configuredKinds,
  type FieldChange,
} from "@gatehouse/contract/records/configuration";
import type { PolicyType } from "@gatehouse/contract/records/policy";
import type { Work } from "@gatehouse/policy/work";
import type { DesiredRecords } from "../document/desired-records.ts";
import { itemCost, itemsIn, recordCost, smallRecordCost } from "../document/record-costs.ts";
import { type SettingsOf, setsOf } from "../document/settings.ts";
import type { TenantRecord, TenantRecords } from "../tenant-records.ts";
import { fieldChanges } from "./field-changes.ts";
import { movedNames } from "./moved-names.ts";
import { type NextRecord, type NextRecords, planNextRecords } from "./next-records.ts";

interface ChangeBase<K extends ConfiguredKind> {
  readonly kind: K;
  readonly key: string;
  /** True for a record outside the document. It only loses deleted records, and is not written itself. */
  readonly implied: boolean;
}

export type RecordChange<K extends ConfiguredKind> = ChangeBase<K> &
  (
    | { readonly action: "create"; readonly after: SettingsOf[K]; readonly pointer: string }
    | {
        readonly action: "update";
        readonly id: string;
        readonly before: SettingsOf[K];
        readonly after: SettingsOf[K];
        readonly fields: readonly FieldChange[];
        readonly pointer: string | undefined;
      }
    | { readonly action: "delete"; readonly id: string; readonly before: SettingsOf[K] }
  );

export type RecordChanges = { readonly [K in ConfiguredKind]: readonly RecordChange<K>[] };

export interface TenantPlan {
  readonly changes: RecordChanges;
  readonly next: NextRecords;
  readonly problems: readonly ProblemField[];
  /** The position of each policy of the listed types, by name. */
  readonly places: ReadonlyMap<string, number>;
}

/** @param existingDevices public keys of the tenant's devices that the document lists */
export function* planChanges(
  current: TenantRecords,
  document: Configuration,
  existingDevices: ReadonlySet<string>,
): Work<TenantPlan> {
  const { wanted, next, problems } = yield* planNextRecords(current, document, existingDevices);
  const places = positionsOf(current, wanted);
  const moves = yield* movesOf(current, wanted, places);
  return {
    changes: {
      group: yield* compare("group", current.group, next.group),
      user: yield* compare("user", current.user, next.user),
      protocol: yield* compare("protocol", current.protocol, next.protocol),
      gateway: yield* compare("gateway", current.gateway, next.gateway),
      resource: yield* compare("resource", current.resource, next.resource),
      "admission-rule": yield* compare("admission-rule", current["admission-rule"], next["admission-rule"]),
      policy: yield* compare("policy", current.policy, next.policy, moves),
      "identity-provider": yield* compare("identity-provider", current["identity-provider"], next["identity-provider"]),
      "tenant-settings": yield* compare("tenant-settings", current["tenant-settings"], next["tenant-settings"]),
    },
    next,
    problems,
    places,
  };
}

function* compare<K extends ConfiguredKind>(
  kind: K,
  current: ReadonlyMap<string, TenantRecord<K>>,
  next: ReadonlyMap<string, NextRecord<K>>,
  moves: ReadonlyMap<string, FieldChange> = new Map(),
): Work<readonly RecordChange<K>[]> {
  const changes: RecordChange<K>[] = [];
  const deleted: RecordChange<K>[] = [];
  for (const [key, { id, settings }] of current) {
    yield smallRecordCost;
    const after = next.get(key);
    if (after === undefined || isOther(settings, after.settings)) {
      deleted.push({ action: "delete", kind, key, id, before: settings, implied: false });
    }
  }
  for (const [key, { settings: after, pointer }] of next) {
    yield recordCost + itemsIn(after) * itemCost;
    const known = current.get(key);
    if (known === undefined || isOther(known.settings, after)) {
      // Only entries of the document can be new.
      changes.push({ action: "create", kind, key, after, pointer: pointer ?? "", implied: false });
      continue;
    }
    const { id, settings: before } = known;
    const move = moves.get(key);
    const fields = [...(move === undefined ? [] : [move]), ...(fieldChanges(before, after, setsOf[kind]) ?? [])];
    if (fields.length === 0) continue;
    changes.push({ action: "update", kind, key, id, before, after, fields, pointer, implied: pointer === undefined });
  }
  return [...changes, ...deleted];
}

/** Whether two policies are different in spite of their equal names: the type of a policy never changes. */
function isOther(before: object, after: object): boolean {
  return "allGroups" in before ? typeOf(before) !== typeOf(after) : false;
}

function typeOf(settings: object): unknown {
  return "type" in settings ? settings.type : undefined;
}

/** Positions 1, 2, 3 … within each listed type, the default policy last. */
function positionsOf(current: TenantRecords, { orders }: DesiredRecords): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [type, names] of orders) {
    for (const [index, name] of names.entries()) places.set(name, index + 1);
    for (const [name, { special, settings }] of current.policy) {
      if (special && settings.type === type) places.set(name, names.length + 1);
    }
  }
  return places;
}

function* movesOf(
  current: TenantRecords,
  { orders }: DesiredRecords,
  places: ReadonlyMap<string, number>,
): Work<ReadonlyMap<string, FieldChange>> {
  const moves = new Map<string, FieldChange>();
  for (const [type, names] of orders) {
    yield names.length * smallRecordCost;
    const kept = names.filter((name) => isPlain(current.policy.get(name), type));
    const before = [...kept].sort((a, b) => orderOf(current, a) - orderOf(current, b));
    for (const name of movedNames(before, kept)) {
      moves.set(name, { field: "order", before: orderOf(current, name), after: places.get(name) });
    }
  }
  return moves;
}

function isPlain(policy: TenantRecord<"policy"> | undefined, type: PolicyType): boolean {
  return policy !== undefined && !policy.special && policy.settings.type === type;
}

function orderOf(current: TenantRecords, name: string): number {
  return current.policy.get(name)?.order ?? 0;
}

/** The changes of all kinds, in the order of the document's sections. */
export function allChanges(changes: RecordChanges): readonly RecordChange<ConfiguredKind>[] {
  return configuredKinds.flatMap((kind): readonly RecordChange<ConfiguredKind>[] => changes[kind]);
}

/** A change as the API shows it. */
export function changeView(change: RecordChange<ConfiguredKind>): ConfigurationChange {
  const settings = change.action === "delete" ? change.before : change.after;
  return {
    action: change.action,
    kind: change.kind,
    name: "email" in settings ? settings.email : settings.name,
    ...("allGroups" in settings ? { policyType: settings.type } : {}),
    ...(change.implied ? { implied: true } : {}),
    fields: change.action === "update" ? [...change.fields] : [],
  };
}
