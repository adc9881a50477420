/** Which policies name a record of another kind: what keeps that record from being deleted. */
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
const selectNamingGateway = statement<NamedPolicy, [tenantId: string, gatewayId: string]>(
  "policies.naming_gateway",
  `SELECT policy.id, policy.name
   FROM policy_gateways AS named
   JOIN policies AS policy ON policy.tenant_id = named.tenant_id AND policy.id = named.policy_id
   WHERE named.tenant_id = $1 AND named.gateway_id = $2 ORDER BY policy.name_key LIMIT 50`,
);
const selectUsingRule = statement<NamedPolicy, [tenantId: string, ruleId: string]>(
  "policies.using_rule",
  "SELECT id, name FROM policies WHERE tenant_id = $1 AND rule_id = $2 ORDER BY name_key LIMIT 50",
);

/** Active policies that list the resource, the first 50 by name. */
export function activePoliciesNaming(tx: TenantTx, resourceId: string): Promise<NamedPolicy[]> {
  return tx.query(selectActiveNaming, tx.tenantId, resourceId);
}

/** Policies that list the gateway, active or not, the first 50 by name. */
export function policiesNamingGateway(tx: TenantTx, gatewayId: string): Promise<NamedPolicy[]> {
  return tx.query(selectNamingGateway, tx.tenantId, gatewayId);
}

/** Policies whose admission rule it is, active or not, the first 50 by name. */
export function policiesUsingRule(tx: TenantTx, ruleId: string): Promise<NamedPolicy[]> {
  return tx.query(selectUsingRule, tx.tenantId, ruleId);
}
