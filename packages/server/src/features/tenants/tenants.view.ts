import type { Tenant } from "@gatehouse/contract/records/tenant";
import type { TenantRow } from "./tenants.queries.ts";

export function tenantView(row: TenantRow): Tenant {
  return {
    id: row.id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    name: row.name,
    slug: row.slug,
    ownerEmail: row.owner_email,
  };
}
