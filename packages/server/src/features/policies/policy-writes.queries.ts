import type { PolicyType } from "@gatehouse/contract/records/policy";
import type { Granted } from "../../platform/authorization/granted.ts";
import { withConstraints } from "../../platform/db/database-errors.ts";
import { writeInChunks } from "../../platform/db/in-chunks.ts";
import { statement } from "../../platform/db/statement.ts";
import { nameTaken } from "../../platform/name-taken.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { listTables } from "./policies.queries.ts";
import type { PolicyList, PolicySettings } from "./policies.rules.ts";

/** A policy as it is written, without its lists. */
export interface StoredPolicy extends Omit<PolicySettings, PolicyList> {
  readonly id: string;
  readonly type: PolicyType;
  readonly active: boolean;
  /** The position of a new policy. Undefined places it last in its type, but before the default policy. */
  readonly order?: number;
}

/** The complete content of one list of a policy. */
export interface PolicyListContent {
  readonly policyId: string;
  readonly ids: readonly string[];
}

const given = `json_to_recordset($3::json) AS given (id uuid, name text, type text, "order" integer, active boolean,
  action boolean, mode text, "allGroups" boolean, "allUsers" boolean, "allDevices" boolean, "allResources" boolean,
  "sourceIps" text[], description text, "ruleId" uuid)`;

// A policy without a position takes the position of the default policy, which moves on. If its type has no default
// policy, it goes after the last one.
const insert = statement<never, [tenantId: string, at: Date, rows: string]>(
  "policies.insert",
  `WITH given AS MATERIALIZED (SELECT * FROM ${given}), moved AS (
     UPDATE policies AS item SET "order" = item."order" + 1
     WHERE item.tenant_id = $1 AND item.is_default
       AND EXISTS (SELECT FROM given WHERE given.type = item.type AND given."order" IS NULL)
     RETURNING item.type, item."order" - 1 AS position
   )
   INSERT INTO policies (tenant_id, id, created_at, updated_at, name, type, active, action, mode, all_groups, all_users,
                         all_devices, all_resources, source_ips, description, rule_id, "order")
   SELECT $1, id, $2, $2, name, type, active, action, mode, "allGroups", "allUsers", "allDevices", "allResources",
          "sourceIps", description, "ruleId",
          coalesce(given."order", (SELECT moved.position FROM moved WHERE moved.type = given.type),
                   (SELECT coalesce(max(item."order"), 0) + 1 FROM policies AS item
                    WHERE item.tenant_id = $1 AND item.type = given.type))
   FROM given`,
);
const update = statement<never, [tenantId: string, at: Date, rows: string]>(
  "policies.update",
  `UPDATE policies AS item
   SET updated_at = $2, version = item.version + 1, name = given.name, active = given.active, action = given.action,
       mode = given.mode, all_groups = given."allGroups", all_users = given."allUsers",
       all_devices = given."allDevices", all_resources = given."allResources", source_ips = given."sourceIps",
       description = given.description, rule_id = given."ruleId"
   FROM ${given} WHERE item.tenant_id = $1 AND item.id = given.id`,
);
const remove = statement<never, [tenantId: string, ids: readonly string[]]>(
  "policies.delete",
  "DELETE FROM policies WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) AND NOT is_default",
);
const lockResources = statement<never, [tenantId: string, id: string]>(
  "policies.lock_resources",
  `SELECT FROM policy_resources AS listed
   JOIN resources AS resource ON resource.tenant_id = listed.tenant_id AND resource.id = listed.resource_id
   WHERE listed.tenant_id = $1 AND listed.policy_id = $2 FOR KEY SHARE OF resource`,
);

function replaceListStatement(list: PolicyList) {
  const { table, column } = listTables[list];
  const [position, onConflict] =
    list === "gateways" ? [", position", "UPDATE SET position = excluded.position"] : ["", "NOTHING"];
  return statement<never, [tenantId: string, rows: string]>(
    `policies.replace_${list}`,
    `WITH given AS MATERIALIZED (
       SELECT * FROM json_to_recordset($2::json) AS given ("policyId" uuid, ids uuid[])
     ), wanted AS (
       SELECT given."policyId" AS policy_id, listed.id AS listed_id, (listed.ordinality - 1)::smallint AS position
       FROM given, unnest(given.ids) WITH ORDINALITY AS listed (id, ordinality)
     ), removed AS (
       DELETE FROM ${table} AS link USING given
       WHERE link.tenant_id = $1 AND link.policy_id = given."policyId" AND NOT EXISTS (
         SELECT FROM wanted WHERE wanted.policy_id = link.policy_id AND wanted.listed_id = link.${column}
       )
     )
     INSERT INTO ${table} (tenant_id, policy_id, ${column}${position})
     SELECT $1, policy_id, listed_id${position} FROM wanted
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

/**
 * Inserts policies without their lists. The order must be locked. Each position must have one policy at COMMIT.
 *
 * @throws AppError name_taken
 */
export async function insertPolicies(
  tx: TenantTx,
  _granted: Granted<"policies:write">,
  policies: readonly StoredPolicy[],
  at: Date,
): Promise<void> {
  await withConstraints(
    { policies_name_unique: () => nameTaken("a policy", policies) },
    writeInChunks(policies, (rows) => tx.query(insert, tx.tenantId, at, rows)),
  );
}

/**
 * Updates policies, except for their types, positions and lists.
 *
 * @throws AppError name_taken
 */
export async function updatePolicies(
  tx: TenantTx,
  _granted: Granted<"policies:write">,
  policies: readonly StoredPolicy[],
  at: Date,
): Promise<void> {
  await withConstraints(
    { policies_name_unique: () => nameTaken("a policy", policies) },
    writeInChunks(policies, (rows) => tx.query(update, tx.tenantId, at, rows)),
  );
}

/** Replaces one list of policies. Gateways keep the order given. */
export async function replacePolicyLists(
  tx: TenantTx,
  _granted: Granted<"policies:write">,
  list: PolicyList,
  lists: readonly PolicyListContent[],
): Promise<void> {
  await writeInChunks(lists, (rows) => tx.query(replaceListStatements[list], tx.tenantId, rows));
}

/** Locks the resources that the policy lists: they cannot be deleted before the transaction ends. */
export async function lockListedResources(tx: TenantTx, id: string): Promise<void> {
  await tx.query(lockResources, tx.tenantId, id);
}

/** Deletes policies, except for the default policy. The caller closes the gaps in the order. */
export async function deletePolicies(
  tx: TenantTx,
  _granted: Granted<"policies:write">,
  ids: readonly string[],
): Promise<void> {
  await tx.query(remove, tx.tenantId, ids);
}
