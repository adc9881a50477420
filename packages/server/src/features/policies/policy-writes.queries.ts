import type { PolicyMode, PolicyType } from "@gatehouse/contract/records/policy";
import { AppError } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import { withConstraints } from "../../platform/db/database-errors.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { listTables } from "./policies.queries.ts";
import { type PolicyList, type PolicySettings, policyLists } from "./policies.rules.ts";

type SettingsColumns = [
  tenantId: string,
  id: string,
  at: Date,
  name: string,
  action: boolean,
  mode: PolicyMode | null,
  allGroups: boolean,
  allUsers: boolean,
  allDevices: boolean,
  allResources: boolean,
  sourceIps: readonly string[],
  ruleId: string,
  description: string,
];

// The new policy goes where the default one was, which moves on; where there is none, after the last. Those who insert
// hold the lock of policy-order.queries.ts.
const insert = statement<never, [...SettingsColumns, type: PolicyType]>(
  "policies.insert",
  `WITH moved AS (
     UPDATE policies SET "order" = "order" + 1
     WHERE tenant_id = $1 AND type = $14 AND is_default
     RETURNING "order" - 1 AS place
   )
   INSERT INTO policies (tenant_id, id, created_at, updated_at, name, action, mode, all_groups, all_users, all_devices,
                         all_resources, source_ips, rule_id, description, type, "order")
   SELECT $1, $2, $3, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
          coalesce((SELECT place FROM moved),
                   (SELECT coalesce(max("order"), 0) + 1 FROM policies WHERE tenant_id = $1 AND type = $14))`,
);
const update = statement<never, SettingsColumns>(
  "policies.update",
  `UPDATE policies
   SET updated_at = $3, version = version + 1, name = $4, action = $5, mode = $6, all_groups = $7, all_users = $8,
       all_devices = $9, all_resources = $10, source_ips = $11, rule_id = $12, description = $13
   WHERE tenant_id = $1 AND id = $2`,
);
const setActive = statement<never, [tenantId: string, id: string, at: Date, active: boolean]>(
  "policies.set_active",
  `UPDATE policies SET updated_at = $3, version = version + 1, active = $4 WHERE tenant_id = $1 AND id = $2`,
);
const remove = statement<never, [tenantId: string, id: string]>(
  "policies.delete",
  "DELETE FROM policies WHERE tenant_id = $1 AND id = $2",
);
const holdResources = statement<never, [tenantId: string, id: string]>(
  "policies.hold_resources",
  `SELECT FROM policy_resources AS named
   JOIN resources AS resource ON resource.tenant_id = named.tenant_id AND resource.id = named.resource_id
   WHERE named.tenant_id = $1 AND named.policy_id = $2 FOR KEY SHARE OF resource`,
);

function replaceListStatement(list: PolicyList) {
  const { table, column } = listTables[list];
  const [positionColumn, position, onConflict] =
    list === "gateways"
      ? [", position", ", (ordinality - 1)::smallint", "UPDATE SET position = excluded.position"]
      : ["", "", "NOTHING"];
  return statement<never, [tenantId: string, id: string, ids: readonly string[]]>(
    `policies.replace_${list}`,
    `WITH wanted AS (
       SELECT id, ordinality FROM unnest($3::uuid[]) WITH ORDINALITY AS listed (id, ordinality)
     ), gone AS (
       DELETE FROM ${table} WHERE tenant_id = $1 AND policy_id = $2 AND ${column} NOT IN (SELECT id FROM wanted)
     )
     INSERT INTO ${table} (tenant_id, policy_id, ${column}${positionColumn})
     SELECT $1, $2, id${position} FROM wanted
     ON CONFLICT (tenant_id, policy_id, ${column}) DO ${onConflict}`,
  );
}

const replaceListStatements = {
  groups: replaceListStatement("groups"),
  users: replaceListStatement("users"),
  devices: replaceListStatement("devices"),
  resources: replaceListStatement("resources"),
  gateways: replaceListStatement("gateways"),
};

const nameTaken = (name: string) => ({
  policies_name_unique: () =>
    new AppError("name_taken", {
      detail: `A policy is already called ${JSON.stringify(name)}.`,
      errors: [{ pointer: "/name", message: "is taken" }],
    }),
});

function settingsColumns(tx: TenantTx, id: string, settings: PolicySettings, at: Date): SettingsColumns {
  const { name, action, mode, allGroups, allUsers, allDevices, allResources } = settings;
  const { sourceIps, ruleId, description } = settings;
  return [
    tx.tenantId,
    id,
    at,
    name,
    action,
    mode,
    allGroups,
    allUsers,
    allDevices,
    allResources,
    sourceIps,
    ruleId,
    description,
  ];
}

/**
 * Makes the policy the last of its type before the default one. Its order must be locked.
 *
 * @throws AppError name_taken
 */
export async function insertPolicy(
  tx: TenantTx,
  granted: Granted<"policies:write">,
  row: { readonly id: string; readonly type: PolicyType; readonly settings: PolicySettings },
  at: Date,
): Promise<void> {
  const { id, type, settings } = row;
  const inserted = tx.query(insert, ...settingsColumns(tx, id, settings, at), type);
  await withConstraints(nameTaken(settings.name), inserted);
  await replaceLists(
    tx,
    granted,
    id,
    settings,
    policyLists.filter((list) => settings[list].length > 0),
  );
}

/**
 * @param changedLists the lists that differ from what is stored
 * @throws AppError name_taken
 */
export async function updatePolicy(
  tx: TenantTx,
  granted: Granted<"policies:write">,
  row: { readonly id: string; readonly settings: PolicySettings; readonly changedLists: readonly PolicyList[] },
  at: Date,
): Promise<void> {
  const { id, settings, changedLists } = row;
  await withConstraints(nameTaken(settings.name), tx.query(update, ...settingsColumns(tx, id, settings, at)));
  await replaceLists(tx, granted, id, settings, changedLists);
}

async function replaceLists(
  tx: TenantTx,
  _granted: Granted<"policies:write">,
  id: string,
  settings: PolicySettings,
  lists: readonly PolicyList[],
): Promise<void> {
  await Promise.all(lists.map((list) => tx.query(replaceListStatements[list], tx.tenantId, id, settings[list])));
}

/** Takes the policy out of evaluation, or back into it. */
export async function setPolicyActive(
  tx: TenantTx,
  _granted: Granted<"policies:write">,
  id: string,
  active: boolean,
  at: Date,
): Promise<void> {
  await tx.query(setActive, tx.tenantId, id, at, active);
}

/** Keeps the resources that the policy names from being deleted before the transaction ends. */
export async function holdNamedResources(tx: TenantTx, id: string): Promise<void> {
  await tx.query(holdResources, tx.tenantId, id);
}

/** Deletes the policy; the gap that it leaves in the order is for the caller to close. */
export async function deletePolicy(tx: TenantTx, _granted: Granted<"policies:write">, id: string): Promise<void> {
  await tx.query(remove, tx.tenantId, id);
}
