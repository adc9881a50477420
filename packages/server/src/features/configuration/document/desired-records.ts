/** Parses the entries of a document into settings, and reports entries that are invalid. */

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
import { defaultProviderSettings } from "@gatehouse/contract/records/identity-provider";
import { type PolicyType, policyTypes } from "@gatehouse/contract/records/policy";
import { defaultTenantSettings } from "@gatehouse/contract/records/tenant-settings";
import type { Work } from "@gatehouse/policy/work";
import { bodyField } from "../../../platform/app-error.ts";
import { canonicalSourceIps } from "../../../platform/source-ips.ts";
import { checkAddress, checkAnswersWithin } from "../../addresses/addresses.api.ts";
import { canonicalSiteSettings, checkEndpoint, noSiteSettings } from "../../gateways/gateways.api.ts";
import { newGroupMaxDevices } from "../../groups/groups.api.ts";
import { combinationProblems, defaultMode } from "../../policies/policies.api.ts";
import { canonicalNetworkProtocols } from "../../protocols/protocols.api.ts";
import { keyOf } from "../tenant-records.ts";
import type { EntryContext } from "./document-entries.ts";
import { itemCost, itemsIn, recordCost } from "./record-costs.ts";
import {
  type AddressSettings,
  byText,
  emailKey,
  type PolicySettings,
  type SettingsOf,
  sortedFacts,
  sortedSet,
  tenantSettingsName,
} from "./settings.ts";

export interface DesiredRecord<K extends ConfiguredKind> {
  readonly settings: SettingsOf[K];
  /** JSON Pointer of the entry. */
  readonly pointer: string;
}

/** The sections of the document, each by key. It contains only policies of the types that the document lists. */
export type DesiredRecords = {
  readonly [K in ConfiguredKind]: ReadonlyMap<string, DesiredRecord<K>> | undefined;
} & {
  readonly policyTypes: ReadonlySet<PolicyType>;
  /** The names in each listed type, in order. */
  readonly orders: ReadonlyMap<PolicyType, readonly string[]>;
};

export interface Reading {
  readonly wanted: DesiredRecords;
  readonly problems: readonly ProblemField[];
}

export function* readDocument(document: Configuration, context: EntryContext): Work<Reading> {
  const problems: ProblemField[] = [];

  function* section<K extends ConfiguredKind, Entry>(
    kind: K,
    field: string,
    entries: readonly Entry[] | undefined,
    settingsOf: (entry: Entry, pointer: string) => SettingsOf[K],
  ): Work<ReadonlyMap<string, DesiredRecord<K>> | undefined> {
    if (entries === undefined) return undefined;
    const wanted = new Map<string, DesiredRecord<K>>();
    for (const [index, entry] of entries.entries()) {
      const pointer = `/${field}/${index}`;
      yield recordCost + itemsIn(entry as object) * itemCost; // entries are objects
      addOnce(wanted, { settings: settingsOf(entry, pointer), pointer }, kind === "user" ? "email" : "name");
    }
    return wanted;
  }

  function addOnce<K extends ConfiguredKind>(
    wanted: Map<string, DesiredRecord<K>>,
    record: DesiredRecord<K>,
    nameField: string,
  ): void {
    const key = keyOf(record.settings);
    const earlier = wanted.get(key);
    if (earlier === undefined) wanted.set(key, record);
    else
      problems.push(
        bodyField(`${record.pointer}/${nameField}`, `${JSON.stringify(key)} is already defined at ${earlier.pointer}`),
      );
  }

  function* policySections(): Work<Pick<DesiredRecords, "policy" | "policyTypes" | "orders">> {
    const listed = policyTypes.flatMap((type) => {
      const entries = document.policies?.[type];
      return entries === undefined ? [] : [{ type, entries }];
    });
    const wanted = new Map<string, DesiredRecord<"policy">>();
    const orders = new Map<PolicyType, readonly string[]>();
    for (const { type, entries } of listed) {
      for (const [index, entry] of entries.entries()) {
        const pointer = `/policies/${type}/${index}`;
        yield recordCost + itemsIn(entry) * itemCost;
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

  const wanted: DesiredRecords = {
    group: yield* section("group", "groups", document.groups, groupSettings),
    user: yield* section("user", "users", document.users, (entry) => userSettings(entry, context)),
    protocol: yield* section("protocol", "protocols", document.protocols, (entry, pointer) =>
      protocolSettings(entry, pointer, problems),
    ),
    gateway: yield* section("gateway", "gateways", document.gateways, (entry, pointer) =>
      gatewaySettings(entry, pointer, problems),
    ),
    resource: yield* section("resource", "resources", document.resources, (entry, pointer) =>
      resourceSettings(entry, pointer, problems),
    ),
    "admission-rule": yield* section("admission-rule", "admissionRules", document.admissionRules, (entry) => ({
      name: entry.name,
      rule: entry.rule,
      hasTimeConstraint: entry.hasTimeConstraint ?? false,
    })),
    ...(yield* policySections()),
    "identity-provider": yield* section(
      "identity-provider",
      "identityProviders",
      document.identityProviders,
      (entry) => {
        const given = { ...defaultProviderSettings, enabled: false, ...entry };
        return { ...given, scopes: sortedSet(given.scopes) };
      },
    ),
    "tenant-settings": tenantSettings(document),
  };
  return { wanted, problems };
}

function tenantSettings({ settings }: Configuration): DesiredRecords["tenant-settings"] {
  if (settings === undefined) return undefined;
  const given = { name: tenantSettingsName, ...defaultTenantSettings, ...settings } as const;
  const record = { settings: given, pointer: "/settings" } as const;
  return new Map([[tenantSettingsName, record]]);
}

function groupSettings(entry: ConfiguredGroup): SettingsOf["group"] {
  return {
    name: entry.name,
    description: entry.description ?? "",
    roles: sortedSet(entry.roles ?? []),
    maxDevices: entry.maxDevices ?? newGroupMaxDevices,
    deviceSessionLifetime: entry.deviceSessionLifetime ?? null,
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
  problems.push(...withPrefix(pointer, canonical.errors));
  return { name, networkProtocols: [] };
}

function gatewaySettings(entry: ConfiguredGateway, pointer: string, problems: ProblemField[]): SettingsOf["gateway"] {
  const check = checkEndpoint(entry.endpoint ?? "");
  if (!check.ok) problems.push(bodyField(`${pointer}/endpoint`, check.message));
  const { resolvers = [], domains = [], networks = null, relayPort = null } = entry;
  const site = canonicalSiteSettings({ resolvers, domains, networks, relayPort });
  if (!site.ok) problems.push(...withPrefix(pointer, site.errors));
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
  for (const [index, { address: written, protocols = [], answersWithin }] of (entry.addresses ?? []).entries()) {
    const at = `${pointer}/addresses/${index}`;
    const check = checkAddress(written, entry.type);
    if (!check.ok) {
      problems.push(bodyField(`${at}/address`, check.message));
      continue;
    }
    const { text: address } = check.value;
    const answers = checkAnswersWithin(answersWithin, check.value, entry.type, at);
    if (!answers.ok) problems.push(...answers.errors);
    else if (addresses.has(address)) {
      problems.push(bodyField(`${at}/address`, `${address} is already an address of the resource`));
    } else {
      const limit = answers.value === null ? {} : { answersWithin: answers.value };
      addresses.set(address, { address, protocols: [...new Set(protocols)], ...limit });
    }
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
  if (!sources.ok) problems.push(...withPrefix(pointer, sources.errors));
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
 * The combination rules that a policy's settings break.
 *
 * @param ruleType the type of the admission rule
 */
export function policyProblems(
  { settings, pointer }: DesiredRecord<"policy">,
  ruleType: "ALLOW" | "DENY" | "CUSTOM",
): readonly ProblemField[] {
  const { rule, ...rest } = settings;
  const stored = { ...rest, ruleId: rule };
  return withPrefix(
    pointer,
    combinationProblems(settings.type, stored, ruleType === "ALLOW" ? {} : { rule }, ruleType),
  );
}

/** Prefixes the pointers of problems in a part. */
export function withPrefix(pointer: string, problems: readonly ProblemField[]): readonly ProblemField[] {
  return problems.map((problem) => bodyField(pointer + problem.pointer, problem.message));
}
