/** Settings as document entries, without values that equal the default. */
import { isDeepStrictEqual } from "node:util";
import type {
  AssignableRoleType,
  Configuration,
  ConfiguredKind,
  ConfiguredPolicy,
} from "@gatehouse/contract/records/configuration";
import { defaultProviderSettings } from "@gatehouse/contract/records/identity-provider";
import { type PolicyType, policyTypes } from "@gatehouse/contract/records/policy";
import { defaultTenantSettings } from "@gatehouse/contract/records/tenant-settings";
import type { Work } from "@gatehouse/policy/work";
import { newGroupMaxDevices } from "../../groups/groups.api.ts";
import { defaultMode } from "../../policies/policies.api.ts";
import type { TenantRecord, TenantRecords } from "../tenant-records.ts";
import { itemCost, itemsIn, recordCost, sortedInSlices } from "./record-costs.ts";
import { byText, type SettingsOf } from "./settings.ts";

/** The context of entries: defaults that depend on the tenant. */
export interface EntryContext {
  /** The name of the group for users whose entry lists no groups. */
  readonly defaultGroup: string;
  /** The name of the rule for policies whose entry names none. */
  readonly allowRule: string;
  readonly deviceNames: ReadonlyMap<string, string>;
}

type Entry<K extends ConfiguredKind> = NonNullable<
  {
    readonly group: Configuration["groups"];
    readonly user: Configuration["users"];
    readonly protocol: Configuration["protocols"];
    readonly gateway: Configuration["gateways"];
    readonly resource: Configuration["resources"];
    readonly "admission-rule": Configuration["admissionRules"];
    readonly policy: ConfiguredPolicy[];
    readonly "identity-provider": Configuration["identityProviders"];
    readonly "tenant-settings": NonNullable<Configuration["settings"]>[];
  }[K]
>[number];

type Writers = { readonly [K in ConfiguredKind]: (settings: SettingsOf[K], context: EntryContext) => Entry<K> };

export const documentEntry: Writers = {
  group: ({ name, description, roles, maxDevices, deviceSessionLifetime, isSamlDefaultGroup, idpMapping }) => ({
    name,
    ...text({ description }),
    ...list({ roles: roles as readonly AssignableRoleType[] }), // no group has the owner's role
    ...(maxDevices === newGroupMaxDevices ? {} : { maxDevices }),
    ...(deviceSessionLifetime === null ? {} : { deviceSessionLifetime }),
    ...when({ isSamlDefaultGroup }),
    ...list({ idpMapping }),
  }),
  user: ({ email, firstName, lastName, groups, roles, maxDevices, attributes }, { defaultGroup }) => ({
    email,
    ...text({ firstName }),
    ...text({ lastName }),
    ...(groups.length === 1 && groups[0] === defaultGroup ? {} : { groups: [...groups] }),
    ...list({ roles: roles as readonly AssignableRoleType[] }), // settings never hold the owner's role
    ...(maxDevices === null ? {} : { maxDevices }),
    ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
  }),
  protocol: ({ name, networkProtocols }) => ({
    name,
    networkProtocols: networkProtocols.map(({ protocol, port }) =>
      port === undefined ? { protocol } : { protocol, port: /^\d+$/.test(port) ? Number(port) : port },
    ),
  }),
  gateway: ({ name, wireguardPort, description, endpoint, relayEnabled, ...site }) => ({
    name,
    wireguardPort,
    ...text({ description }),
    ...text({ endpoint }),
    ...when({ relayEnabled }),
    ...list({ resolvers: site.resolvers }),
    ...list({ domains: site.domains.map(({ domain, resolvers }) => ({ domain, resolvers: [...resolvers] })) }),
    ...(site.networks === null ? {} : { networks: [...site.networks] }),
    ...(site.relayPort === null ? {} : { relayPort: site.relayPort }),
  }),
  resource: ({ name, type, description, loadBalancingMode, gateways, addresses }) => ({
    name,
    type,
    ...text({ description }),
    ...(loadBalancingMode === "MANUAL" ? {} : { loadBalancingMode }),
    ...list({ gateways }),
    ...list({
      addresses: addresses.map(({ address, protocols, answersWithin }) => ({
        address,
        ...list({ protocols }),
        ...list({ answersWithin: answersWithin ?? [] }),
      })),
    }),
  }),
  "admission-rule": ({ name, rule, hasTimeConstraint }) => ({ name, rule, ...when({ hasTimeConstraint }) }),
  policy: (settings, { allowRule, deviceNames }) => {
    const { name, type, description, action, active, mode, sourceIps, rule } = settings;
    const { groups, users, resources, gateways, allGroups, allUsers, allDevices, allResources } = settings;
    const devices = settings.devices.map((publicKey) => ({
      publicKey,
      ...text({ name: deviceNames.get(publicKey) ?? "" }),
    }));
    return {
      name,
      ...text({ description }),
      action,
      ...(active ? {} : { active }),
      ...(mode === null || mode === defaultMode(type, action) ? {} : { mode }),
      ...when({ allGroups }),
      ...when({ allUsers }),
      ...when({ allDevices }),
      ...when({ allResources }),
      ...list({ groups }),
      ...list({ users }),
      ...list({ devices }),
      ...list({ resources }),
      ...list({ gateways }),
      ...list({ sourceIps }),
      ...(rule === allowRule ? {} : { rule }),
    };
  },
  "identity-provider": ({ name, issuer, clientId, scopes, groupsClaim, firstSignIn, linkVerifiedEmail, enabled }) => {
    const defaults = defaultProviderSettings;
    return {
      name,
      issuer,
      clientId,
      ...(isDeepStrictEqual(scopes, defaults.scopes) ? {} : { scopes: [...scopes] }),
      ...(groupsClaim === defaults.groupsClaim ? {} : { groupsClaim }),
      ...(firstSignIn === defaults.firstSignIn ? {} : { firstSignIn }),
      ...when({ linkVerifiedEmail }),
      ...when({ enabled }),
    };
  },
  "tenant-settings": ({ name: _, ...settings }) => {
    const defaults: Readonly<Record<string, unknown>> = defaultTenantSettings;
    return Object.fromEntries(Object.entries(settings).filter(([name, value]) => value !== defaults[name]));
  },
};

/** The kinds of record in a document. */
export type Sections = ReadonlySet<ConfiguredKind>;

/** The document for the records. */
export function* documentOf(records: TenantRecords, sections: Sections): Work<Configuration> {
  const context = entryContext(records);
  function* section<K extends ConfiguredKind, F extends string>(
    kind: K,
    field: F,
  ): Work<{ readonly [P in F]?: Entry<K>[] }> {
    if (!sections.has(kind)) return {};
    const own = [...(records[kind] as ReadonlyMap<string, TenantRecord<K>>).values()]; // the map of this kind
    const shown = own.filter(({ special }) => !special || kind === "group" || kind === "user");
    const entries: Entry<K>[] = [];
    for (const { settings } of yield* inOrder(shown)) {
      yield recordCost + itemsIn(settings) * itemCost;
      entries.push(documentEntry[kind](settings, context));
    }
    return { [field]: entries } as {
      readonly [P in F]?: Entry<K>[];
    }; // a computed key has the type string
  }
  return {
    version: 1,
    ...(yield* section("group", "groups")),
    ...(yield* section("user", "users")),
    ...(yield* section("protocol", "protocols")),
    ...(yield* section("gateway", "gateways")),
    ...(yield* section("resource", "resources")),
    ...(yield* section("admission-rule", "admissionRules")),
    ...(sections.has("policy") ? yield* policySections(records, context) : {}),
    ...(yield* section("identity-provider", "identityProviders")),
    ...(sections.has("tenant-settings") ? settingsSection(records, context) : {}),
  };
}

/** The context of entries in a tenant. */
export function entryContext(records: TenantRecords): EntryContext {
  const { allowRule, deviceNames } = records;
  const defaultGroup = [...records.group.values()].find(({ special }) => special)?.settings.name ?? "";
  return { defaultGroup, allowRule, deviceNames };
}

function* policySections(
  records: TenantRecords,
  context: EntryContext,
): Work<Pick<Configuration, "policies" | "defaultInternetPolicy">> {
  const policies = [...records.policy.values()].sort((a, b) => a.order - b.order);
  const byType = new Map<PolicyType, Entry<"policy">[]>(policyTypes.map((type) => [type, []]));
  for (const { special, settings } of policies) {
    yield recordCost + itemsIn(settings) * itemCost;
    if (!special) byType.get(settings.type)?.push(documentEntry.policy(settings, context));
  }
  const last = policies.find(({ special }) => special)?.settings;
  return {
    policies: Object.fromEntries(byType),
    ...(last === undefined || last.mode === null
      ? {}
      : {
          defaultInternetPolicy: {
            mode: last.mode,
            ...list({ gateways: last.gateways }),
            ...text({ description: last.description }),
          },
        }),
  };
}

function settingsSection(records: TenantRecords, context: EntryContext): Pick<Configuration, "settings"> {
  const [record] = records["tenant-settings"].values();
  return record === undefined ? {} : { settings: documentEntry["tenant-settings"](record.settings, context) };
}

/** Ordered by name regardless of letter case; the order is the same everywhere. */
function* inOrder<K extends ConfiguredKind>(records: readonly TenantRecord<K>[]): Work<readonly TenantRecord<K>[]> {
  const named = records.map((record) => {
    const { settings } = record;
    const name = "email" in settings ? settings.email : settings.name;
    return { record, name, key: name.toLowerCase() };
  });
  const sorted = yield* sortedInSlices(named, (a, b) => byText(a.key, b.key) || byText(a.name, b.name));
  return sorted.map(({ record }) => record);
}

/** The field, if its text is not empty. */
function text<F extends string>(field: Readonly<Record<F, string>>): { readonly [P in F]?: string } {
  return Object.values(field).includes("") ? {} : field;
}

/** The field, if it is true. */
function when<F extends string>(field: Readonly<Record<F, boolean>>): { readonly [P in F]?: boolean } {
  return Object.values(field).includes(false) ? {} : field;
}

/** The field, if its list is not empty. */
function list<F extends string, T>(field: Readonly<Record<F, readonly T[]>>): { readonly [P in F]?: T[] } {
  const [[name, items = []] = []] = Object.entries<readonly T[]>(field);
  return items.length === 0 || name === undefined ? {} : ({ [name]: [...items] } as { readonly [P in F]?: T[] }); // the field's own name
}
