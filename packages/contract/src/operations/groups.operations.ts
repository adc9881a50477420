import Type from "typebox";
import { list } from "../list.ts";
import { operation } from "../operation.ts";
import { Group } from "../records/group.ts";
import { Role } from "../records/role.ts";
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

const groupSettings = {
  description: Type.Optional(Description),
  maxDevices: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1000,
      default: 5,
      description: "Devices that a member may enrol; 5 at first.",
    }),
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
  body: closedObject({
    name: Name,
    roles: Type.Optional(idList("Roles that members inherit.", 20)),
    ...groupSettings,
  }),
  success: { status: 201, kind: "record", body: Group },
  errors: ["name_taken", "unknown_reference", "role_not_assignable"],
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
