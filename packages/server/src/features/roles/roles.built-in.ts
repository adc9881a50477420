import { type RoleType, roleTypes } from "@gatehouse/contract/permissions";
import type { Granted } from "../../platform/authorization/granted.ts";
import { statement } from "../../platform/db/statement.ts";
import { newId } from "../../platform/ids.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

/** The system roles of every tenant. The contract's permissions list their grants. */
const systemRoles: Readonly<Record<RoleType, { readonly name: string; readonly description: string }>> = {
  OWNER: { name: "Owner", description: "Owns the organisation. There is exactly one owner." },
  ADMIN: { name: "Administrator", description: "Administers everything." },
  DEFAULT: { name: "Default", description: "Administers nothing. Access to resources comes from policies." },
  BASIC: { name: "Basic", description: "Reads the network's configuration." },
  BILLING: { name: "Billing", description: "Reads users, groups and devices." },
  AUDITOR: {
    name: "Auditor",
    description: "Reads everything, including events and the sign-in log, except gateway tokens.",
  },
  SUPPORT: { name: "Support", description: "Helps people with their accounts and devices." },
};

const insertAll = statement<
  never,
  [
    tenantId: string,
    at: Date,
    ids: readonly string[],
    types: readonly string[],
    names: readonly string[],
    descriptions: readonly string[],
  ]
>(
  "roles.insert_system",
  `INSERT INTO roles (tenant_id, id, created_at, updated_at, type, name, description)
   SELECT $1, role.id, $2, $2, role.type, role.name, role.description
   FROM unnest($3::uuid[], $4::text[], $5::text[], $6::text[]) AS role (id, type, name, description)`,
);

/** Inserts the tenant's system roles. Returns the id of each. */
export async function createSystemRoles(
  tx: TenantTx,
  _granted: Granted<"roles:write">,
  at: Date,
): Promise<ReadonlyMap<RoleType, string>> {
  const ids = new Map(roleTypes.map((type) => [type, newId()]));
  const descriptions = roleTypes.map((type) => systemRoles[type].description);
  const names = roleTypes.map((type) => systemRoles[type].name);
  await tx.query(insertAll, tx.tenantId, at, [...ids.values()], [...ids.keys()], names, descriptions);
  return ids;
}
