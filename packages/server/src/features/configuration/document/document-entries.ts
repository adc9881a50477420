/** Settings as documents write them: without what is at its default. */
import type {
  AssignableRoleType,
  Configuration,
  ConfiguredKind,
  ConfiguredPolicy,
} from "@gatehouse/contract/records/configuration";
import { type PolicyType, policyTypes } from "@gatehouse/contract/records/policy";
import { newGroupMaxDevices } from "../../groups/groups.api.ts";
import { defaultMode } from "../../policies/policies.api.ts";
import type { TenantRecord, TenantRecords } from "../tenant-records.ts";
import { byText, type SettingsOf } from "./settings.ts";

/** What entries are written from beside their settings. */
export interface EntryContext {
  /** Name of the group that users are in who say nothing else. */
  readonly defaultGroup: string;
  /** Name of the rule that policies have which say nothing else. */
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
  }[K]
>[number];

type Writers = { readonly [K in ConfiguredKind]: (settings: SettingsOf[K], context: EntryContext) => Entry<K> };

export const documentEntry: Writers = {
  group: ({ name, description, roles, maxDevices, isSamlDefaultGroup, idpMapping }) => ({
    name,
    ...text({ description }),
    ...list({ roles: roles as readonly AssignableRoleType[] }), // no group has the owner's role
    ...(maxDevices === newGroupMaxDevices ? {} : { maxDevices }),
    ...when({ isSamlDefaultGroup }),
    ...list({ idpMapping }),
  }),
  user: ({ email, firstName, lastName, groups, roles, maxDevices, attributes }, { defaultGroup }) => ({
    email,
    ...text({ firstName }),
    ...text({ lastName }),
    ...(groups.length === 1 && groups[0] === defaultGroup ? {} : { groups: [...groups] }),
    ...list({ roles: roles as readonly AssignableRoleType[] }), // settings never hold the owner's
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
    ...list({ addresses: addresses.map(({ address, protocols }) => ({ address, ...list({ protocols }) })) }),
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
};

/** Which kinds of record a document speaks of. */
export type Sections = ReadonlySet<ConfiguredKind>;

/** The document that says what the records are. */
export function documentOf(records: TenantRecords, sections: Sections): Configuration {
  const context = entryContext(records);
  function section<K extends ConfiguredKind, F extends string>(kind: K, field: F): { readonly [P in F]?: Entry<K>[] } {
    if (!sections.has(kind)) return {};
    const own = [...(records[kind] as ReadonlyMap<string, TenantRecord<K>>).values()]; // the map of this kind
    const shown = own.filter(({ special }) => !special || kind === "group" || kind === "user");
    return { [field]: inOrder(shown).map(({ settings }) => documentEntry[kind](settings, context)) } as {
      readonly [P in F]?: Entry<K>[];
    }; // a computed key is typed as any text
  }
  return {
    version: 1,
    ...section("group", "groups"),
    ...section("user", "users"),
    ...section("protocol", "protocols"),
    ...section("gateway", "gateways"),
    ...section("resource", "resources"),
    ...section("admission-rule", "admissionRules"),
    ...(sections.has("policy") ? policySections(records, context) : {}),
  };
}

/** What the records say of the entries' surroundings. */
export function entryContext(records: TenantRecords): EntryContext {
  const { allowRule, deviceNames } = records;
  const defaultGroup = [...records.group.values()].find(({ special }) => special)?.settings.name ?? "";
  return { defaultGroup, allowRule, deviceNames };
}

function policySections(
  records: TenantRecords,
  context: EntryContext,
): Pick<Configuration, "policies" | "defaultInternetPolicy"> {
  const policies = [...records.policy.values()].sort((a, b) => a.order - b.order);
  const ofType = (type: PolicyType) =>
    policies
      .filter(({ special, settings }) => !special && settings.type === type)
      .map(({ settings }) => documentEntry.policy(settings, context));
  const last = policies.find(({ special }) => special)?.settings;
  return {
    policies: Object.fromEntries(policyTypes.map((type) => [type, ofType(type)])),
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

/** By name without regard to case, and in the same order everywhere. */
function inOrder<K extends ConfiguredKind>(records: readonly TenantRecord<K>[]): readonly TenantRecord<K>[] {
  const named = records.map((record) => {
    const { settings } = record;
    const name = "email" in settings ? settings.email : settings.name;
    return { record, name, key: name.toLowerCase() };
  });
  return named.sort((a, b) => byText(a.key, b.key) || byText(a.name, b.name)).map(({ record }) => record);
}

/** The field where its text is not empty. */
function text<F extends string>(field: Readonly<Record<F, string>>): { readonly [P in F]?: string } {
  return Object.values(field).includes("") ? {} : field;
}

/** The field where it is true. */
function when<F extends string>(field: Readonly<Record<F, boolean>>): { readonly [P in F]?: boolean } {
  return Object.values(field).includes(false) ? {} : field;
}

/** The field where its list is not empty. */
function list<F extends string, T>(field: Readonly<Record<F, readonly T[]>>): { readonly [P in F]?: T[] } {
  const [[name, items = []] = []] = Object.entries<readonly T[]>(field);
  return items.length === 0 || name === undefined ? {} : ({ [name]: [...items] } as { readonly [P in F]?: T[] }); // its own name
}
