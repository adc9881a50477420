import Type from "typebox";
import { list } from "../list.ts";
import { operation } from "../operation.ts";
import { Policy, policyModes, policyTypes } from "../records/policy.ts";
import { closedObject, Description, idList, Name, oneOf, Uuid } from "../schema.ts";

const tag = "Policies";

/** Fields that both createPolicy and updatePolicy accept. */
const settings = {
  mode: Type.Optional(
    oneOf([...policyModes, "REMOTE"], { description: "INTERNET policies only. REMOTE means INTERNET_ACCESS_POINT." }),
  ),
  allGroups: Type.Optional(Type.Boolean()),
  allUsers: Type.Optional(Type.Boolean()),
  allDevices: Type.Optional(Type.Boolean()),
  allResources: Type.Optional(Type.Boolean()),
  groups: Type.Optional(idList("Groups whose members the policy applies to.")),
  users: Type.Optional(idList("Users that the policy applies to.")),
  devices: Type.Optional(idList("Devices that the policy applies to.")),
  resources: Type.Optional(idList("Resources that the policy applies to.")),
  gateways: Type.Optional(idList("Gateways that may carry the traffic; empty for all gateways of the resource.", 500)),
  sourceIps: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
      maxItems: 500,
      description: "Addresses or CIDRs that requests must come from; empty for any address.",
    }),
  ),
  rule: Type.Optional(
    Type.Unsafe<string>({
      ...Uuid,
      description: "Id of an admission rule. Without a rule, requests are not restricted further.",
    }),
  ),
  description: Type.Optional(Description),
};

/** Flags of createPolicy. They have a default only there: a flag that updatePolicy omits stays unchanged. */
const flagDefaults = {
  allGroups: Type.Optional(Type.Boolean({ default: false })),
  allUsers: Type.Optional(Type.Boolean({ default: false })),
  allDevices: Type.Optional(Type.Boolean({ default: false })),
  allResources: Type.Optional(Type.Boolean({ default: false })),
};

export const createPolicy = operation({
  id: "createPolicy",
  method: "POST",
  path: "/tenants/policies",
  tag,
  summary: "Create a policy",
  description: "The policy is added last among the policies of its type, before the default policy.",
  access: "policies:write",
  changesAccess: true,
  body: closedObject({ name: Name, type: oneOf(policyTypes), action: Type.Boolean(), ...settings, ...flagDefaults }),
  success: { status: 201, kind: "record", body: Policy },
  errors: ["name_taken", "unknown_reference", "invalid_address", "invalid_combination"],
});

export const listPolicies = operation({
  id: "listPolicies",
  method: "GET",
  path: "/tenants/policies",
  tag,
  summary: "List policies",
  access: "policies:read",
  success: {
    status: 200,
    kind: "page",
    item: Policy,
    list: list({
      sort: ["id", "name", "order", "createdAt"],
      filter: {
        id: { kind: "uuid" },
        name: { kind: "text" },
        type: { kind: "enum", values: policyTypes },
        active: { kind: "boolean" },
        action: { kind: "boolean" },
        "resources.id": { kind: "uuid" },
        "groups.id": { kind: "uuid" },
        "users.id": { kind: "uuid" },
        "rule.id": { kind: "uuid" },
      },
    }),
  },
});

export const readPolicy = operation({
  id: "readPolicy",
  method: "GET",
  path: "/tenants/policies/{id}",
  tag,
  summary: "Read a policy",
  access: "policies:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Policy },
});

export const updatePolicy = operation({
  id: "updatePolicy",
  method: "PATCH",
  path: "/tenants/policies/{id}",
  tag,
  summary: "Update a policy",
  description: "Omitted fields stay unchanged; lists are replaced as a whole. The type cannot be changed.",
  access: "policies:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  body: closedObject({
    name: Type.Optional(Name),
    type: Type.Optional(oneOf(policyTypes, { description: "If present, must be the policy's current type." })),
    action: Type.Optional(Type.Boolean()),
    ...settings,
  }),
  success: { status: 200, kind: "record", body: Policy },
  errors: ["name_taken", "unknown_reference", "invalid_address", "invalid_combination", "policy_is_default"],
});

export const deletePolicy = operation({
  id: "deletePolicy",
  method: "DELETE",
  path: "/tenants/policies/{id}",
  tag,
  summary: "Delete a policy",
  access: "policies:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["policy_is_default"],
});

export const deactivatePolicy = operation({
  id: "deactivatePolicy",
  method: "PATCH",
  path: "/tenants/policies/{id}/deactivate",
  tag,
  summary: "Deactivate a policy",
  description: "An inactive policy is not evaluated and does not prevent deleting its resources. Idempotent.",
  access: "policies:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Policy },
  errors: ["policy_is_default"],
});

export const reactivatePolicy = operation({
  id: "reactivatePolicy",
  method: "POST",
  path: "/tenants/policies/{id}/reactivate",
  tag,
  summary: "Reactivate a policy",
  access: "policies:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 201, kind: "record", body: Policy },
  errors: ["policy_not_deactivated"],
});

export const reorderPolicies = operation({
  id: "reorderPolicies",
  method: "POST",
  path: "/tenants/policies/reorder",
  tag,
  summary: "Reorder the policies of a type",
  description:
    "Requires the complete list of policies of the type. The default policy is either last or omitted. `If-Match` takes the tenant's generation, for example from a preview.",
  access: "policies:write",
  changesAccess: true,
  conditional: true,
  body: closedObject({
    type: oneOf(policyTypes),
    policies: Type.Array(Uuid, { maxItems: 20_000, description: "Ids of all policies of the type, first to last." }),
  }),
  success: { status: 204, kind: "empty" },
  errors: ["incomplete_order"],
});
