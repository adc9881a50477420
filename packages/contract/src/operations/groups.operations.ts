import Type from "typebox";
import { list } from "../list.ts";
import { operation } from "../operation.ts";
import { Group } from "../records/group.ts";
import { Role } from "../records/role.ts";
import { deviceSessionSeconds } from "../records/tenant-settings.ts";
import { User } from "../records/user.ts";
import { closedObject, Description, idList, Name, nullable, shortText } from "../schema.ts";

export const listGroups = operation({
  id: "listGroups",
  method: "GET",
  path: "/tenants/groups",
  tag: "Groups",
  summary: "List groups",
  description:
    "`filter[isNamedByPolicy]` is true for groups that a policy other than the default policy names: by themselves, or as all groups.",
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
        isNamedByPolicy: { kind: "boolean" },
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
    Type.Integer({
      minimum: 0,
      maximum: 1000,
      description: "Devices that each member can enrol. A new group starts with 5.",
    }),
  ),
  deviceSessionLifetime: Type.Optional(
    nullable(
      Type.Integer({
        ...deviceSessionSeconds,
        description:
          "How long devices of members are trusted after their users signed in on them, in seconds: 15 minutes to a year; null: no limit by this group. The shortest of the lifetimes of the tenant and of the user's groups applies. When a group gets its first lifetime, existing devices are trusted for this time from then on.",
      }),
    ),
  ),
  isSamlDefaultGroup: Type.Optional(
    Type.Boolean({
      description: "True makes this the SAML default group: the group that new users from single sign-on join.",
    }),
  ),
  idpMapping: Type.Optional(
    Type.Array(shortText(256), {
      maxItems: 100,
      uniqueItems: true,
      description: "Groups of the identity provider that map to this group.",
    }),
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
  summary: "Update a group",
  description:
    'Omitted fields stay unchanged; `""` clears the description. A tenant always has exactly one SAML default group. Setting `isSamlDefaultGroup` on a group clears the field on the previous default group; there is no other way to clear it. The caller must hold the permissions of each role that the request adds or removes. To change `idpMapping` or set `isSamlDefaultGroup`, the caller must hold the permissions of all roles of the group.',
  access: "groups:write",
  dangerous: "the lifetime decides how long devices are trusted",
  dangerousWith: ["deviceSessionLifetime"],
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
    "Removes the group from its members and from all policies. A default group, or the only group of a user, cannot be deleted. The caller must hold the permissions of the group's roles.",
  access: "groups:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["grants_exceed_caller", "group_is_default", "last_group"],
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
  flags: { groups: "Include users who only inherit the role from a group." },
  success: { status: 200, kind: "array", item: User },
});

export const removeRoleFromUser = operation({
  id: "removeRoleFromUser",
  method: "DELETE",
  path: "/tenants/roles/{id}/users/{userId}",
  tag: "Roles",
  summary: "Remove a role from a user",
  description:
    "Removes only a directly assigned role; inherited roles stay while the user is in the group. The caller must hold the permissions of the role. `If-Match` takes the user's ETag.",
  access: "roles:write",
  changesAccess: true,
  parameters: { id: "uuid", userId: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["owner_role_stays", "role_inherited", "grants_exceed_caller"],
});
