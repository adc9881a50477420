import { list } from "../list.ts";
import { operation } from "../operation.ts";
import { NewTenant, Tenant } from "../records/tenant.ts";
import { closedObject, Email, Name } from "../schema.ts";

const tag = "Operator";

export const createTenant = operation({
  id: "createTenant",
  method: "POST",
  path: "/operator/tenants",
  tag,
  summary: "Create a tenant",
  description:
    "Creates the tenant with its owner, default group, system roles, built-in admission rules, predefined protocols, default internet policy and a first API key.",
  access: "operator",
  changesAccess: true,
  body: closedObject({ name: Name, ownerEmail: Email }),
  success: { status: 201, kind: "record", body: NewTenant },
  errors: ["name_taken"],
});

export const listTenants = operation({
  id: "listTenants",
  method: "GET",
  path: "/operator/tenants",
  tag,
  summary: "List tenants",
  access: "operator",
  success: {
    status: 200,
    kind: "page",
    item: Tenant,
    list: list({
      sort: ["id", "name", "createdAt"],
      filter: { id: { kind: "uuid" }, name: { kind: "text" }, ownerEmail: { kind: "text" } },
    }),
  },
});

export const readTenant = operation({
  id: "readTenant",
  method: "GET",
  path: "/operator/tenants/{id}",
  tag,
  summary: "Read a tenant",
  access: "operator",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Tenant },
});

export const deleteTenant = operation({
  id: "deleteTenant",
  method: "DELETE",
  path: "/operator/tenants/{id}",
  tag,
  summary: "Delete a tenant and all its records",
  description: "This cannot be undone. The operator's audit record of the tenant remains.",
  access: "operator",
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
});
