/**
 * Settings of each kind of record in canonical form: defaults are filled in and sets are sorted, so equal settings have
 * equal JSON. Settings refer to other records by the keys that documents use.
 */
import type { RoleType } from "@gatehouse/contract/permissions";
import type { ResourceType } from "@gatehouse/contract/records/address";
import type { ConfiguredKind } from "@gatehouse/contract/records/configuration";
import type { FirstSignIn } from "@gatehouse/contract/records/identity-provider";
import type { PolicyMode, PolicyType } from "@gatehouse/contract/records/policy";
import type { NetworkProtocol } from "@gatehouse/contract/records/protocol";
import type { LoadBalancingMode } from "@gatehouse/contract/records/resource";
import type { TenantSettings } from "@gatehouse/contract/records/tenant-settings";
import type { User } from "@gatehouse/contract/records/user";

export interface GroupSettings {
  readonly name: string;
  readonly description: string;
  readonly roles: readonly RoleType[];
  readonly maxDevices: number;
  /** Null if the group sets no lifetime. */
  readonly deviceSessionLifetime: number | null;
  readonly isSamlDefaultGroup: boolean;
  readonly idpMapping: readonly string[];
}

export interface UserSettings {
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly groups: readonly string[];
  /** Without the owner's role, which documents neither grant nor remove. */
  readonly roles: readonly RoleType[];
  /** Null if the groups determine the limit. */
  readonly maxDevices: number | null;
  readonly attributes: User["attributes"];
}

export interface ProtocolSettings {
  readonly name: string;
  readonly networkProtocols: readonly NetworkProtocol[];
}

export interface GatewaySettings {
  readonly name: string;
  readonly wireguardPort: number;
  readonly description: string;
  readonly endpoint: string;
  readonly relayEnabled: boolean;
  readonly resolvers: readonly string[];
  readonly domains: readonly { readonly domain: string; readonly resolvers: readonly string[] }[];
  readonly networks: readonly string[] | null;
  readonly relayPort: number | null;
}

export interface AddressSettings {
  readonly address: string;
  readonly protocols: readonly string[];
  /** Absent for the default. */
  readonly answersWithin?: readonly string[];
}

export interface ResourceSettings {
  readonly name: string;
  readonly type: ResourceType;
  readonly description: string;
  readonly loadBalancingMode: LoadBalancingMode;
  readonly gateways: readonly string[];
  readonly addresses: readonly AddressSettings[];
}

export interface RuleSettings {
  readonly name: string;
  readonly rule: string;
  readonly hasTimeConstraint: boolean;
}

export interface PolicySettings {
  readonly name: string;
  readonly type: PolicyType;
  readonly description: string;
  readonly action: boolean;
  readonly active: boolean;
  readonly mode: PolicyMode | null;
  readonly allGroups: boolean;
  readonly allUsers: boolean;
  readonly allDevices: boolean;
  readonly allResources: boolean;
  readonly groups: readonly string[];
  /** Email addresses in lower case. */
  readonly users: readonly string[];
  /** Public keys. */
  readonly devices: readonly string[];
  readonly resources: readonly string[];
  readonly gateways: readonly string[];
  readonly sourceIps: readonly string[];
  readonly rule: string;
}

export interface ProviderSettings {
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly groupsClaim: string;
  readonly firstSignIn: FirstSignIn;
  readonly linkVerifiedEmail: boolean;
  readonly enabled: boolean;
}

/** The settings of the tenant as a whole, under a fixed name: a tenant has one record of this kind. */
export interface NamedTenantSettings extends TenantSettings {
  readonly name: typeof tenantSettingsName;
}

export const tenantSettingsName = "settings";

export interface SettingsOf {
  readonly group: GroupSettings;
  readonly user: UserSettings;
  readonly protocol: ProtocolSettings;
  readonly gateway: GatewaySettings;
  readonly resource: ResourceSettings;
  readonly "admission-rule": RuleSettings;
  readonly policy: PolicySettings;
  readonly "identity-provider": ProviderSettings;
  readonly "tenant-settings": NamedTenantSettings;
}

/** Fields whose order has no meaning. */
export const setsOf: { readonly [K in ConfiguredKind]: readonly (keyof SettingsOf[K] & string)[] } = {
  group: ["roles"],
  user: ["groups", "roles"],
  protocol: [],
  gateway: [],
  resource: ["addresses"],
  "admission-rule": [],
  policy: ["groups", "users", "devices", "resources"],
  "identity-provider": ["scopes"],
  "tenant-settings": [],
};

/** Compares texts by code unit, which gives the same order everywhere. */
export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The texts sorted, each once. */
export function sortedSet<T extends string>(texts: readonly T[]): readonly T[] {
  return [...new Set(texts)].sort(byText);
}

/** Facts, sorted by name. */
export function sortedFacts(facts: User["attributes"]): User["attributes"] {
  return Object.fromEntries(Object.entries(facts).sort(([a], [b]) => byText(a, b)));
}

/** The key of an email address, which is compared regardless of letter case. */
export function emailKey(email: string): string {
  return email.toLowerCase();
}

/** One value per kind of record. */
export function ofEachKind<T>(of: (kind: ConfiguredKind) => T): Readonly<Record<ConfiguredKind, T>> {
  return {
    group: of("group"),
    user: of("user"),
    protocol: of("protocol"),
    gateway: of("gateway"),
    resource: of("resource"),
    "admission-rule": of("admission-rule"),
    policy: of("policy"),
    "identity-provider": of("identity-provider"),
    "tenant-settings": of("tenant-settings"),
  };
}
