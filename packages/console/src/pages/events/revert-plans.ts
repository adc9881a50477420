/** Restorable settings by type of record, and the requests that restore or create a record. */
import type { ResultOf } from "@gatehouse/client/calls";
import type { Permission } from "@gatehouse/contract/permissions";
import { t } from "../../messages/i18n.ts";
import type { PlannedChange } from "../../records/planned-change.ts";

export type State = Readonly<Record<string, unknown>>;

/** A request that creates a record again, and the steps after it. */
export interface Created {
  readonly change: PlannedChange;
  /** False if the new record cannot affect access. */
  readonly changesAccess: boolean;
  /** The differences from the deleted record. */
  readonly notes: readonly string[];
  /** The requests to send once the record exists, with its new id. */
  readonly afterwards: { readonly changes: (id: string) => readonly PlannedChange[] } | undefined;
}

type Creation = Pick<Created, "change" | "notes"> & Partial<Pick<Created, "changesAccess" | "afterwards">>;

export interface RevertPlan<T> {
  /** The path of the list of the records. */
  readonly path: string;
  readonly permission: Permission;
  /** The permission to create a record. Default: `permission`. */
  readonly createPermission?: Permission;
  readonly changesAccess: boolean;
  /** The settings that can be restored, under the names that the page shows. */
  readonly settings: (record: T) => State;
  readonly update?: (at: string, before: T, now: T) => readonly PlannedChange[];
  readonly create?: (before: T) => Creation | string;
}

type User = ResultOf<"/tenants/users/{id}", "get">;
type Group = ResultOf<"/tenants/groups/{id}", "get">;
type Device = ResultOf<"/tenants/devices/{id}", "get">;
type Gateway = ResultOf<"/tenants/gateways/{id}", "get">;
type Resource = ResultOf<"/tenants/resources/{id}", "get">;
type Address = ResultOf<"/tenants/addresses/{id}", "get"> & { readonly resource?: { readonly id: string } };
type Protocol = ResultOf<"/tenants/protocols/{id}", "get">;
type Rule = ResultOf<"/tenants/admission-rules/{id}", "get">;
type Policy = ResultOf<"/tenants/policies/{id}", "get">;
type AccessTest = ResultOf<"/tenants/access-tests/{id}", "get">;
type Webhook = ResultOf<"/tenants/webhooks/{id}", "get">;

const newId = t("events.restore.notes.newId");

const idsOf = (records: readonly { readonly id: string }[]) => records.map(({ id }) => id);
const inAnyOrder = (records: readonly { readonly id: string }[]) => idsOf(records).sort();
const nothing = (text: string | undefined) => text ?? "";

/** The fields of one state that differ from another state. */
export function differing<T extends State>(before: T, now: State): Partial<T> {
  return Object.fromEntries(
    Object.entries(before).filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(now[field])),
  ) as Partial<T>; // a subset of its fields
}

/** One request with the fields that differ, or none if no field differs. */
function changed(method: "PUT" | "PATCH", path: string, before: State, now: State): readonly PlannedChange[] {
  const body = differing(before, now);
  return Object.keys(body).length === 0 ? [] : [{ method, path, body }];
}

/** Like `changed`, for requests that require all fields. */
function whole(method: "POST" | "PUT" | "PATCH", path: string, before: State, now: State): readonly PlannedChange[] {
  return Object.keys(differing(before, now)).length === 0 ? [] : [{ method, path, body: before }];
}

/** @param verbs that lead to true, and to false */
function toggled(at: string, before: boolean, now: boolean, verbs: readonly [PlannedChange, PlannedChange]) {
  if (before === now) return [];
  const { method, path } = verbs[before ? 0 : 1];
  return [{ method, path: `${at}/${path}` }];
}

const groupBody = (group: Group) => ({
  name: group.name,
  description: nothing(group.description),
  maxDevices: group.maxDevices,
  roles: inAnyOrder(group.roles),
  idpMapping: group.idpMapping,
});

const gatewayBody = (gateway: Gateway) => ({
  name: gateway.name,
  wireguardPort: gateway.wireguardPort,
  endpoint: nothing(gateway.endpoint),
  description: nothing(gateway.description),
});

const addressBody = ({ address, protocols }: Pick<Address, "address" | "protocols">) => ({
  address,
  protocols: inAnyOrder(protocols),
});

const ruleBody = ({ name, rule = "", hasTimeConstraint }: Rule) => ({ name, rule, hasTimeConstraint });

const who = ["groups", "users", "devices"] as const;

function policyBody(policy: Policy): State {
  const { type, action, isDefault, mode, name, rule, sourceIps } = policy;
  const gateways = inAnyOrder(policy.gateways);
  const description = nothing(policy.description);
  if (isDefault) return { mode, gateways, description };
  const { allUsers, allGroups, allDevices, allResources } = policy;
  return {
    name,
    action,
    ...(type === "INTERNET" && action ? { mode } : {}),
    ...(type === "SITETOSITE"
      ? {}
      : {
          allUsers,
          allGroups,
          allDevices,
          ...Object.fromEntries(who.map((field) => [field, inAnyOrder(policy[field])])),
        }),
    allResources,
    resources: inAnyOrder(policy.resources),
    gateways,
    sourceIps: [...sourceIps],
    rule: rule.id,
    description,
  };
}

const testBody = (test: AccessTest) => ({
  name: test.name,
  description: nothing(test.description),
  enforced: test.enforced,
  subject: { type: test.subject.type, ...(test.subject.id === undefined ? {} : { id: test.subject.id }) },
  device: test.device,
  resource: {
    type: test.resource.type,
    id: test.resource.id,
    ...(test.resource.properties === undefined ? {} : { properties: test.resource.properties }),
  },
  context: test.context ?? {},
  expected: test.expected,
});

const webhookBody = ({ name, url, events, active, description }: Webhook) => ({
  name,
  url,
  events,
  active,
  description: nothing(description),
});

const users: RevertPlan<User> = {
  path: "/tenants/users",
  permission: "users:write",
  changesAccess: true,
  settings: (user) => ({
    firstName: nothing(user.firstName),
    lastName: nothing(user.lastName),
    image: nothing(user.image),
    maxDevices: user.maxDevices,
    attributes: user.attributes,
    groups: [...user.groups].sort(byId),
    active: user.status !== "inactive",
  }),
  update: (at, before, now) => {
    const profile = ({ firstName, lastName, image }: User) => ({
      firstName: nothing(firstName),
      lastName: nothing(lastName),
      image: nothing(image),
    });
    const settings = ({ maxDevices, attributes }: User) => ({ maxDevices, attributes });
    const [held, holds] = [idsOf(before.groups), idsOf(now.groups)];
    return [
      ...changed("PUT", at, profile(before), profile(now)),
      ...changed("PATCH", at, settings(before), settings(now)),
      // Joins groups before it leaves others, since every user needs a group.
      ...held
        .filter((id) => !holds.includes(id))
        .map((groupId): PlannedChange => ({ method: "POST", path: `${at}/groups`, body: { groupId } })),
      ...holds
        .filter((id) => !held.includes(id))
        .map((id): PlannedChange => ({ method: "DELETE", path: `${at}/groups/${id}` })),
      ...toggled(at, before.status !== "inactive", now.status !== "inactive", [
        { method: "POST", path: "reactivate" },
        { method: "PATCH", path: "deactivate" },
      ]),
    ];
  },
  create: ({ email, groups }) =>
    email === undefined
      ? t("events.restore.impossible.userEmail")
      : {
          change: { method: "POST", path: "/tenants/users", body: { email, groups: idsOf(groups) } },
          notes: [newId, t("events.restore.notes.user")],
        },
};

const groups: RevertPlan<Group> = {
  path: "/tenants/groups",
  permission: "groups:write",
  changesAccess: true,
  settings: (group) => ({
    ...groupBody(group),
    roles: [...group.roles].sort(byId),
    isSamlDefaultGroup: group.isSamlDefaultGroup,
  }),
  update: (at, before, now) =>
    changed(
      "PUT",
      at,
      // A group loses this flag only when another group receives it.
      { ...groupBody(before), ...(before.isSamlDefaultGroup ? { isSamlDefaultGroup: true } : {}) },
      { ...groupBody(now), isSamlDefaultGroup: now.isSamlDefaultGroup },
    ),
  create: (before) => ({
    change: { method: "POST", path: "/tenants/groups", body: groupBody(before) },
    notes: [newId],
  }),
};

const devices: RevertPlan<Device> = {
  path: "/tenants/devices",
  permission: "devices:write",
  changesAccess: true,
  settings: ({ active }) => ({ active }),
  update: (at, before, now) =>
    toggled(at, before.active, now.active, [
      { method: "POST", path: "reactivate" },
      { method: "PATCH", path: "deactivate" },
    ]),
  create: ({ user, name, hardwareId, publicKey, appVersion, os, osVersion, posture }) =>
    user === undefined
      ? t("events.restore.impossible.deviceUser")
      : {
          change: {
            method: "POST",
            path: "/tenants/devices",
            body: { userId: user.id, name, hardwareId, publicKey, appVersion, os, osVersion, posture },
          },
          notes: [newId, t("events.restore.notes.device")],
        },
};

const gateways: RevertPlan<Gateway> = {
  path: "/tenants/gateways",
  permission: "gateways:write",
  changesAccess: true,
  settings: (gateway) => ({
    ...gatewayBody(gateway),
    relayEnabled: gateway.relayEnabled === true,
    maintenance: gateway.status === "MAINTENANCE",
  }),
  update: (at, before, now) => [
    ...changed("PUT", at, gatewayBody(before), gatewayBody(now)),
    ...toggled(at, before.relayEnabled === true, now.relayEnabled === true, [
      { method: "POST", path: "enable-relay" },
      { method: "POST", path: "disable-relay" },
    ]),
    ...toggled(at, before.status === "MAINTENANCE", now.status === "MAINTENANCE", [
      { method: "POST", path: "enter-maintenance" },
      { method: "POST", path: "exit-maintenance" },
    ]),
  ],
  create: (before) => ({
    change: {
      method: "POST",
      path: "/tenants/gateways",
      body: Object.fromEntries(Object.entries(gatewayBody(before)).filter(([, value]) => value !== "")),
    },
    notes: [newId, t("events.restore.notes.gatewayToken"), t("events.restore.notes.gatewayResources")],
  }),
};

const resources: RevertPlan<Resource> = {
  path: "/tenants/resources",
  permission: "resources:write",
  changesAccess: true,
  settings: (resource) => ({
    name: resource.name,
    description: nothing(resource.description),
    addresses: resource.addresses.map(({ id, address, protocols }) => ({
      id,
      name: `${address} (${protocols.map(({ name }) => name).join(", ") || "no protocol"})`,
    })),
    loadBalancingMode: resource.loadBalancingMode,
    gateways: resource.gateways.map(({ id, name }) => ({ id, name })),
  }),
  update: (at, before, now) => {
    const about = ({ name, description }: Resource) => ({ name, description: nothing(description) });
    const balance = ({ loadBalancingMode, gateways: connected }: Resource) => ({
      loadBalancingMode,
      gateways: idsOf(connected),
    });
    const stored = new Map(now.addresses.map((address) => [address.id, address]));
    return [
      ...whole("PATCH", at, about(before), about(now)),
      ...before.addresses.flatMap((address): readonly PlannedChange[] => {
        const present = stored.get(address.id);
        return present === undefined
          ? [{ method: "POST", path: `${at}/addresses`, body: addressBody(address) }]
          : whole("PUT", `/tenants/addresses/${address.id}`, addressBody(address), addressBody(present));
      }),
      ...now.addresses
        .filter(({ id }) => !idsOf(before.addresses).includes(id))
        .map(({ id }): PlannedChange => ({ method: "DELETE", path: `${at}/addresses/${id}` })),
      ...whole("POST", `${at}/loadBalancing`, balance(before), balance(now)),
    ];
  },
  create: ({ name, type, description, addresses, loadBalancingMode, gateways: connected }) => ({
    change: {
      method: "POST",
      path: "/tenants/resources",
      body: {
        name,
        type,
        addresses: addresses.map(addressBody),
        ...(description === undefined ? {} : { description }),
      },
    },
    notes: [newId],
    afterwards:
      connected.length === 0
        ? undefined
        : {
            changes: (id) => [
              {
                method: "POST",
                path: `/tenants/resources/${id}/loadBalancing`,
                body: { loadBalancingMode, gateways: idsOf(connected) },
              },
            ],
          },
  }),
};

const addresses: RevertPlan<Address> = {
  path: "/tenants/addresses",
  permission: "addresses:write",
  createPermission: "resources:write",
  changesAccess: true,
  settings: ({ address, protocols }) => ({ address, protocols: [...protocols].sort(byId) }),
  update: (at, before, now) => whole("PUT", at, addressBody(before), addressBody(now)),
  create: (before) =>
    before.resource === undefined
      ? t("events.restore.impossible.resource")
      : {
          change: {
            method: "POST",
            path: `/tenants/resources/${before.resource.id}/addresses`,
            body: addressBody(before),
          },
          notes: [t("events.restore.notes.address")],
        },
};

const protocols: RevertPlan<Protocol> = {
  path: "/tenants/protocols",
  permission: "protocols:write",
  changesAccess: false,
  settings: ({ name, networkProtocols }) => ({ name, networkProtocols }),
  create: ({ name, networkProtocols }) => ({
    change: { method: "POST", path: "/tenants/protocols", body: { name, networkProtocols } },
    notes: [t("events.restore.notes.protocol")],
  }),
};

const rules: RevertPlan<Rule> = {
  path: "/tenants/admission-rules",
  permission: "admission-rules:write",
  changesAccess: true,
  settings: ruleBody,
  update: (at, before, now) => whole("PUT", at, ruleBody(before), ruleBody(now)),
  create: (before) => ({
    change: { method: "POST", path: "/tenants/admission-rules", body: ruleBody(before) },
    notes: [t("events.restore.notes.rule")],
    changesAccess: false,
  }),
};

const policies: RevertPlan<Policy> = {
  path: "/tenants/policies",
  permission: "policies:write",
  changesAccess: true,
  settings: (policy) => ({
    ...policyBody(policy),
    ...(policy.isDefault
      ? { gateways: policy.gateways }
      : {
          ...Object.fromEntries(who.map((field) => [field, [...policy[field]].sort(byId)])),
          rule: policy.rule,
          resources: [...policy.resources].sort(byId),
          gateways: [...policy.gateways].sort(byId),
        }),
    active: policy.active,
  }),
  update: (at, before, now) => {
    const toggle = toggled(at, before.active, now.active, [
      { method: "POST", path: "reactivate" },
      { method: "PATCH", path: "deactivate" },
    ]);
    const settings = changed("PATCH", at, policyBody(before), policyBody(now));
    // The order ensures that the policy is never active with settings of the other state.
    return before.active ? [...settings, ...toggle] : [...toggle, ...settings];
  },
  create: (before) => {
    const body = { ...policyBody(before), type: before.type };
    const notes = [t("events.restore.notes.policy")];
    if (before.active) return { change: { method: "POST", path: "/tenants/policies", body }, notes };
    // A new policy is active. Without subjects, it allows no access before it is deactivated.
    const empty = { allUsers: false, allGroups: false, allDevices: false, allResources: false };
    const none = { groups: [], users: [], devices: [], resources: [] };
    const blank = differing({ ...body, ...empty, ...none }, {});
    const known = Object.fromEntries(Object.entries(blank).filter(([field]) => field in body));
    return {
      change: { method: "POST", path: "/tenants/policies", body: known },
      notes: [...notes, t("events.restore.notes.policyInactive")],
      afterwards: {
        changes: (id) => [
          { method: "PATCH", path: `/tenants/policies/${id}/deactivate` },
          { method: "PATCH", path: `/tenants/policies/${id}`, body: policyBody(before) },
        ],
      },
    };
  },
};

const accessTests: RevertPlan<AccessTest> = {
  path: "/tenants/access-tests",
  permission: "access-tests:write",
  changesAccess: false,
  settings: testBody,
  update: (at, before, now) => changed("PUT", at, testBody(before), testBody(now)),
  create: (before) => ({
    change: { method: "POST", path: "/tenants/access-tests", body: testBody(before) },
    notes: [t("events.restore.notes.test")],
  }),
};

const webhooks: RevertPlan<Webhook> = {
  path: "/tenants/webhooks",
  permission: "webhooks:write",
  changesAccess: false,
  settings: webhookBody,
  update: (at, before, now) => changed("PATCH", at, webhookBody(before), webhookBody(now)),
  create: () => t("events.restore.impossible.webhook"),
};

const revertPlans: Readonly<Record<string, RevertPlan<never>>> = {
  user: users,
  group: groups,
  device: devices,
  gateway: gateways,
  resource: resources,
  address: addresses,
  protocol: protocols,
  "admission-rule": rules,
  policy: policies,
  "access-test": accessTests,
  webhook: webhooks,
};

function byId(left: { readonly id: string }, right: { readonly id: string }): number {
  return left.id < right.id ? -1 : 1;
}

/** The plan for a type of record; undefined if the type cannot be restored. */
export function revertPlanOf(type: string): RevertPlan<State> | undefined {
  return revertPlans[type] as RevertPlan<State> | undefined; // events hold records in the form of the API
}
