/**
 * Takes what is about to be deleted off policies. The foreign keys would do the same, but would not say which policies
 * lost something; asking beforehand could name one that another transaction is changing.
 */
import type { Granted } from "../../platform/authorization/granted.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { listTables } from "./policies.queries.ts";
import type { NamedPolicy } from "./policy-uses.queries.ts";

function takeOutStatement(list: "users" | "groups" | "devices" | "resources") {
  const { table, column } = listTables[list];
  return statement<NamedPolicy, [tenantId: string, id: string]>(
    `policies.take_out_of_${list}`,
    `WITH gone AS (
       DELETE FROM ${table} WHERE tenant_id = $1 AND ${column} = $2 RETURNING tenant_id, policy_id
     )
     SELECT policy.id, policy.name
     FROM gone JOIN policies AS policy ON policy.tenant_id = gone.tenant_id AND policy.id = gone.policy_id
     ORDER BY policy.name_key, policy.id`,
  );
}

const deleteUser = takeOutStatement("users");
const deleteDevice = takeOutStatement("devices");
const deleteGroup = takeOutStatement("groups");
const deleteResource = takeOutStatement("resources");

/** Takes the user off every policy; nobody can name it any more, since it is locked. Returns those policies by name. */
export function takeUserOut(tx: TenantTx, _granted: Granted<"users:write">, userId: string): Promise<NamedPolicy[]> {
  return tx.query(deleteUser, tx.tenantId, userId);
}

/** Takes the device off every policy, as `takeUserOut` does. */
export function takeDeviceOut(
  tx: TenantTx,
  _granted: Granted<"devices:write">,
  deviceId: string,
): Promise<NamedPolicy[]> {
  return tx.query(deleteDevice, tx.tenantId, deviceId);
}

/** Takes the group off every policy, as `takeUserOut` does. */
export function takeGroupOut(tx: TenantTx, _granted: Granted<"groups:write">, groupId: string): Promise<NamedPolicy[]> {
  return tx.query(deleteGroup, tx.tenantId, groupId);
}

/** Takes the resource off every policy, as `takeUserOut` does. */
export function takeResourceOut(
  tx: TenantTx,
  _granted: Granted<"resources:write">,
  resourceId: string,
): Promise<NamedPolicy[]> {
  return tx.query(deleteResource, tx.tenantId, resourceId);
}
