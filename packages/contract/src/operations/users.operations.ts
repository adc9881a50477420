import Type, { type Static } from "typebox";
import { list } from "../list.ts";
import { operation } from "../operation.ts";
import { roleTypes } from "../permissions.ts";
import { Role } from "../records/role.ts";
import { Attributes, User, userStatuses } from "../records/user.ts";
import { closedObject, component, Email, idList, nullable, shortText, Uuid } from "../schema.ts";

const tag = "Users";

export const listUsers = operation({
  id: "listUsers",
  method: "GET",
  path: "/tenants/users",
  tag,
  summary: "List users",
  access: "users:read",
  success: {
    status: 200,
    kind: "page",
    item: User,
    list: list({
      sort: ["id", "email", "firstName", "lastName", "createdAt", "lastConnection"],
      filter: {
        id: { kind: "uuid" },
        status: { kind: "enum", values: userStatuses },
        email: { kind: "text" },
        "groups.id": { kind: "uuid" },
        "roles.type": { kind: "enum", values: roleTypes },
      },
    }),
  },
});

export const CreateUser = component("CreateUser", "A user to invite.", {
  email: Email,
  groups: Type.Optional(idList("The user's groups; absent or empty for the tenant's default group.", 100)),
});

export const createUsers = operation({
  id: "createUsers",
  method: "POST",
  path: "/tenants/users",
  tag,
  summary: "Invite one user, or up to 100 at once",
  description: "An array is all or nothing, and is answered with an array in the same order.",
  access: "users:write",
  changesAccess: true,
  body: Type.Unsafe<Static<typeof CreateUser> | Static<typeof CreateUser>[]>({
    anyOf: [CreateUser, Type.Array(CreateUser, { minItems: 1, maxItems: 100 })],
  }),
  success: {
    status: 201,
    kind: "records",
    body: Type.Unsafe<User | User[]>({ anyOf: [User, Type.Array(User)] }),
  },
  errors: ["email_taken", "unknown_reference", "grants_exceed_caller"],
});

export const readUser = operation({
  id: "readUser",
  method: "GET",
  path: "/tenants/users/{id}",
  tag,
  summary: "Read a user",
  access: "users:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: User },
});

export const updateUserProfile = operation({
  id: "updateUserProfile",
  method: "PUT",
  path: "/tenants/users/{id}",
  tag,
  summary: "Update a user's profile",
  description: 'First name, last name and image only. Absent fields stay as they are; `""` clears one.',
  access: "users:write",
  changesAccess: true,
  parameters: { id: "string" },
  body: closedObject({
    firstName: Type.Optional(shortText(120)),
    lastName: Type.Optional(shortText(120)),
    image: Type.Optional(shortText(2048, "URL or path of the profile image.")),
  }),
  success: { status: 200, kind: "record", body: User },
});

export const updateUserSettings = operation({
  id: "updateUserSettings",
  method: "PATCH",
  path: "/tenants/users/{id}",
  tag,
  summary: "Set a user's device limit and attributes",
  description: "`attributes`, where given, replaces all of them. `maxDevices` null means: as the user's groups say.",
  access: "users:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  body: closedObject({
    maxDevices: Type.Optional(nullable(Type.Integer({ minimum: 0, maximum: 1000 }))),
    attributes: Type.Optional(Attributes),
  }),
  success: { status: 200, kind: "record", body: User },
});

export const deleteUser = operation({
  id: "deleteUser",
  method: "DELETE",
  path: "/tenants/users/{id}",
  tag,
  summary: "Delete a user",
  description: "The user's devices stay as records, deactivated and without user. This cannot be undone.",
  access: "users:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
});

export const deactivateUser = operation({
  id: "deactivateUser",
  method: "PATCH",
  path: "/tenants/users/{id}/deactivate",
  tag,
  summary: "Cut a user and all of the user's devices off",
  description: "Idempotent. Data and settings are kept; reactivate restores the state from before.",
  access: "users:write",
  changesAccess: true,
  parameters: { id: "string" },
  success: { status: 200, kind: "record", body: User },
});

export const reactivateUser = operation({
  id: "reactivateUser",
  method: "POST",
  path: "/tenants/users/{id}/reactivate",
  tag,
  summary: "Restore a deactivated user",
  access: "users:write",
  changesAccess: true,
  parameters: { id: "string" },
  success: { status: 201, kind: "record", body: User },
  errors: ["user_not_deactivated"],
});

export const inviteUser = operation({
  id: "inviteUser",
  method: "POST",
  path: "/tenants/users/{id}/invite",
  tag,
  summary: "Renew a pending user's invitation",
  description: "The invitation can be accepted for seven days from now.",
  access: "users:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["user_not_pending"],
});

export const transferOwnership = operation({
  id: "transferOwnership",
  method: "POST",
  path: "/tenants/users/{id}/transfer-ownership",
  tag,
  summary: "Make an active user the tenant's only owner",
  description: "The owner's role leaves the owner before. Takes a key that holds every permission.",
  access: "users:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["user_not_active", "grants_exceed_caller"],
});

export const listUserRoles = operation({
  id: "listUserRoles",
  method: "GET",
  path: "/tenants/users/{id}/roles",
  tag,
  summary: "List the roles that a user holds, directly or through groups",
  description: "The most privileged first, each once. Both flags together: roles held in both ways.",
  access: "users:read",
  parameters: { id: "uuid" },
  flags: {
    groupsOnly: "Leave out roles that the user does not inherit from a group.",
    rolesOnly: "Leave out roles that the user does not hold directly.",
  },
  success: { status: 200, kind: "array", item: Role },
});

export const updateUserRoles = operation({
  id: "updateUserRoles",
  method: "PATCH",
  path: "/tenants/users/{id}/roles",
  tag,
  summary: "Give a user roles, and take roles off",
  description:
    "Changes what the user holds directly. Adding a role that is held, and removing one that is not, changes nothing; a role that the user only inherits cannot be removed here. The owner's role can be neither added nor removed.",
  access: "users:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  body: closedObject({
    addedRoles: Type.Optional(idList("Roles to give the user.", 20)),
    removedRoles: Type.Optional(idList("Roles to take off the user.", 20)),
  }),
  success: { status: 200, kind: "empty" },
  errors: ["unknown_reference", "role_not_assignable", "invalid_combination", "role_inherited", "grants_exceed_caller"],
});

export const addUserToGroup = operation({
  id: "addUserToGroup",
  method: "POST",
  path: "/tenants/users/{id}/groups",
  tag,
  summary: "Put a user into a group",
  description: "Changes nothing for a user who is in it.",
  access: "users:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  body: closedObject({ groupId: Uuid }),
  success: { status: 201, kind: "record", body: User },
  errors: ["unknown_reference", "grants_exceed_caller"],
});

export const removeUserFromGroup = operation({
  id: "removeUserFromGroup",
  method: "DELETE",
  path: "/tenants/users/{id}/groups/{groupId}",
  tag,
  summary: "Take a user out of a group",
  description: "A user keeps at least one group. `If-Match` takes the user's ETag.",
  access: "users:write",
  changesAccess: true,
  parameters: { id: "uuid", groupId: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["last_group"],
});
