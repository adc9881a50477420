/** Policies that refer to a record. */
import type { Granted } from "../../platform/authorization/granted.ts";
import { type Statement, statement } from "../../platform/db/statement.ts";
import type { NamedRecord } from "../../platform/record-references.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { listTables } from "./policies.queries.ts";

type PoliciesOf = Statement<NamedRecord, [tenantId: string, id: string]>;

const selectActiveWithResource: PoliciesOf = statement(
  "policies.active_with_resource",
  `SELECT policy.id, policy.name
   FROM policy_resources AS listed
   JOIN policies AS policy ON policy.tenant_id = listed.tenant_id AND policy.id = listed.policy_id
   WHERE listed.tenant_id = $1 AND listed.resource_id = $2 AND policy.active ORDER BY policy.name_key LIMIT 50`,
);
const selectWithGateway: PoliciesOf = statement(
  "policies.with_gateway",
  `SELECT policy.id, policy.name
   FROM policy_gateways AS listed
   JOIN policies AS policy ON policy.tenant_id = listed.tenant_id AND policy.id = listed.policy_id
   WHERE listed.tenant_id = $1 AND listed.gateway_id = $2 ORDER BY policy.name_key LIMIT 50`,
);
const selectWithRule: PoliciesOf = statement(
  "policies.with_rule",
  "SELECT id, name FROM policies WHERE tenant_id = $1 AND rule_id = $2 ORDER BY name_key LIMIT 50",
);

/** Lists of a policy whose entries disappear with the records that they name. */
export type RemovableList = "users" | "groups" | "devices" | "resources";

function removeStatement(list: RemovableList): PoliciesOf {
  const { table, column } = listTables[list];
  return statement(
    `policies.remove_from_${list}`,
    `WITH removed AS (
       DELETE FROM ${table} WHERE tenant_id = $1 AND ${column} = $2 RETURNING tenant_id, policy_id
     )
     SELECT policy.id, policy.name
     FROM removed JOIN policies AS policy ON policy.tenant_id = removed.tenant_id AND policy.id = removed.policy_id
     ORDER BY policy.name_key, policy.id`,
  );
}

const removals: Readonly<Record<RemovableList, PoliciesOf>> = {
  users: removeStatement("users"),
  devices: removeStatement("devices"),
  groups: removeStatement("groups"),
  resources: removeStatement("resources"),
};

/** Active policies that list the resource, the first 50 by name. */
export function activePoliciesWithResource(tx: TenantTx, resourceId: string): Promise<NamedRecord[]> {
  return tx.query(selectActiveWithResource, tx.tenantId, resourceId);
}

/** Policies that list the gateway, active or not, the first 50 by name. */
export function policiesWithGateway(tx: TenantTx, gatewayId: string): Promise<NamedRecord[]> {
  return tx.query(selectWithGateway, tx.tenantId, gatewayId);
}

/** Policies that use the admission rule, active or not, the first 50 by name. */
export function policiesWithRule(tx: TenantTx, ruleId: string): Promise<NamedRecord[]> {
  return tx.query(selectWithRule, tx.tenantId, ruleId);
}

/** Removes a locked record from one list of every policy. Returns the changed policies by name. */
export function removeFromPolicies<L extends RemovableList>(
  tx: TenantTx,
  _granted: Granted<`${L}:write`>,
  list: L,
  id: string,
): Promise<NamedRecord[]> {
  return tx.query(removals[list], tx.tenantId, id);
}
