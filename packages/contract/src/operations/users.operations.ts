import Type, { type Static } from "typebox";
import { list } from "../list.ts";
import { operation } from "../operation.ts";
import { roleTypes } from "../permissions.ts";
import { Role } from "../records/role.ts";
import { Attributes, maxGroupsOfUser, User, userStatuses } from "../records/user.ts";
import { closedObject, component, Email, idList, nullable, shortText, Uuid } from "../schema.ts";
import { Notify } from "./enrolment-links.operations.ts";

const tag = "Users";

export const listUsers = operation({
  id: "listUsers",
  method: "GET",
  path: "/tenants/users",
  tag,
  summary: "List users",
  description:
    "`filter[inactiveSince]` compares the time of the last connection, or of the invitation for a user who never connected. `filter[hasConnected]` is false for users who never connected. `filter[isNamedByPolicy]` is true for users whom a policy other than the default policy names: by themselves, through a group, or as all users or groups.",
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
        inactiveSince: { kind: "timestamp" },
        hasConnected: { kind: "boolean" },
        isNamedByPolicy: { kind: "boolean" },
        "groups.id": { kind: "uuid" },
        "roles.type": { kind: "enum", values: roleTypes },
      },
    }),
  },
});

export const CreateUser = component("CreateUser", "A user to invite.", {
  email: Email,
  firstName: Type.Optional(shortText(120)),
  lastName: Type.Optional(shortText(120)),
  attributes: Type.Optional(Attributes),
  groups: Type.Optional(idList("The user's groups; the tenant's default group if omitted or empty.", maxGroupsOfUser)),
  roles: Type.Optional(idList("Roles to assign to the user directly; none if omitted.", 20)),
  notify: Type.Optional(Notify),
});

export const createUsers = operation({
  id: "createUsers",
  method: "POST",
  path: "/tenants/users",
  tag,
  summary: "Invite one user or up to 100 users",
  description: "An array is created in one transaction, and the response is an array in the same order.",
  access: "users:write",
  dangerous: "the user can sign in with an identity provider, or with the link that `notify` sends",
  changesAccess: true,
  body: Type.Unsafe<Static<typeof CreateUser> | Static<typeof CreateUser>[]>({
    anyOf: [CreateUser, Type.Array(CreateUser, { minItems: 1, maxItems: 100 })],
  }),
  success: {
    status: 201,
    kind: "records",
    body: Type.Unsafe<User | User[]>({ anyOf: [User, Type.Array(User)] }),
  },
  errors: [
    "email_taken",
    "unknown_reference",
    "role_not_assignable",
    "grants_exceed_caller",
    "mail_not_configured",
    "mail_limit_reached",
  ],
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
  description: 'Changes the first name, last name and image. Omitted fields stay unchanged; `""` clears a field.',
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
  summary: "Update a user's device limit and attributes",
  description: "`attributes` replaces all attributes. If `maxDevices` is null, the limit of the user's groups applies.",
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
  description:
    "The user's devices are deactivated and remain as records without a user. This cannot be undone. The caller must hold every permission of the user.",
  access: "users:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["grants_exceed_caller"],
});

export const deactivateUser = operation({
  id: "deactivateUser",
  method: "PATCH",
  path: "/tenants/users/{id}/deactivate",
  tag,
  summary: "Deactivate a user",
  description:
    "Cuts off the user and all of the user's devices. Data and settings remain, and reactivating the user restores the previous status. Enrolment links are revoked permanently. Idempotent. The caller must hold every permission of the user.",
  access: "users:write",
  changesAccess: true,
  parameters: { id: "string" },
  success: { status: 200, kind: "record", body: User },
  errors: ["grants_exceed_caller"],
});

export const reactivateUser = operation({
  id: "reactivateUser",
  method: "POST",
  path: "/tenants/users/{id}/reactivate",
  tag,
  summary: "Reactivate a user",
  description:
    "Restores the status from before the deactivation. Enrolment links stay revoked. A pending user needs a new link: `POST /tenants/users/{id}/enrolment-links`.",
  access: "users:write",
  dangerous: "the user's devices and sign-in methods work again",
  changesAccess: true,
  parameters: { id: "string" },
  success: { status: 201, kind: "record", body: User },
  errors: ["user_not_deactivated", "grants_exceed_caller"],
});

export const inviteUser = operation({
  id: "inviteUser",
  method: "POST",
  path: "/tenants/users/{id}/invite",
  tag,
  summary: "Renew a pending user's invitation",
  description:
    "The user can accept the invitation within seven days from now. `notify` requires every permission that the user holds.",
  access: "users:write",
  dangerous: "the user can sign in with an identity provider, or with the link that `notify` sends",
  changesAccess: true,
  parameters: { id: "uuid" },
  bodyOptional: true,
  body: closedObject({ notify: Type.Optional(Notify) }),
  success: { status: 204, kind: "empty" },
  errors: ["user_not_pending", "grants_exceed_caller", "mail_not_configured", "mail_limit_reached"],
});

export const transferOwnership = operation({
  id: "transferOwnership",
  method: "POST",
  path: "/tenants/users/{id}/transfer-ownership",
  tag,
  summary: "Transfer the tenant's ownership to a user",
  description:
    "Moves the owner role from the current owner to the user, who must be active. Requires a key that holds every permission.",
  access: "users:write",
  dangerous: "the new owner has every permission",
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
  summary: "List a user's roles",
  description:
    "Returns directly assigned and inherited roles, each once, the most privileged first. With both flags, returns roles that are both assigned directly and inherited.",
  access: "users:read",
  parameters: { id: "uuid" },
  flags: {
    groupsOnly: "Return only roles that the user inherits from a group.",
    rolesOnly: "Return only roles that are assigned to the user directly.",
  },
  success: { status: 200, kind: "array", item: Role },
});

export const updateUserRoles = operation({
  id: "updateUserRoles",
  method: "PATCH",
  path: "/tenants/users/{id}/roles",
  tag,
  summary: "Update a user's roles",
  description:
    "Changes the directly assigned roles. Adding a role that the user already has, or removing a role that the user does not have, changes nothing. An inherited role cannot be removed here. The owner role can be neither added nor removed. The caller must hold the permissions of each role.",
  access: "users:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  body: closedObject({
    addedRoles: Type.Optional(idList("Roles to assign to the user.", 20)),
    removedRoles: Type.Optional(idList("Roles to remove from the user.", 20)),
  }),
  success: { status: 200, kind: "empty" },
  errors: ["unknown_reference", "role_not_assignable", "invalid_combination", "role_inherited", "grants_exceed_caller"],
});

export const addUserToGroup = operation({
  id: "addUserToGroup",
  method: "POST",
  path: "/tenants/users/{id}/groups",
  tag,
  summary: "Add a user to a group",
  description: `Changes nothing if the user is already in the group. A user can be in at most ${maxGroupsOfUser} groups.`,
  access: "users:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  body: closedObject({ groupId: Uuid }),
  success: { status: 201, kind: "record", body: User },
  errors: ["unknown_reference", "grants_exceed_caller", "group_limit_reached"],
});

export const updateUserGroups = operation({
  id: "updateUserGroups",
  method: "PATCH",
  path: "/tenants/users/{id}/groups",
  tag,
  summary: "Update a user's groups",
  description: `Adds the user to groups and removes the user from others, as one change. Groups that already have the user, and groups to leave that do not have the user, change nothing. Afterwards, the user must be in at least one group and in at most ${maxGroupsOfUser}. The caller must hold the permissions of the groups' roles.`,
  access: "users:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  body: closedObject({
    addedGroups: Type.Optional(idList("Groups that the user joins.", maxGroupsOfUser)),
    removedGroups: Type.Optional(idList("Groups that the user leaves.", maxGroupsOfUser)),
  }),
  success: { status: 200, kind: "record", body: User },
  errors: ["unknown_reference", "invalid_combination", "grants_exceed_caller", "group_limit_reached", "last_group"],
});

export const removeUserFromGroup = operation({
  id: "removeUserFromGroup",
  method: "DELETE",
  path: "/tenants/users/{id}/groups/{groupId}",
  tag,
  summary: "Remove a user from a group",
  description:
    "A user must stay in at least one group. The caller must hold the permissions of the group's roles. `If-Match` takes the user's ETag.",
  access: "users:write",
  changesAccess: true,
  parameters: { id: "uuid", groupId: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["last_group", "grants_exceed_caller"],
});
