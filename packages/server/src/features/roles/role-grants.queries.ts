/** Finds grants of roles that differ from the latest entries of their holders. */
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

/** A role that a user or a group holds, and that the latest entry about it does not show. */
export interface UnauditedGrantRow {
  readonly holder: "user" | "group";
  readonly id: string;
  readonly type: string;
}

/**
 * SQL for whether a side of an entry contains the role. Entries contain records of roles, and those of configuration
 * documents contain type names.
 */
const shows = (side: string) =>
  `coalesce(item.${side}::jsonb -> 'roles' @> ANY (ARRAY[
     to_jsonb(role.type), jsonb_build_array(jsonb_build_object('id', role.id, 'type', role.type))]), false)`;

/**
 * The latest entry about a role decides. Creations and complete records are about all roles. Other entries of
 * configuration documents are only about the roles that they remove (before) and add (after).
 *
 * Entries show the roles of users including those of their groups, so that only additional roles can be found.
 */
const selectUnaudited = statement<UnauditedGrantRow, [tenantId: string]>(
  "roles.unaudited_grants",
  `SELECT held.holder, held.id, role.type
   FROM (SELECT tenant_id, 'user' AS holder, user_id AS id, role_id FROM user_roles
         UNION ALL SELECT tenant_id, 'group', group_id, role_id FROM group_roles) AS held
   JOIN roles AS role ON role.tenant_id = held.tenant_id AND role.id = held.role_id
   CROSS JOIN LATERAL (
     SELECT ${shows("after")} AS shown FROM audit_events AS item
     WHERE item.tenant_id = held.tenant_id AND item.target_id = held.id AND item.target_type = held.holder
       AND item.after IS NOT NULL
       AND (item.before IS NULL OR item.after::jsonb ? 'createdAt' OR ${shows("after")} OR ${shows("before")})
     ORDER BY item.position DESC LIMIT 1
   ) AS latest
   WHERE held.tenant_id = $1 AND NOT latest.shown
   ORDER BY held.holder, held.id, role.type LIMIT 1000`,
);

export function unauditedGrants(tx: TenantTx): Promise<UnauditedGrantRow[]> {
  return tx.query(selectUnaudited, tx.tenantId);
}
