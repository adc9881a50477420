/**
 * A tenant's configuration as one document: what `gatehouse export` writes and `gatehouse apply` reads. Records refer to
 * each other by name, users by e-mail address, devices by public key. A section that is present is the whole truth about
 * its kind; one that is absent is left alone. Fields at their defaults may be left out.
 */
import Type, { type Static, type TSchema } from "typebox";
import { roleTypes } from "../permissions.ts";
import { closedObject, component, Description, Email, Name, oneOf, shortText } from "../schema.ts";
import { AddressText, resourceTypes } from "./address.ts";
import { RuleText } from "./admission-rule.ts";
import { Endpoint } from "./gateway.ts";
import { gatewaySettingsFields } from "./gateway-settings.ts";
import { policyModes, policyTypes } from "./policy.ts";
import { RequestedNetworkProtocol } from "./protocol.ts";
import { loadBalancingModes } from "./resource.ts";
import { Attributes } from "./user.ts";

/** The form that documents have; another one gets another number. */
export const configurationVersion = 1;

/** How long a document may be as JSON, in bytes. */
export const configurationLimitBytes = 32 * 1_048_576;

/** How many of each a tenant may have to be read and written as one document. */
export const configurationBounds = {
  groups: 5_000,
  users: 100_000,
  protocols: 5_000,
  gateways: 5_000,
  resources: 50_000,
  addresses: 250_000,
  admissionRules: 2_000,
  /** Of each type. */
  policies: 20_000,
  /** Members of groups, connections of resources to gateways, records that policies name: of each sort. */
  references: 500_000,
} as const;

/** The schema with other words about it. */
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

const ConfiguredDescription = Type.Optional(described(Description, "What people should know of it."));

/** Every role but the owner's: ownership is transferred, never assigned. */
export const assignableRoleTypes = roleTypes.filter((type) => type !== "OWNER");
export type AssignableRoleType = Exclude<(typeof roleTypes)[number], "OWNER">;
const AssignableRole = Type.Unsafe<AssignableRoleType>({
  type: "string",
  enum: assignableRoleTypes,
  description: "Type of a role.",
});

const ConfiguredGroup = component("ConfiguredGroup", "A group, by its name.", {
  name: described(Name, "The group's name, by which users and policies refer to it."),
  description: ConfiguredDescription,
  roles: listOf(AssignableRole, 20, "Roles that members inherit.", { uniqueItems: true }),
  maxDevices: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 1000, default: 5, description: "Devices that a member may enrol." }),
  ),
  isSamlDefaultGroup: flag(
    false,
    "Whether new users from single sign-on join this group. Exactly one group of the list has it.",
  ),
  idpMapping: listOf(shortText(256, "Name of a group there."), 100, "Groups of the identity provider.", {
    uniqueItems: true,
  }),
});
export type ConfiguredGroup = Static<typeof ConfiguredGroup>;

const ConfiguredUser = component("ConfiguredUser", "A user, by e-mail address. One who is not there yet is invited.", {
  email: described(Email, "The user's e-mail address; letter case makes no difference."),
  firstName: Type.Optional(shortText(120, "First name.")),
  lastName: Type.Optional(shortText(120, "Last name.")),
  groups: namesOf("a group", 100, "The user's groups; absent: the tenant's default group alone.", { minItems: 1 }),
  roles: listOf(AssignableRole, 20, "Roles that the user holds directly. The owner's role is not written here.", {
    uniqueItems: true,
  }),
  maxDevices: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1000,
      description: "Devices that the user may enrol; absent: as the groups say.",
    }),
  ),
  attributes: Type.Optional(Attributes),
});
export type ConfiguredUser = Static<typeof ConfiguredUser>;

const ConfiguredProtocol = component("ConfiguredProtocol", "A protocol of your own, by its name.", {
  name: described(Name, "The protocol's name; those of the predefined ones are taken."),
  networkProtocols: Type.Array(RequestedNetworkProtocol, {
    minItems: 1,
    maxItems: 100,
    description: "Transport protocols with their ports.",
  }),
});
export type ConfiguredProtocol = Static<typeof ConfiguredProtocol>;

const ConfiguredGateway = component("ConfiguredGateway", "A gateway, by its name. Its token is never written here.", {
  name: described(Name, "The gateway's name, by which resources and policies refer to it."),
  wireguardPort: Type.Integer({ minimum: 1, maximum: 65535, description: "A UDP port." }),
  description: ConfiguredDescription,
  endpoint: Type.Optional(
    described(Endpoint, "Host name or IP address that devices connect to; absent: discovered automatically."),
  ),
  relayEnabled: flag(
    false,
    "Whether the gateway passes packets on to other gateways, for devices that cannot reach those.",
  ),
  resolvers: Type.Optional(gatewaySettingsFields.resolvers),
  domains: Type.Optional(gatewaySettingsFields.domains),
  networks: Type.Optional(
    described(
      gatewaySettingsFields.networks,
      "The networks behind the gateway, for traffic between sites; absent: the addresses of the private resources of which it is the first gateway.",
    ),
  ),
  relayPort: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 65535,
      description: "The UDP port on which relays take packets for this gateway; absent: no gateway relays for it.",
    }),
  ),
});
export type ConfiguredGateway = Static<typeof ConfiguredGateway>;

const ConfiguredAddress = component("ConfiguredAddress", "An address of a resource.", {
  address: AddressText,
  protocols: namesOf("a protocol", 100, "The protocols that the address is reached by."),
});

const ConfiguredResource = component("ConfiguredResource", "A resource, by its name.", {
  name: described(Name, "The resource's name, by which policies refer to it."),
  type: oneOf(resourceTypes, { description: "What kind of network it is on; set once." }),
  description: ConfiguredDescription,
  loadBalancingMode: Type.Optional(
    oneOf(loadBalancingModes, { default: "MANUAL", description: "How traffic is spread over the gateways." }),
  ),
  gateways: namesOf("a gateway", 500, "Gateways that lead to it, in order of priority."),
  addresses: listOf(ConfiguredAddress, 500, "Where it is found."),
});
export type ConfiguredResource = Static<typeof ConfiguredResource>;

const ConfiguredAdmissionRule = component("ConfiguredAdmissionRule", "An admission rule of your own, by its name.", {
  name: described(Name, "The rule's name, by which policies refer to it."),
  rule: RuleText,
  hasTimeConstraint: flag(false, "Must be true for a rule that reads `now`."),
});
export type ConfiguredAdmissionRule = Static<typeof ConfiguredAdmissionRule>;

const ConfiguredDevice = component(
  "ConfiguredDevice",
  "A device that a policy names. Devices are enrolled, not configured.",
  {
    publicKey: Type.String({ minLength: 1, maxLength: 64, description: "The device's WireGuard public key." }),
    name: Type.Optional(shortText(120, "What the device is called, for people; it is not compared.")),
  },
);
export type ConfiguredDevice = Static<typeof ConfiguredDevice>;

const policyGateways = namesOf("a gateway", 500, "Gateways that may be used; none: all of the resource's.");

const ConfiguredPolicy = component("ConfiguredPolicy", "A policy, by its name.", {
  name: described(Name, "The policy's name; unique among the policies of all types."),
  description: ConfiguredDescription,
  action: Type.Boolean({ description: "True allows access, false denies it." }),
  active: flag(true, "False takes the policy out of evaluation."),
  mode: Type.Optional(
    oneOf(policyModes, {
      description: "INTERNET policies only: what traffic does; LOCAL where one that allows has none.",
    }),
  ),
  allGroups: flag(false, "Whether the policy applies to members of any group."),
  allUsers: flag(false, "Whether the policy applies to all users."),
  allDevices: flag(false, "Whether the policy applies to all devices."),
  allResources: flag(false, "Whether the policy applies to all resources."),
  groups: namesOf("a group", 5_000, "Groups whose members the policy applies to."),
  users: listOf(described(Email, "E-mail address of a user."), 5_000, "Users whom the policy applies to.", {
    uniqueItems: true,
  }),
  devices: listOf(ConfiguredDevice, 5_000, "Devices that the policy applies to."),
  resources: namesOf("a resource", 5_000, "Resources that the policy applies to."),
  gateways: policyGateways,
  sourceIps: listOf(
    Type.String({ minLength: 1, maxLength: 64, description: "An address or a CIDR." }),
    500,
    "Where requests must come from; none: anywhere.",
  ),
  rule: Type.Optional(described(Name, "Name of an admission rule; absent: no restriction.")),
});
export type ConfiguredPolicy = Static<typeof ConfiguredPolicy>;

const ConfiguredDefaultPolicy = component(
  "ConfiguredDefaultPolicy",
  "What happens to internet traffic that no other policy decides.",
  {
    mode: oneOf(policyModes, { description: "What that traffic does." }),
    gateways: policyGateways,
    description: ConfiguredDescription,
  },
);
export type ConfiguredDefaultPolicy = Static<typeof ConfiguredDefaultPolicy>;

const policiesOfType = (what: string) =>
  listOf(ConfiguredPolicy, configurationBounds.policies, `${what}, in the order in which they are evaluated.`);

const policySections = {
  PRIVATE: policiesOfType("Policies for private resources"),
  SAAS: policiesOfType("Policies for SaaS resources"),
  INTERNET: policiesOfType("Policies for internet traffic, without the default one"),
  SITETOSITE: policiesOfType("Policies for traffic between sites"),
} satisfies Record<(typeof policyTypes)[number], TSchema>;

export const Configuration = component(
  "Configuration",
  "A tenant's configuration. A list that is present is the whole truth about its kind; an absent one is left alone.",
  {
    version: Type.Unsafe<typeof configurationVersion>({
      type: "integer",
      enum: [configurationVersion],
      description: "The form of the document: 1.",
    }),
    groups: listOf(ConfiguredGroup, configurationBounds.groups, "All groups."),
    users: listOf(ConfiguredUser, configurationBounds.users, "All users."),
    protocols: listOf(ConfiguredProtocol, configurationBounds.protocols, "All protocols but the predefined ones."),
    gateways: listOf(ConfiguredGateway, configurationBounds.gateways, "All gateways."),
    resources: listOf(ConfiguredResource, configurationBounds.resources, "All resources."),
    admissionRules: listOf(
      ConfiguredAdmissionRule,
      configurationBounds.admissionRules,
      "All admission rules but the built-in ones.",
    ),
    policies: Type.Optional(
      closedObject(policySections, { description: "Policies by type; a type that is absent is left alone." }),
    ),
    defaultInternetPolicy: Type.Optional(ConfiguredDefaultPolicy),
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
] as const;
export type ConfiguredKind = (typeof configuredKinds)[number];

const anyValue = (description: string) => Type.Optional(Type.Unsafe<unknown>({ description }));

const FieldChange = component(
  "ConfigurationFieldChange",
  "A field that changes: from and to, or what a set gains and loses.",
  {
    field: Type.String({ description: "Its name in the document; `order` for a policy's place." }),
    before: anyValue("Its value now; absent for sets."),
    after: anyValue("Its value afterwards; absent for sets."),
    added: Type.Optional(Type.Array(Type.Unsafe<unknown>({}), { description: "What a set gains." })),
    removed: Type.Optional(Type.Array(Type.Unsafe<unknown>({}), { description: "What a set loses." })),
  },
);
export type FieldChange = Static<typeof FieldChange>;

const ConfigurationChange = component("ConfigurationChange", "A record that is created, changed or deleted.", {
  action: oneOf(["create", "update", "delete"]),
  kind: oneOf(configuredKinds),
  name: Type.String({ description: "The record's name; of a user, the e-mail address." }),
  policyType: Type.Optional(oneOf(policyTypes)),
  implied: Type.Optional(
    Type.Boolean({ description: "True where the document does not speak of the record: it loses what is deleted." }),
  ),
  fields: Type.Array(FieldChange, { description: "Of an update, the fields that change." }),
});
export type ConfigurationChange = Static<typeof ConfigurationChange>;

export const ConfigurationPlan = component("ConfigurationPlan", "What applying a document changes, or has changed.", {
  generation: Type.Integer({
    description: "How many commands have changed the tenant; the ETag too, for If-Match when applying.",
  }),
  summary: component("ConfigurationSummary", "How many records are concerned.", {
    created: Type.Integer(),
    updated: Type.Integer(),
    deleted: Type.Integer(),
  }),
  changes: Type.Array(ConfigurationChange, { description: "In the order of the document's sections." }),
});
export type ConfigurationPlan = Static<typeof ConfigurationPlan>;
