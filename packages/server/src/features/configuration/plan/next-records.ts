/** What a tenant's records would be once a document is applied, and what keeps the document from being applied. */

import type { ProblemField } from "@gatehouse/contract/problem";
import { type Configuration, type ConfiguredKind, configuredKinds } from "@gatehouse/contract/records/configuration";
import { bodyField } from "../../../platform/app-error.ts";
import { siteConflicts } from "../../gateways/gateways.api.ts";
import { entryContext } from "../document/document-entries.ts";
import { documentReferences } from "../document/document-references.ts";
import { ofEachKind, type PolicySettings, type SettingsOf } from "../document/settings.ts";
import { policyProblems, readDocument, type WantedRecord, type WantedRecords } from "../document/wanted-records.ts";
import type { TenantRecord, TenantRecords } from "../tenant-records.ts";
import { NameHints } from "./name-hints.ts";

export interface NextRecord<K extends ConfiguredKind> {
  readonly settings: SettingsOf[K];
  /** JSON Pointer of the entry; undefined for a record that the document does not speak of. */
  readonly pointer: string | undefined;
}

export type NextRecords = { readonly [K in ConfiguredKind]: ReadonlyMap<string, NextRecord<K>> };

export interface Outlook {
  readonly wanted: WantedRecords;
  readonly next: NextRecords;
  /** All of them: each with a JSON Pointer into the document. */
  readonly problems: readonly ProblemField[];
}

/** What documents call the sections. */
export const sectionOf: Readonly<Record<ConfiguredKind, string>> = {
  group: "groups",
  user: "users",
  protocol: "protocols",
  gateway: "gateways",
  resource: "resources",
  "admission-rule": "admissionRules",
  policy: "policies",
};

/** @param knownDevices public keys of those devices which the document names and the tenant has */
export function outlook(current: TenantRecords, document: Configuration, knownDevices: ReadonlySet<string>): Outlook {
  const reading = readDocument(document, entryContext(current));
  const { wanted } = reading;
  const problems = [...reading.problems];
  const next: NextRecords = {
    group: section("group"),
    user: section("user"),
    protocol: section("protocol"),
    gateway: section("gateway"),
    resource: section("resource"),
    "admission-rule": section("admission-rule"),
    policy: policies(current, wanted, document, problems),
  };

  function section<K extends Exclude<ConfiguredKind, "policy">>(kind: K): ReadonlyMap<string, NextRecord<K>> {
    const there = current[kind] as ReadonlyMap<string, TenantRecord<K>>; // the map of this kind
    const listed = wanted[kind] as ReadonlyMap<string, WantedRecord<K>> | undefined; // as above
    const records = new Map<string, NextRecord<K>>();
    for (const [key, { settings, special }] of there) {
      if (listed === undefined || special) records.set(key, { settings, pointer: undefined });
    }
    for (const [key, record] of listed ?? []) {
      const known = there.get(key);
      const builtIn = known?.special === true && (kind === "protocol" || kind === "admission-rule");
      if (builtIn) problems.push(bodyField(`${record.pointer}/name`, `${key} is built in; a file cannot change it`));
      else records.set(key, known === undefined ? record : { ...record, settings: sameIdentity(known, record) });
    }
    return records;
  }

  problems.push(
    ...requiredGroups(current, wanted),
    ...requiredOwner(current, wanted),
    ...fixedTypes(current, wanted),
    ...takenBySites(next, wanted),
    ...unknownNames(document, next, wanted, knownDevices),
    ...combinations(current, next, wanted),
  );
  const afterwards = withoutDeleted(current, next, problems);
  return { wanted, next: afterwards, problems };
}

/** A user's address is found whatever its letter case, and stays as it was first written. */
function sameIdentity<K extends ConfiguredKind>(known: TenantRecord<K>, wanted: WantedRecord<K>): SettingsOf[K] {
  const before: object = known.settings;
  return "email" in before ? { ...wanted.settings, email: before.email } : wanted.settings;
}

function policies(
  current: TenantRecords,
  wanted: WantedRecords,
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

function requiredGroups(current: TenantRecords, { group: wanted }: WantedRecords): readonly ProblemField[] {
  if (wanted === undefined) return [];
  const missing = [...current.group].filter(([name, { special }]) => special && !wanted.has(name));
  const marked = [...wanted.values()].filter(({ settings }) => settings.isSamlDefaultGroup);
  return [
    ...missing.map(([name]) =>
      bodyField("/groups", `${JSON.stringify(name)} is the tenant's default group, which stays: list it`),
    ),
    ...(marked.length === 0 ? [bodyField("/groups", "one of the groups must have isSamlDefaultGroup: true")] : []),
    ...marked
      .slice(1)
      .map(({ pointer }) => bodyField(`${pointer}/isSamlDefaultGroup`, "another group of the list has it already")),
  ];
}

function requiredOwner(current: TenantRecords, { user: wanted }: WantedRecords): readonly ProblemField[] {
  if (wanted === undefined) return [];
  return [...current.user]
    .filter(([key, { special }]) => special && !wanted.has(key))
    .map(([, { settings }]) =>
      bodyField("/users", `${settings.email} owns the tenant, and cannot be deleted: list it`),
    );
}

/** What two gateways cannot both have. The section is whole, so all gateways are in it. */
function takenBySites({ gateway: next }: NextRecords, { gateway: wanted }: WantedRecords): readonly ProblemField[] {
  if (wanted === undefined) return [];
  return siteConflicts([...next.values()].map(({ settings }) => settings)).map(({ name, field, message }) =>
    bodyField(`${wanted.get(name)?.pointer ?? "/gateways"}/${field}`, message),
  );
}

function fixedTypes(current: TenantRecords, { resource: wanted }: WantedRecords): readonly ProblemField[] {
  return [...(wanted ?? [])].flatMap(([name, { settings, pointer }]) => {
    const type = current.resource.get(name)?.settings.type ?? settings.type;
    return type === settings.type
      ? []
      : [
          bodyField(
            `${pointer}/type`,
            `the resource is of type ${type}, which cannot be changed; give it another name`,
          ),
        ];
  });
}

function unknownNames(
  document: Configuration,
  next: NextRecords,
  wanted: WantedRecords,
  knownDevices: ReadonlySet<string>,
): readonly ProblemField[] {
  const hints = new NameHints();
  const problems: ProblemField[] = [];
  for (const { kind, key, pointer } of documentReferences(document)) {
    if (kind === "device") {
      if (!knownDevices.has(key))
        problems.push(bodyField(pointer, `no device has the public key ${JSON.stringify(key)}`));
    } else if (!next[kind].has(key)) {
      const where = wanted[kind] === undefined ? "" : ` in ${sectionOf[kind]} of the document`;
      const nearest = hints.nearest(key, next[kind].keys());
      const meant = nearest === undefined ? "" : `; is ${JSON.stringify(nearest)} meant?`;
      problems.push(
        bodyField(pointer, `no ${kind.replace("-", " ")} is called ${JSON.stringify(key)}${where}${meant}`),
      );
    }
  }
  return problems;
}

function combinations(current: TenantRecords, next: NextRecords, { policy }: WantedRecords): readonly ProblemField[] {
  return [...(policy ?? new Map<string, WantedRecord<"policy">>()).values()].flatMap((record) => {
    const { rule } = record.settings;
    // One that is not there is reported where it is named.
    if (!next["admission-rule"].has(rule)) return [];
    const builtIn = current["admission-rule"].get(rule)?.special === true;
    return policyProblems(record, builtIn ? (current.ruleTypes.get(rule) ?? "CUSTOM") : "CUSTOM");
  });
}

/**
 * Takes what is deleted off the records that the document does not speak of, as deleting it by itself would, and reports
 * where that is not allowed.
 */
function withoutDeleted(current: TenantRecords, next: NextRecords, problems: ProblemField[]): NextRecords {
  const gone = ofEachKind(
    (kind): ReadonlySet<string> => new Set([...current[kind].keys()].filter((key) => !next[kind].has(key))),
  );
  if (configuredKinds.every((kind) => gone[kind].size === 0)) return next;
  const keeps = (kind: ConfiguredKind) => (key: string) => !gone[kind].has(key);
  const refuse = (kind: ConfiguredKind, key: string, reason: string) => {
    problems.push(bodyField(`/${sectionOf[kind]}`, `${JSON.stringify(key)} cannot be deleted: ${reason}`));
  };

  function left<K extends ConfiguredKind>(kind: K, change: (settings: SettingsOf[K]) => SettingsOf[K]) {
    const records = next[kind] as ReadonlyMap<string, NextRecord<K>>; // the map of this kind
    return new Map(
      [...records].map(([key, record]) => [
        key,
        record.pointer === undefined ? { ...record, settings: change(record.settings) } : record,
      ]),
    );
  }

  return {
    ...next,
    user: left("user", (user) => {
      const groups = user.groups.filter(keeps("group"));
      if (groups.length === 0 && user.groups.length > 0) {
        for (const group of user.groups) refuse("group", group, `${user.email} would be left without a group`);
      }
      return groups.length === user.groups.length ? user : { ...user, groups };
    }),
    resource: left("resource", (resource) => {
      for (const protocol of new Set(resource.addresses.flatMap(({ protocols }) => protocols))) {
        if (gone.protocol.has(protocol)) refuse("protocol", protocol, `the resource ${resource.name} uses it`);
      }
      const gateways = resource.gateways.filter(keeps("gateway"));
      return gateways.length === resource.gateways.length ? resource : { ...resource, gateways };
    }),
    policy: left("policy", (policy) => leftOfPolicy(policy, gone, refuse)),
  };
}

function leftOfPolicy(
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
