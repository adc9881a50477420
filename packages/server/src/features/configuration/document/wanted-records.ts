/** Reads a document's entries as settings, in the form that is stored, and says which of them cannot be read so. */

import type { ProblemField } from "@gatehouse/contract/problem";
import type {
  Configuration,
  ConfiguredGateway,
  ConfiguredGroup,
  ConfiguredKind,
  ConfiguredPolicy,
  ConfiguredProtocol,
  ConfiguredResource,
  ConfiguredUser,
} from "@gatehouse/contract/records/configuration";
import { type PolicyType, policyTypes } from "@gatehouse/contract/records/policy";
import { bodyField } from "../../../platform/app-error.ts";
import { canonicalSourceIps } from "../../../platform/source-ips.ts";
import { checkAddress } from "../../addresses/addresses.api.ts";
import { canonicalSiteSettings, checkEndpoint, noSiteSettings } from "../../gateways/gateways.api.ts";
import { newGroupMaxDevices } from "../../groups/groups.api.ts";
import { combinationProblems, defaultMode } from "../../policies/policies.api.ts";
import { canonicalNetworkProtocols } from "../../protocols/protocols.api.ts";
import { keyOf } from "../tenant-records.ts";
import type { EntryContext } from "./document-entries.ts";
import {
  type AddressSettings,
  byText,
  emailKey,
  type PolicySettings,
  type SettingsOf,
  sortedFacts,
  sortedSet,
} from "./settings.ts";

export interface WantedRecord<K extends ConfiguredKind> {
  readonly settings: SettingsOf[K];
  /** JSON Pointer of the entry. */
  readonly pointer: string;
}

/** The sections that the document has, each by key; of policies those of the types that it lists. */
export type WantedRecords = {
  readonly [K in ConfiguredKind]: ReadonlyMap<string, WantedRecord<K>> | undefined;
} & {
  readonly policyTypes: ReadonlySet<PolicyType>;
  /** Names in the order of each type that the document lists. */
  readonly orders: ReadonlyMap<PolicyType, readonly string[]>;
};

export interface Reading {
  readonly wanted: WantedRecords;
  readonly problems: readonly ProblemField[];
}

export function readDocument(document: Configuration, context: EntryContext): Reading {
  const problems: ProblemField[] = [];

  function section<K extends ConfiguredKind, Entry>(
    kind: K,
    field: string,
    entries: readonly Entry[] | undefined,
    settingsOf: (entry: Entry, pointer: string) => SettingsOf[K],
  ): ReadonlyMap<string, WantedRecord<K>> | undefined {
    if (entries === undefined) return undefined;
    const wanted = new Map<string, WantedRecord<K>>();
    for (const [index, entry] of entries.entries()) {
      const pointer = `/${field}/${index}`;
      addOnce(wanted, { settings: settingsOf(entry, pointer), pointer }, kind === "user" ? "email" : "name");
    }
    return wanted;
  }

  function addOnce<K extends ConfiguredKind>(
    wanted: Map<string, WantedRecord<K>>,
    record: WantedRecord<K>,
    nameField: string,
  ): void {
    const key = keyOf(record.settings);
    const earlier = wanted.get(key);
    if (earlier === undefined) wanted.set(key, record);
    else
      problems.push(
        bodyField(`${record.pointer}/${nameField}`, `${JSON.stringify(key)} stands at ${earlier.pointer} already`),
      );
  }

  function policySections(): Pick<WantedRecords, "policy" | "policyTypes" | "orders"> {
    const listed = policyTypes.flatMap((type) => {
      const entries = document.policies?.[type];
      return entries === undefined ? [] : [{ type, entries }];
    });
    const wanted = new Map<string, WantedRecord<"policy">>();
    const orders = new Map<PolicyType, readonly string[]>();
    for (const { type, entries } of listed) {
      for (const [index, entry] of entries.entries()) {
        const pointer = `/policies/${type}/${index}`;
        addOnce(wanted, { settings: policySettings(type, entry, pointer, context, problems), pointer }, "name");
      }
      orders.set(type, [...new Set(entries.map(({ name }) => name))]);
    }
    return {
      policy: listed.length === 0 ? undefined : wanted,
      policyTypes: new Set(listed.map(({ type }) => type)),
      orders,
    };
  }

  const wanted: WantedRecords = {
    group: section("group", "groups", document.groups, groupSettings),
    user: section("user", "users", document.users, (entry) => userSettings(entry, context)),
    protocol: section("protocol", "protocols", document.protocols, (entry, pointer) =>
      protocolSettings(entry, pointer, problems),
    ),
    gateway: section("gateway", "gateways", document.gateways, (entry, pointer) =>
      gatewaySettings(entry, pointer, problems),
    ),
    resource: section("resource", "resources", document.resources, (entry, pointer) =>
      resourceSettings(entry, pointer, problems),
    ),
    "admission-rule": section("admission-rule", "admissionRules", document.admissionRules, (entry) => ({
      name: entry.name,
      rule: entry.rule,
      hasTimeConstraint: entry.hasTimeConstraint ?? false,
    })),
    ...policySections(),
  };
  return { wanted, problems };
}

function groupSettings(entry: ConfiguredGroup): SettingsOf["group"] {
  return {
    name: entry.name,
    description: entry.description ?? "",
    roles: sortedSet(entry.roles ?? []),
    maxDevices: entry.maxDevices ?? newGroupMaxDevices,
    isSamlDefaultGroup: entry.isSamlDefaultGroup ?? false,
    idpMapping: entry.idpMapping ?? [],
  };
}

function userSettings(entry: ConfiguredUser, { defaultGroup }: EntryContext): SettingsOf["user"] {
  return {
    email: entry.email,
    firstName: entry.firstName ?? "",
    lastName: entry.lastName ?? "",
    groups: sortedSet(entry.groups ?? [defaultGroup]),
    roles: sortedSet(entry.roles ?? []),
    maxDevices: entry.maxDevices ?? null,
    attributes: sortedFacts(entry.attributes ?? {}),
  };
}

function protocolSettings(
  { name, networkProtocols }: ConfiguredProtocol,
  pointer: string,
  problems: ProblemField[],
): SettingsOf["protocol"] {
  const canonical = canonicalNetworkProtocols(networkProtocols);
  if (canonical.ok) return { name, networkProtocols: canonical.value };
  problems.push(...below(pointer, canonical.errors));
  return { name, networkProtocols: [] };
}

function gatewaySettings(entry: ConfiguredGateway, pointer: string, problems: ProblemField[]): SettingsOf["gateway"] {
  const check = checkEndpoint(entry.endpoint ?? "");
  if (!check.ok) problems.push(bodyField(`${pointer}/endpoint`, check.message));
  const { resolvers = [], domains = [], networks = null, relayPort = null } = entry;
  const site = canonicalSiteSettings({ resolvers, domains, networks, relayPort });
  if (!site.ok) problems.push(...below(pointer, site.errors));
  return {
    name: entry.name,
    wireguardPort: entry.wireguardPort,
    description: entry.description ?? "",
    endpoint: check.ok ? check.endpoint : "",
    relayEnabled: entry.relayEnabled ?? false,
    ...(site.ok ? site.value : noSiteSettings),
  };
}

function resourceSettings(
  entry: ConfiguredResource,
  pointer: string,
  problems: ProblemField[],
): SettingsOf["resource"] {
  const addresses = new Map<string, AddressSettings>();
  for (const [index, { address, protocols = [] }] of (entry.addresses ?? []).entries()) {
    const at = `${pointer}/addresses/${index}/address`;
    const check = checkAddress(address, entry.type);
    if (!check.ok) problems.push(bodyField(at, check.message));
    else if (addresses.has(check.value.text)) {
      problems.push(bodyField(at, `${check.value.text} stands in the resource already`));
    } else addresses.set(check.value.text, { address: check.value.text, protocols: [...new Set(protocols)] });
  }
  return {
    name: entry.name,
    type: entry.type,
    description: entry.description ?? "",
    loadBalancingMode: entry.loadBalancingMode ?? "MANUAL",
    gateways: [...new Set(entry.gateways ?? [])],
    addresses: [...addresses.values()].sort((a, b) => byText(a.address, b.address)),
  };
}

function policySettings(
  type: PolicyType,
  entry: ConfiguredPolicy,
  pointer: string,
  { allowRule }: EntryContext,
  problems: ProblemField[],
): PolicySettings {
  const sources = canonicalSourceIps(entry.sourceIps ?? []);
  if (!sources.ok) problems.push(...below(pointer, sources.errors));
  return {
    name: entry.name,
    type,
    description: entry.description ?? "",
    action: entry.action,
    active: entry.active ?? true,
    mode: entry.mode ?? defaultMode(type, entry.action),
    allGroups: entry.allGroups ?? false,
    allUsers: entry.allUsers ?? false,
    allDevices: entry.allDevices ?? false,
    allResources: entry.allResources ?? false,
    groups: sortedSet(entry.groups ?? []),
    users: sortedSet((entry.users ?? []).map(emailKey)),
    devices: sortedSet((entry.devices ?? []).map(({ publicKey }) => publicKey)),
    resources: sortedSet(entry.resources ?? []),
    gateways: [...new Set(entry.gateways ?? [])],
    sourceIps: sources.ok ? sources.value : [],
    rule: entry.rule ?? allowRule,
  };
}

/**
 * The rules between a policy's fields that the settings break.
 *
 * @param ruleType of the rule that they name
 */
export function policyProblems(
  { settings, pointer }: WantedRecord<"policy">,
  ruleType: "ALLOW" | "DENY" | "CUSTOM",
): readonly ProblemField[] {
  const { rule, ...rest } = settings;
  const stored = { ...rest, ruleId: rule };
  return below(pointer, combinationProblems(settings.type, stored, ruleType === "ALLOW" ? {} : { rule }, ruleType));
}

/** Problems of a part, as problems of the whole. */
export function below(pointer: string, problems: readonly ProblemField[]): readonly ProblemField[] {
  return problems.map((problem) => bodyField(pointer + problem.pointer, problem.message));
}
