import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

/** A policy as errors name it. */
export interface NamedPolicy {
  readonly id: string;
  readonly name: string;
}

const selectActiveNaming = statement<NamedPolicy, [tenantId: string, resourceId: string]>(
  "policies.active_naming_resource",
  `SELECT policy.id, policy.name
   FROM policy_resources AS named
   JOIN policies AS policy ON policy.tenant_id = named.tenant_id AND policy.id = named.policy_id
   WHERE named.tenant_id = $1 AND named.resource_id = $2 AND policy.active ORDER BY policy.name_key LIMIT 50`,
);

/** Active policies that list the resource, the first 50 by name. */
export function activePoliciesNaming(tx: TenantTx, resourceId: string): Promise<NamedPolicy[]> {
  return tx.query(selectActiveNaming, tx.tenantId, resourceId);
}
