import type { Granted } from "../../../platform/authorization/granted.ts";
import { statement } from "../../../platform/db/statement.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";

export interface MappedGroups {
  readonly userId: string;
  readonly providerId: string;
  /** The groups that are mapped to the person's groups at the provider. The caller has locked them. */
  readonly groupIds: readonly string[];
}

/** A membership that a provider gives. */
export interface MappedMembership {
  readonly providerId: string;
  readonly groupId: string;
}

const select = statement<MappedMembership, [tenantId: string, userId: string]>(
  "users.mapped_memberships",
  `SELECT provider_id AS "providerId", group_id AS "groupId" FROM mapped_memberships
   WHERE tenant_id = $1 AND user_id = $2`,
);
type Written = [tenantId: string, userId: string, providerId: string, groupIds: readonly string[]];
const insert = statement<never, Written>(
  "users.hold_mapped_memberships",
  `INSERT INTO mapped_memberships (tenant_id, user_id, provider_id, group_id)
   SELECT $1, $2, $3, group_id FROM unnest($4::uuid[]) AS held (group_id)`,
);
const remove = statement<never, Written>(
  "users.release_mapped_memberships",
  `DELETE FROM mapped_memberships
   WHERE tenant_id = $1 AND user_id = $2 AND provider_id = $3 AND group_id = ANY ($4::uuid[])`,
);

export function readMappedMemberships(tx: TenantTx, userId: string): Promise<MappedMembership[]> {
  return tx.query(select, tx.tenantId, userId);
}

/** Stores that the provider gives memberships that exist. */
export async function holdMappedMemberships(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  { userId, providerId, groupIds }: MappedGroups,
): Promise<void> {
  if (groupIds.length > 0) await tx.query(insert, tx.tenantId, userId, providerId, groupIds);
}

export async function releaseMappedMemberships(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  { userId, providerId, groupIds }: MappedGroups,
): Promise<void> {
  if (groupIds.length > 0) await tx.query(remove, tx.tenantId, userId, providerId, groupIds);
}
