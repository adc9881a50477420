/** A tenant's records after a document is applied, and the problems that prevent applying it. */

import type { ProblemField } from "@gatehouse/contract/problem";
import { type Configuration, type ConfiguredKind, configuredKinds } from "@gatehouse/contract/records/configuration";
import type { Work } from "@gatehouse/policy/work";
import { bodyField } from "../../../platform/app-error.ts";
import { siteConflicts } from "../../gateways/gateways.api.ts";
import { type DesiredRecord, type DesiredRecords, policyProblems, readDocument } from "../document/desired-records.ts";
import { entryContext } from "../document/document-entries.ts";
import { documentReferences } from "../document/document-references.ts";
import { itemCost, itemsIn, recordCost, smallRecordCost } from "../document/record-costs.ts";
import { ofEachKind, type PolicySettings, type SettingsOf } from "../document/settings.ts";
import type { TenantRecord, TenantRecords } from "../tenant-records.ts";
import { NameHints } from "./name-hints.ts";

export interface NextRecord<K extends ConfiguredKind> {
  readonly settings: SettingsOf[K];
  /** JSON Pointer of the entry; undefined for a record whose section is not in the document. */
  readonly pointer: string | undefined;
}

export type NextRecords = { readonly [K in ConfiguredKind]: ReadonlyMap<string, NextRecord<K>> };

export interface NextRecordsPlan {
  readonly wanted: DesiredRecords;
  readonly next: NextRecords;
  /** All problems, each with a JSON Pointer into the document. */
  readonly problems: readonly ProblemField[];
}

/** The name of each kind's section in documents. */
export const sectionOf: Readonly<Record<ConfiguredKind, string>> = {
  group: "groups",
  user: "users",
  protocol: "protocols",
  gateway: "gateways",
  resource: "resources",
  "admission-rule": "admissionRules",
  policy: "policies",
  "identity-provider": "identityProviders",
  "tenant-settings": "settings",
};

/** @param existingDevices public keys of the tenant's devices that the document lists */
export function* planNextRecords(
  current: TenantRecords,
  document: Configuration,
  existingDevices: ReadonlySet<string>,
): Work<NextRecordsPlan> {
  const reading = yield* readDocument(document, entryContext(current));
  const { wanted } = reading;
  const problems = [...reading.problems];
  const next: NextRecords = {
    group: yield* section("group"),
    user: yield* section("user"),
    protocol: yield* section("protocol"),
    gateway: yield* section("gateway"),
    resource: yield* section("resource"),
    "admission-rule": yield* section("admission-rule"),
    policy: policies(current, wanted, document, problems),
    "identity-provider": yield* section("identity-provider"),
    "tenant-settings": yield* section("tenant-settings"),
  };

  function* section<K extends Exclude<ConfiguredKind, "policy">>(kind: K): Work<ReadonlyMap<string, NextRecord<K>>> {
    const there = current[kind] as ReadonlyMap<string, TenantRecord<K>>; // the map of this kind
    const listed = wanted[kind] as ReadonlyMap<string, DesiredRecord<K>> | undefined; // as above
    const records = new Map<string, NextRecord<K>>();
    for (const [key, { settings, special }] of there) {
      yield smallRecordCost;
      if (listed === undefined || special) records.set(key, { settings, pointer: undefined });
    }
    for (const [key, record] of listed ?? []) {
      yield smallRecordCost;
      const known = there.get(key);
      const builtIn = known?.special === true && (kind === "protocol" || kind === "admission-rule");
      if (builtIn) problems.push(bodyField(`${record.pointer}/name`, `${key} is built in and cannot be changed`));
      else records.set(key, known === undefined ? record : { ...record, settings: sameIdentity(known, record) });
    }
    return records;
  }

  problems.push(
    ...requiredGroups(current, wanted),
    ...requiredOwner(current, wanted),
    ...(yield* changedTypes(current, wanted)),
    ...conflictingSites(next, wanted),
  );
  yield* missingNames(document, next, wanted, existingDevices, problems);
  yield* combinations(current, next, wanted, problems);
  const afterwards = yield* withoutDeletedReferences(current, next, problems);
  return { wanted, next: afterwards, problems };
}

/**
 * Settings of an existing record. An email address is found regardless of letter case, and keeps its first spelling.
 */
function sameIdentity<K extends ConfiguredKind>(known: TenantRecord<K>, wanted: DesiredRecord<K>): SettingsOf[K] {
  const before: object = known.settings;
  return "email" in before ? { ...wanted.settings, email: before.email } : wanted.settings;
}

function policies(
  current: TenantRecords,
  wanted: DesiredRecords,
  { defaultInternetPolicy: last }: Configuration,
  problems: ProblemField[],
): ReadonlyMap<string, NextRecord<"policy">> {
  const records = new Map<string, NextRecord<"policy">>();
  for (const [name, { settings, special }] of current.policy) {
    if (special && last !== undefined) {
      const { mode, gateways = [], description = "" } = last;
      const changed = { ...settings, mode, gateways: [...new Set(gateways)], description };
      records.set(name, { settings: changed, pointer: "/defaultInternetPolicy" });
    } else if (special || !wanted.policyTypes.has(settings.type)) records.set(name, { settings, pointer: undefined });
  }
  for (const [name, record] of wanted.policy ?? []) {
    const holder = records.get(name);
    if (holder === undefined) records.set(name, record);
    else {
      const whose =
        current.policy.get(name)?.special === true ? "the default policy" : `a policy of type ${holder.settings.type}`;
      problems.push(bodyField(`${record.pointer}/name`, `${JSON.stringify(name)} is the name of ${whose}`));
    }
  }
  return records;
}

function requiredGroups(current: TenantRecords, { group: wanted }: DesiredRecords): readonly ProblemField[] {
  if (wanted === undefined) return [];
  const missing = [...current.group].filter(([name, { special }]) => special && !wanted.has(name));
  const marked = [...wanted.values()].filter(({ settings }) => settings.isSamlDefaultGroup);
  return [
    ...missing.map(([name]) =>
      bodyField(
        "/groups",
        `${JSON.stringify(name)} is the tenant's default group, which cannot be deleted; add it to the list`,
      ),
    ),
    ...(marked.length === 0 ? [bodyField("/groups", "one of the groups must have isSamlDefaultGroup: true")] : []),
    ...marked
      .slice(1)
      .map(({ pointer }) => bodyField(`${pointer}/isSamlDefaultGroup`, "another group in the list already has it")),
  ];
}

function requiredOwner(current: TenantRecords, { user: wanted }: DesiredRecords): readonly ProblemField[] {
  if (wanted === undefined) return [];
  return [...current.user]
    .filter(([key, { special }]) => special && !wanted.has(key))
    .map(([, { settings }]) =>
      bodyField("/users", `${settings.email} owns the tenant and cannot be deleted; add the user to the list`),
    );
}

/** Conflicts between gateways. The section is complete, so it holds all gateways. */
function conflictingSites(
  { gateway: next }: NextRecords,
  { gateway: wanted }: DesiredRecords,
): readonly ProblemField[] {
  if (wanted === undefined) return [];
  return siteConflicts([...next.values()].map(({ settings }) => settings)).map(({ name, field, message }) =>
    bodyField(`${wanted.get(name)?.pointer ?? "/gateways"}/${field}`, message),
  );
}

function* changedTypes(current: TenantRecords, { resource: wanted }: DesiredRecords): Work<readonly ProblemField[]> {
  const problems: ProblemField[] = [];
  for (const [name, { settings, pointer }] of wanted ?? []) {
    yield smallRecordCost;
    const type = current.resource.get(name)?.settings.type ?? settings.type;
    if (type === settings.type) continue;
    const message = `the resource is of type ${type}, which cannot be changed; give it another name`;
    problems.push(bodyField(`${pointer}/type`, message));
  }
  return problems;
}

function* missingNames(
  document: Configuration,
  next: NextRecords,
  wanted: DesiredRecords,
  existingDevices: ReadonlySet<string>,
  problems: ProblemField[],
): Work<void> {
  const hints = new NameHints();
  for (const { kind, key, pointer } of documentReferences(document)) {
    yield smallRecordCost;
    if (kind === "device") {
      if (!existingDevices.has(key))
        problems.push(bodyField(pointer, `no device has the public key ${JSON.stringify(key)}`));
    } else if (!next[kind].has(key)) {
      const noun = kind.replace("-", " ");
      const name = JSON.stringify(key);
      const isInDocument = wanted[kind] !== undefined;
      const missing = isInDocument ? `the document has no ${noun} ${name}` : `no ${noun} has the name ${name}`;
      const nearest = yield* hints.nearest(key, next[kind].keys());
      const meant = nearest === undefined ? "" : `; did you mean ${JSON.stringify(nearest)}?`;
      problems.push(bodyField(pointer, `${missing}${meant}`));
    }
  }
}

function* combinations(
  current: TenantRecords,
  next: NextRecords,
  { policy }: DesiredRecords,
  problems: ProblemField[],
): Work<void> {
  for (const record of policy?.values() ?? []) {
    yield recordCost;
    const { rule } = record.settings;
    // A missing record is reported at the reference to it.
    if (!next["admission-rule"].has(rule)) continue;
    const builtIn = current["admission-rule"].get(rule)?.special === true;
    problems.push(...policyProblems(record, builtIn ? (current.ruleTypes.get(rule) ?? "CUSTOM") : "CUSTOM"));
  }
}

/**
 * Removes deleted records from records outside the document, like single deletions would. Reports deletions that are
 * not allowed.
 */
function* withoutDeletedReferences(
  current: TenantRecords,
  next: NextRecords,
  problems: ProblemField[],
): Work<NextRecords> {
  for (const kind of configuredKinds) yield current[kind].size * itemCost;
  const gone = ofEachKind(
    (kind): ReadonlySet<string> => new Set([...current[kind].keys()].filter((key) => !next[kind].has(key))),
  );
  if (configuredKinds.every((kind) => gone[kind].size === 0)) return next;
  const keeps = (kind: ConfiguredKind) => (key: string) => !gone[kind].has(key);
  const refuse = (kind: ConfiguredKind, key: string, reason: string) => {
    problems.push(bodyField(`/${sectionOf[kind]}`, `${JSON.stringify(key)} cannot be deleted: ${reason}`));
  };

  function* left<K extends ConfiguredKind>(
    kind: K,
    change: (settings: SettingsOf[K]) => SettingsOf[K],
  ): Work<ReadonlyMap<string, NextRecord<K>>> {
    const records = next[kind] as ReadonlyMap<string, NextRecord<K>>; // the map of this kind
    const kept = new Map<string, NextRecord<K>>();
    for (const [key, record] of records) {
      yield recordCost + itemsIn(record.settings) * itemCost;
      kept.set(key, record.pointer === undefined ? { ...record, settings: change(record.settings) } : record);
    }
    return kept;
  }

  return {
    ...next,
    user: yield* left("user", (user) => {
      const groups = user.groups.filter(keeps("group"));
      if (groups.length === 0 && user.groups.length > 0) {
        for (const group of user.groups) refuse("group", group, `${user.email} would be left without a group`);
      }
      return groups.length === user.groups.length ? user : { ...user, groups };
    }),
    resource: yield* left("resource", (resource) => {
      for (const protocol of new Set(resource.addresses.flatMap(({ protocols }) => protocols))) {
        if (gone.protocol.has(protocol)) refuse("protocol", protocol, `the resource ${resource.name} uses it`);
      }
      const gateways = resource.gateways.filter(keeps("gateway"));
      return gateways.length === resource.gateways.length ? resource : { ...resource, gateways };
    }),
    policy: yield* left("policy", (policy) => withoutPolicyReferences(policy, gone, refuse)),
  };
}

function withoutPolicyReferences(
  policy: PolicySettings,
  gone: Readonly<Record<ConfiguredKind, ReadonlySet<string>>>,
  refuse: (kind: ConfiguredKind, key: string, reason: string) => void,
): PolicySettings {
  const named = `the policy ${policy.name} names it`;
  for (const gateway of policy.gateways) if (gone.gateway.has(gateway)) refuse("gateway", gateway, named);
  if (gone["admission-rule"].has(policy.rule))
    refuse("admission-rule", policy.rule, `the policy ${policy.name} uses it`);
  if (policy.active) {
    for (const resource of policy.resources) if (gone.resource.has(resource)) refuse("resource", resource, named);
  }
  const kept = (keys: readonly string[], kind: ConfiguredKind) =>
    keys.some((key) => gone[kind].has(key)) ? keys.filter((key) => !gone[kind].has(key)) : keys;
  return {
    ...policy,
    groups: kept(policy.groups, "group"),
    users: kept(policy.users, "user"),
    resources: kept(policy.resources, "resource"),
  };
}
