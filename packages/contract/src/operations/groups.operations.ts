import Type from "typebox";
import { list } from "../list.ts";
import { operation } from "../operation.ts";
import { Group } from "../records/group.ts";
import { Role } from "../records/role.ts";
import { User } from "../records/user.ts";
import { closedObject, Description, idList, Name, shortText } from "../schema.ts";

export const listGroups = operation({
  id: "listGroups",
  method: "GET",
  path: "/tenants/groups",
  tag: "Groups",
  summary: "List groups",
  access: "groups:read",
  success: {
    status: 200,
    kind: "page",
    item: Group,
    list: list({
      sort: ["id", "name", "createdAt"],
      filter: {
        id: { kind: "uuid" },
        name: { kind: "text" },
        isSamlDefaultGroup: { kind: "boolean" },
        "users.id": { kind: "uuid" },
      },
    }),
  },
});

const GroupRoles = Type.Optional(idList("Roles that members inherit.", 20));

const groupSettings = {
  description: Type.Optional(Description),
  maxDevices: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 1000, description: "Devices that a member may enrol; 5 in a new group." }),
  ),
  isSamlDefaultGroup: Type.Optional(
    Type.Boolean({ description: "True makes this the one group that new single sign-on users join." }),
  ),
  idpMapping: Type.Optional(
    Type.Array(shortText(256), { maxItems: 100, uniqueItems: true, description: "Groups of the identity provider." }),
  ),
};

export const createGroup = operation({
  id: "createGroup",
  method: "POST",
  path: "/tenants/groups",
  tag: "Groups",
  summary: "Create a group",
  access: "groups:write",
  changesAccess: true,
  body: closedObject({
    name: Name,
    roles: GroupRoles,
    ...groupSettings,
  }),
  success: { status: 201, kind: "record", body: Group },
  errors: ["name_taken", "unknown_reference", "role_not_assignable", "grants_exceed_caller"],
});

export const readGroup = operation({
  id: "readGroup",
  method: "GET",
  path: "/tenants/groups/{id}",
  tag: "Groups",
  summary: "Read a group",
  access: "groups:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Group },
});

export const updateGroup = operation({
  id: "updateGroup",
  method: "PUT",
  path: "/tenants/groups/{id}",
  tag: "Groups",
  summary: "Change a group",
  description:
    'Absent fields stay as they are; `""` clears the description. There is always one SAML default group: making another one it takes the mark off the one before, and the mark cannot be taken off otherwise.',
  access: "groups:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  body: closedObject({ name: Type.Optional(Name), roles: GroupRoles, ...groupSettings }),
  success: { status: 200, kind: "record", body: Group },
  errors: [
    "name_taken",
    "unknown_reference",
    "role_not_assignable",
    "grants_exceed_caller",
    "saml_default_group_required",
  ],
});

export const deleteGroup = operation({
  id: "deleteGroup",
  method: "DELETE",
  path: "/tenants/groups/{id}",
  tag: "Groups",
  summary: "Delete a group",
  description:
    "Members keep their other groups; policies no longer name the group. Default groups, and a group that is some user's only one, stay.",
  access: "groups:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["group_is_default", "last_group"],
});

export const listRoles = operation({
  id: "listRoles",
  method: "GET",
  path: "/tenants/roles",
  tag: "Roles",
  summary: "List roles",
  access: "roles:read",
  success: { status: 200, kind: "array", item: Role },
});

export const readRole = operation({
  id: "readRole",
  method: "GET",
  path: "/tenants/roles/{id}",
  tag: "Roles",
  summary: "Read a role",
  access: "roles:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Role },
});

export const listRoleUsers = operation({
  id: "listRoleUsers",
  method: "GET",
  path: "/tenants/roles/{id}/users",
  tag: "Roles",
  summary: "List the users who hold a role",
  access: "roles:read",
  parameters: { id: "uuid" },
  flags: { groups: "Also users who hold the role through a group only." },
  success: { status: 200, kind: "array", item: User },
});

export const removeRoleFromUser = operation({
  id: "removeRoleFromUser",
  method: "DELETE",
  path: "/tenants/roles/{id}/users/{userId}",
  tag: "Roles",
  summary: "Take a role off a user",
  description:
    "Only what the user holds directly; what comes through a group stays for as long as the user is in it. `If-Match` takes the user's ETag.",
  access: "roles:write",
  changesAccess: true,
  parameters: { id: "uuid", userId: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["owner_role_stays", "role_inherited"],
});
