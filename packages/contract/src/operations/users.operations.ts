import Type, { type Static } from "typebox";
import { list } from "../list.ts";
import { operation } from "../operation.ts";
import { roleTypes } from "../permissions.ts";
import { Attributes, User, userStatuses } from "../records/user.ts";
import { closedObject, component, Email, idList, nullable, shortText } from "../schema.ts";

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
  body: Type.Unsafe<Static<typeof CreateUser> | Static<typeof CreateUser>[]>({
    anyOf: [CreateUser, Type.Array(CreateUser, { minItems: 1, maxItems: 100 })],
  }),
  success: {
    status: 201,
    kind: "records",
    body: Type.Unsafe<User | User[]>({ anyOf: [User, Type.Array(User)] }),
  },
  errors: ["email_taken", "unknown_reference"],
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
  parameters: { id: "string" },
  success: { status: 201, kind: "record", body: User },
  errors: ["user_not_deactivated"],
});
