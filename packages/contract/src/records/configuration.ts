/**
 * A tenant's configuration as one document: the format that `gatehouse export` writes and `gatehouse apply` reads.
 * Records refer to each other by name, to users by email address, and to devices by public key. A section that is
 * present lists all records of its kind; an omitted section leaves its records unchanged. Fields with their default
 * value can be omitted.
 */
import Type, { type Static, type TSchema } from "typebox";
import { roleTypes } from "../permissions.ts";
import { closedObject, component, Description, Email, Name, oneOf, shortText } from "../schema.ts";
import { AddressText, mostAnswerBlocks, resourceTypes } from "./address.ts";
import { RuleText } from "./admission-rule.ts";
import { Endpoint } from "./gateway.ts";
import { gatewaySettingsFields } from "./gateway-settings.ts";
import {
  ClientId,
  defaultProviderSettings,
  firstSignIns,
  GroupsClaim,
  Issuer,
  maxIdentityProviders,
  Scopes,
} from "./identity-provider.ts";
import { policyModes, policyTypes } from "./policy.ts";
import { RequestedNetworkProtocol } from "./protocol.ts";
import { loadBalancingModes } from "./resource.ts";
import {
  configurationLifetime,
  defaultTenantSettings,
  deviceSessionSeconds,
  type TenantSettings,
  tenantSettingsFields,
} from "./tenant-settings.ts";
import { Attributes, maxGroupsOfUser } from "./user.ts";

/** The version of the document format. */
export const configurationVersion = 1;

/** The largest document as JSON, in bytes. */
export const configurationLimitBytes = 32 * 1_048_576;

/** The most records of each kind in a tenant that can be exported and applied as one document. */
export const configurationLimits = {
  groups: 5_000,
  users: 100_000,
  protocols: 5_000,
  gateways: 5_000,
  resources: 50_000,
  addresses: 250_000,
  admissionRules: 2_000,
  /** Limit for each policy type. */
  policies: 20_000,
  /** Limit for each kind of reference: group members, gateways of resources, and records that policies refer to. */
  references: 500_000,
} as const;

/** The schema with another description. */
function described<S extends TSchema>(schema: S, description: string, options: object = {}) {
  return Type.Unsafe<Static<S>>({ ...schema, description, ...options });
}

function listOf<S extends TSchema>(item: S, maxItems: number, description: string, options: object = {}) {
  return Type.Optional(Type.Array(item, { maxItems, description, ...options }));
}

function namesOf(what: string, maxItems: number, description: string, options: object = {}) {
  return listOf(described(Name, `Name of ${what}.`), maxItems, description, { uniqueItems: true, ...options });
}

function flag(initially: boolean, description: string) {
  return Type.Optional(Type.Boolean({ default: initially, description }));
}

const ConfiguredDescription = Type.Optional(described(Description, "Description for administrators."));

/** Every role type except OWNER: ownership is transferred, never assigned. */
export const assignableRoleTypes = roleTypes.filter((type) => type !== "OWNER");
export type AssignableRoleType = Exclude<(typeof roleTypes)[number], "OWNER">;
const AssignableRole = Type.Unsafe<AssignableRoleType>({
  type: "string",
  enum: assignableRoleTypes,
  description: "Role type.",
});

const ConfiguredGroup = component("ConfiguredGroup", "A group, identified by name.", {
  name: described(Name, "The group's name. Users and policies refer to the group by this name."),
  description: ConfiguredDescription,
  roles: listOf(AssignableRole, 20, "Roles that members inherit.", { uniqueItems: true }),
  maxDevices: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 1000, default: 5, description: "Devices that each member can enrol." }),
  ),
  deviceSessionLifetime: Type.Optional(
    Type.Integer({
      ...deviceSessionSeconds,
      description:
        "How long devices of members are trusted after their users signed in on them, in seconds; no limit by this group if omitted.",
    }),
  ),
  isSamlDefaultGroup: flag(
    false,
    "Whether new users from single sign-on join this group. Must be true for exactly one group.",
  ),
  idpMapping: listOf(
    shortText(256, "Name of a group of the identity provider."),
    100,
    "Groups of the identity provider that map to this group.",
    {
      uniqueItems: true,
    },
  ),
});
export type ConfiguredGroup = Static<typeof ConfiguredGroup>;

const ConfiguredUser = component(
  "ConfiguredUser",
  "A user, identified by email address. A user who does not exist yet is invited.",
  {
    email: described(Email, "The user's email address. Letter case is ignored."),
    firstName: Type.Optional(shortText(120, "First name.")),
    lastName: Type.Optional(shortText(120, "Last name.")),
    groups: namesOf("a group", maxGroupsOfUser, "The user's groups; only the tenant's default group if omitted.", {
      minItems: 1,
    }),
    roles: listOf(AssignableRole, 20, "Roles that are assigned to the user directly, without the owner role.", {
      uniqueItems: true,
    }),
    maxDevices: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1000,
        description: "Devices that the user can enrol; if omitted, the limit of the user's groups applies.",
      }),
    ),
    attributes: Type.Optional(Attributes),
  },
);
export type ConfiguredUser = Static<typeof ConfiguredUser>;

const ConfiguredProtocol = component("ConfiguredProtocol", "A custom protocol, identified by name.", {
  name: described(Name, "The protocol's name. Names of predefined protocols are reserved."),
  networkProtocols: Type.Array(RequestedNetworkProtocol, {
    minItems: 1,
    maxItems: 100,
    description: "Transport protocols with their ports.",
  }),
});
export type ConfiguredProtocol = Static<typeof ConfiguredProtocol>;

const ConfiguredGateway = component(
  "ConfiguredGateway",
  "A gateway, identified by name. The document never contains its token.",
  {
    name: described(Name, "The gateway's name. Resources and policies refer to the gateway by this name."),
    wireguardPort: Type.Integer({
      minimum: 1,
      maximum: 65535,
      description: "The UDP port on which the gateway listens for WireGuard.",
    }),
    description: ConfiguredDescription,
    endpoint: Type.Optional(
      described(Endpoint, "Host name or IP address that devices connect to; discovered automatically if omitted."),
    ),
    relayEnabled: flag(
      false,
      "Whether the gateway relays packets to other gateways for devices that cannot reach those gateways directly.",
    ),
    resolvers: Type.Optional(gatewaySettingsFields.resolvers),
    domains: Type.Optional(gatewaySettingsFields.domains),
    networks: Type.Optional(
      described(
        gatewaySettingsFields.networks,
        "Networks behind the gateway, for traffic between sites. If omitted: the addresses of the private resources that list this gateway first.",
      ),
    ),
    relayPort: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 65535,
        description:
          "The UDP port on which relays accept packets for this gateway; if omitted, no gateway relays for it.",
      }),
    ),
  },
);
export type ConfiguredGateway = Static<typeof ConfiguredGateway>;

const ConfiguredAddress = component("ConfiguredAddress", "An address of a resource.", {
  address: AddressText,
  protocols: namesOf("a protocol", 100, "The protocols that the address is reached by."),
  answersWithin: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 49, description: "An address or a CIDR." }), {
      minItems: 1,
      maxItems: mostAnswerBlocks,
      description:
        "For a name of a PRIVATE resource: blocks that contain every address that DNS may return. If omitted: the `networks` of the gateway, if it has any.",
    }),
  ),
});

const ConfiguredResource = component("ConfiguredResource", "A resource, identified by name.", {
  name: described(Name, "The resource's name. Policies refer to the resource by this name."),
  type: oneOf(resourceTypes, { description: "The type of the resource. It cannot be changed." }),
  description: ConfiguredDescription,
  loadBalancingMode: Type.Optional(
    oneOf(loadBalancingModes, { default: "MANUAL", description: "How traffic is distributed over the gateways." }),
  ),
  gateways: namesOf("a gateway", 500, "Gateways that serve the resource, in order of priority."),
  addresses: listOf(ConfiguredAddress, 500, "Addresses of the resource."),
});
export type ConfiguredResource = Static<typeof ConfiguredResource>;

const ConfiguredAdmissionRule = component("ConfiguredAdmissionRule", "A custom admission rule, identified by name.", {
  name: described(Name, "The rule's name. Policies refer to the rule by this name."),
  rule: RuleText,
  hasTimeConstraint: flag(false, "Must be true if the rule reads `now` or `session.age`."),
});
export type ConfiguredAdmissionRule = Static<typeof ConfiguredAdmissionRule>;

const ConfiguredDevice = component(
  "ConfiguredDevice",
  "A device that a policy refers to. Devices are enrolled, not configured.",
  {
    publicKey: Type.String({ minLength: 1, maxLength: 64, description: "The device's WireGuard public key." }),
    name: Type.Optional(shortText(120, "The device's name, for readers of the document only. Gatehouse ignores it.")),
  },
);
export type ConfiguredDevice = Static<typeof ConfiguredDevice>;

const policyGateways = namesOf(
  "a gateway",
  500,
  "Gateways that may carry the traffic; all gateways of the resource if omitted.",
);

const ConfiguredPolicy = component("ConfiguredPolicy", "A policy, identified by name.", {
  name: described(Name, "The policy's name, unique among policies of all types."),
  description: ConfiguredDescription,
  action: Type.Boolean({ description: "True allows access, false denies it." }),
  active: flag(true, "Whether the policy is evaluated."),
  mode: Type.Optional(
    oneOf(policyModes, {
      description:
        "How internet traffic is handled. Only for INTERNET policies; LOCAL by default for policies that allow access.",
    }),
  ),
  allGroups: flag(false, "Whether the policy applies to members of any group."),
  allUsers: flag(false, "Whether the policy applies to all users."),
  allDevices: flag(false, "Whether the policy applies to all devices."),
  allResources: flag(false, "Whether the policy applies to all resources."),
  groups: namesOf("a group", 5_000, "Groups whose members the policy applies to."),
  users: listOf(described(Email, "Email address of a user."), 5_000, "Users that the policy applies to.", {
    uniqueItems: true,
  }),
  devices: listOf(ConfiguredDevice, 5_000, "Devices that the policy applies to."),
  resources: namesOf("a resource", 5_000, "Resources that the policy applies to."),
  gateways: policyGateways,
  sourceIps: listOf(
    Type.String({ minLength: 1, maxLength: 64, description: "An address or a CIDR." }),
    500,
    "Addresses or CIDRs that requests must come from; any address if omitted.",
  ),
  rule: Type.Optional(
    described(Name, "Name of an admission rule. Without a rule, requests are not restricted further."),
  ),
});
export type ConfiguredPolicy = Static<typeof ConfiguredPolicy>;

const ConfiguredDefaultPolicy = component(
  "ConfiguredDefaultPolicy",
  "The default policy for internet traffic that no other policy decides.",
  {
    mode: oneOf(policyModes, { description: "How this traffic is handled." }),
    gateways: policyGateways,
    description: ConfiguredDescription,
  },
);
export type ConfiguredDefaultPolicy = Static<typeof ConfiguredDefaultPolicy>;

const policiesOfType = (what: string) =>
  listOf(ConfiguredPolicy, configurationLimits.policies, `${what}, in order of evaluation.`);

const ConfiguredIdentityProvider = component(
  "ConfiguredIdentityProvider",
  "An OpenID Connect provider, identified by name. The document never contains its client secret: an existing provider keeps it, and a new one has none until it is set through the API.",
  {
    name: described(Name, "The provider's name."),
    issuer: Issuer,
    clientId: described(ClientId, "The client ID that the provider gave to Gatehouse."),
    scopes: Type.Optional(
      described(Scopes, "Scopes in addition to `openid`.", { default: defaultProviderSettings.scopes }),
    ),
    groupsClaim: Type.Optional(
      described(GroupsClaim, "The claim with the names of a person's groups.", {
        default: defaultProviderSettings.groupsClaim,
      }),
    ),
    firstSignIn: Type.Optional(
      oneOf(firstSignIns, {
        default: defaultProviderSettings.firstSignIn,
        description: "Who can sign in with an account that belongs to no user yet.",
      }),
    ),
    linkVerifiedEmail: flag(
      false,
      "Whether an account that belongs to no user yet is linked to the active user with the same verified email address.",
    ),
    enabled: flag(
      false,
      "Whether people can sign in with the provider. A provider must pass a test sign-in first, and again after a change of issuer, client ID, scopes or groups claim.",
    ),
  },
);
export type ConfiguredIdentityProvider = Static<typeof ConfiguredIdentityProvider>;

const policySections = {
  PRIVATE: policiesOfType("Policies for private resources"),
  SAAS: policiesOfType("Policies for SaaS resources"),
  INTERNET: policiesOfType("Policies for internet traffic, without the default policy"),
  SITETOSITE: policiesOfType("Policies for traffic between sites"),
} satisfies Record<(typeof policyTypes)[number], TSchema>;

const ConfiguredTenantSettings = component(
  "ConfiguredTenantSettings",
  "Settings that apply to the tenant as a whole. An omitted setting gets its default.",
  {
    configurationLifetime: Type.Optional(
      Type.Unsafe<number>({
        ...tenantSettingsFields.configurationLifetime,
        default: configurationLifetime.default,
      }),
    ),
    sessionLifetime: Type.Optional(
      Type.Unsafe<number>({ ...tenantSettingsFields.sessionLifetime, default: defaultTenantSettings.sessionLifetime }),
    ),
    sessionIdleTime: Type.Optional(
      Type.Unsafe<number>({ ...tenantSettingsFields.sessionIdleTime, default: defaultTenantSettings.sessionIdleTime }),
    ),
    singleSignOnOnly: Type.Optional(
      Type.Unsafe<boolean>({
        ...tenantSettingsFields.singleSignOnOnly,
        default: defaultTenantSettings.singleSignOnOnly,
      }),
    ),
    deviceApproval: Type.Optional(
      Type.Unsafe<TenantSettings["deviceApproval"]>({
        ...tenantSettingsFields.deviceApproval,
        default: defaultTenantSettings.deviceApproval,
      }),
    ),
    deviceSessionLifetime: Type.Optional(
      Type.Unsafe<TenantSettings["deviceSessionLifetime"]>({
        ...tenantSettingsFields.deviceSessionLifetime,
        default: defaultTenantSettings.deviceSessionLifetime,
      }),
    ),
  },
);
export type ConfiguredTenantSettings = Static<typeof ConfiguredTenantSettings>;

export const Configuration = component(
  "Configuration",
  "A tenant's configuration. A section that is present lists all records of its kind; an omitted section leaves its records unchanged.",
  {
    version: Type.Unsafe<typeof configurationVersion>({
      type: "integer",
      enum: [configurationVersion],
      description: "Version of the document format: 1.",
    }),
    groups: listOf(ConfiguredGroup, configurationLimits.groups, "All groups."),
    users: listOf(ConfiguredUser, configurationLimits.users, "All users."),
    protocols: listOf(ConfiguredProtocol, configurationLimits.protocols, "All protocols except the predefined ones."),
    gateways: listOf(ConfiguredGateway, configurationLimits.gateways, "All gateways."),
    resources: listOf(ConfiguredResource, configurationLimits.resources, "All resources."),
    admissionRules: listOf(
      ConfiguredAdmissionRule,
      configurationLimits.admissionRules,
      "All admission rules except the built-in ones.",
    ),
    policies: Type.Optional(
      closedObject(policySections, { description: "Policies by type. An omitted type leaves its policies unchanged." }),
    ),
    defaultInternetPolicy: Type.Optional(ConfiguredDefaultPolicy),
    identityProviders: listOf(ConfiguredIdentityProvider, maxIdentityProviders, "All identity providers."),
    settings: Type.Optional(ConfiguredTenantSettings),
  },
);
export type Configuration = Static<typeof Configuration>;

export const configuredKinds = [
  "group",
  "user",
  "protocol",
  "gateway",
  "resource",
  "admission-rule",
  "policy",
  "identity-provider",
  "tenant-settings",
] as const;
export type ConfiguredKind = (typeof configuredKinds)[number];

const anyValue = (description: string) => Type.Optional(Type.Unsafe<unknown>({ description }));

const FieldChange = component(
  "ConfigurationFieldChange",
  "A changed field with its values before and after, or the entries that a set gains and loses.",
  {
    field: Type.String({ description: "The field's name in the document; `order` for a policy's position." }),
    before: anyValue("The current value; omitted for sets."),
    after: anyValue("The new value; omitted for sets."),
    added: Type.Optional(Type.Array(Type.Unsafe<unknown>({}), { description: "Entries that are added to a set." })),
    removed: Type.Optional(
      Type.Array(Type.Unsafe<unknown>({}), { description: "Entries that are removed from a set." }),
    ),
  },
);
export type FieldChange = Static<typeof FieldChange>;

const ConfigurationChange = component("ConfigurationChange", "A record that is created, changed or deleted.", {
  action: oneOf(["create", "update", "delete"]),
  kind: oneOf(configuredKinds),
  name: Type.String({
    description: "The record's name; for a user, the email address; for the tenant's settings, `settings`.",
  }),
  policyType: Type.Optional(oneOf(policyTypes)),
  implied: Type.Optional(
    Type.Boolean({
      description:
        "True if the document does not contain the record, and the record only loses references to deleted records.",
    }),
  ),
  fields: Type.Array(FieldChange, { description: "The fields that an update changes." }),
});
export type ConfigurationChange = Static<typeof ConfigurationChange>;

export const ConfigurationPlan = component(
  "ConfigurationPlan",
  "The changes that applying a document makes or has made.",
  {
    generation: Type.Integer({
      description:
        "The tenant's generation: the number of commands that have changed it. Also the ETag, for If-Match when applying.",
    }),
    summary: component("ConfigurationSummary", "Numbers of changed records.", {
      created: Type.Integer(),
      updated: Type.Integer(),
      deleted: Type.Integer(),
    }),
    changes: Type.Array(ConfigurationChange, { description: "Changes in the order of the document's sections." }),
  },
);
export type ConfigurationPlan = Static<typeof ConfigurationPlan>;
