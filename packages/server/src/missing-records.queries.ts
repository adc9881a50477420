/** Finds records that entries created or that every tenant has, and that are gone. */
import { roleTypes } from "@gatehouse/contract/permissions";
import { statement } from "./platform/db/statement.ts";
import type { TenantTx } from "./platform/tenancy/tenant-tx.ts";

const selectMissingTests = statement<{ id: string }, [tenantId: string]>(
  "audit.missing_access_tests",
  `SELECT latest.id FROM (
     SELECT DISTINCT ON (target_id) target_id AS id, after FROM audit_events
     WHERE tenant_id = $1 AND target_type = 'access-test' ORDER BY target_id, position DESC
   ) AS latest
   WHERE latest.after IS NOT NULL
     AND NOT EXISTS (SELECT FROM access_tests AS item WHERE item.tenant_id = $1 AND item.id = latest.id)
   ORDER BY latest.id LIMIT 1000`,
);

interface RoleCount {
  readonly type: string;
  readonly count: number;
}

const selectWrongRoles = statement<RoleCount, [tenantId: string, types: readonly string[]]>(
  "audit.wrong_roles",
  `SELECT wanted.type, count(role.id)::integer AS count FROM unnest($2::text[]) AS wanted (type)
   LEFT JOIN roles AS role ON role.tenant_id = $1 AND role.type = wanted.type
   GROUP BY wanted.type HAVING count(role.id) <> 1 ORDER BY wanted.type`,
);

/** Access tests whose latest entry did not delete them, and that do not exist. */
export function missingAccessTests(tx: TenantTx): Promise<{ readonly id: string }[]> {
  return tx.query(selectMissingTests, tx.tenantId);
}

/** Types of roles of which the tenant does not have exactly one role. */
export function wrongRoles(tx: TenantTx): Promise<RoleCount[]> {
  return tx.query(selectWrongRoles, tx.tenantId, roleTypes);
}
