/** All policies of a tenant, and many at once: for configurations, which are read and written as a whole. */
import type { PolicyMode, PolicyType } from "@gatehouse/contract/records/policy";
import type { Granted } from "../../platform/authorization/granted.ts";
import { writeInChunks } from "../../platform/db/in-chunks.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { listTables } from "./policies.queries.ts";
import { type PolicyList, policyLists } from "./policies.rules.ts";

interface BulkPolicySettings {
  readonly id: string;
  readonly name: string;
  readonly type: PolicyType;
  readonly order: number;
  readonly active: boolean;
  readonly action: boolean;
  readonly mode: PolicyMode | null;
  readonly allGroups: boolean;
  readonly allUsers: boolean;
  readonly allDevices: boolean;
  readonly allResources: boolean;
  readonly sourceIps: readonly string[];
  readonly description: string;
}

export interface BulkPolicyRow extends BulkPolicySettings {
  readonly isDefault: boolean;
  /** Name of the admission rule. */
  readonly rule: string;
  /** Names; of users, e-mail addresses; gateways in the order given. */
  readonly groups: readonly string[];
  readonly users: readonly string[];
  readonly devices: readonly { readonly publicKey: string; readonly name: string }[];
  readonly resources: readonly string[];
  readonly gateways: readonly string[];
}

export interface BulkPolicy extends BulkPolicySettings {
  readonly ruleId: string;
}

/** What a policy lists from now on. */
export interface BulkPolicyList {
  readonly id: string;
  readonly ids: readonly string[];
}

const shown: Readonly<Record<PolicyList, string>> = {
  groups: "named.name",
  users: "named.email",
  devices: "json_build_object('publicKey', named.public_key, 'name', named.name)",
  resources: "named.name",
  gateways: "named.name",
};

// One look into an index for each policy and each name it has. Joined as a whole, they would be compared each with each
// where PostgreSQL takes them for few: a tenant that was filled a moment ago is not in its statistics.
const selectLists = policyLists
  .map((list) => {
    const { table, column } = listTables[list];
    const order = list === "gateways" ? " ORDER BY link.position" : "";
    return `coalesce((
       SELECT json_agg((SELECT ${shown[list]} FROM ${list} AS named
                        WHERE named.tenant_id = $1 AND named.id = link.${column})${order})
       FROM ${table} AS link WHERE link.tenant_id = $1 AND link.policy_id = item.id
     ), '[]') AS ${list}`;
  })
  .join(", ");

const selectAll = statement<BulkPolicyRow, [tenantId: string]>(
  "policies.read_all",
  `SELECT item.id, item.name, item.type, item."order", item.is_default AS "isDefault", item.active, item.action, item.mode,
          item.all_groups AS "allGroups", item.all_users AS "allUsers", item.all_devices AS "allDevices",
          item.all_resources AS "allResources", item.source_ips AS "sourceIps", item.description,
          (SELECT name FROM admission_rules WHERE tenant_id = $1 AND id = item.rule_id) AS rule, ${selectLists}
   FROM policies AS item
   WHERE item.tenant_id = $1 ORDER BY item.type, item."order"`,
);

const given = `json_to_recordset($3::json) AS given (id uuid, name text, type text, "order" integer, active boolean,
  action boolean, mode text, "allGroups" boolean, "allUsers" boolean, "allDevices" boolean, "allResources" boolean,
  "sourceIps" text[], description text, "ruleId" uuid)`;

const insertMany = statement<never, [tenantId: string, at: Date, rows: string]>(
  "policies.insert_many",
  `INSERT INTO policies (tenant_id, id, created_at, updated_at, name, type, "order", active, action, mode, all_groups,
                         all_users, all_devices, all_resources, source_ips, description, rule_id)
   SELECT $1, id, $2, $2, name, type, "order", active, action, mode, "allGroups", "allUsers", "allDevices", "allResources",
          "sourceIps", description, "ruleId" FROM ${given}`,
);
const updateMany = statement<never, [tenantId: string, at: Date, rows: string]>(
  "policies.update_many",
  `UPDATE policies AS item
   SET updated_at = $2, version = version + 1, active = given.active, action = given.action, mode = given.mode,
       all_groups = given."allGroups", all_users = given."allUsers", all_devices = given."allDevices",
       all_resources = given."allResources", source_ips = given."sourceIps", description = given.description,
       rule_id = given."ruleId"
   FROM ${given} WHERE item.tenant_id = $1 AND item.id = given.id`,
);
const placeMany = statement<never, [tenantId: string, ids: readonly string[], orders: readonly number[]]>(
  "policies.place_many",
  `UPDATE policies AS item SET "order" = placed.place
   FROM unnest($2::uuid[], $3::integer[]) AS placed (id, place)
   WHERE item.tenant_id = $1 AND item.id = placed.id AND item."order" <> placed.place`,
);
const deleteMany = statement<never, [tenantId: string, ids: readonly string[]]>(
  "policies.delete_many",
  "DELETE FROM policies WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) AND NOT is_default",
);

function replaceStatement(list: PolicyList) {
  const { table, column } = listTables[list];
  const [position, onConflict] =
    list === "gateways" ? [", position", "UPDATE SET position = excluded.position"] : ["", "NOTHING"];
  return statement<never, [tenantId: string, rows: string]>(
    `policies.replace_many_${list}`,
    `WITH given AS MATERIALIZED (
       SELECT * FROM json_to_recordset($2::json) AS given (id uuid, ids uuid[])
     ), wanted AS (
       SELECT given.id AS policy_id, listed.id AS named_id, (listed.place - 1)::smallint AS position
       FROM given, unnest(given.ids) WITH ORDINALITY AS listed (id, place)
     ), gone AS (
       DELETE FROM ${table} AS link USING given
       WHERE link.tenant_id = $1 AND link.policy_id = given.id AND NOT EXISTS (
         SELECT FROM wanted WHERE wanted.policy_id = link.policy_id AND wanted.named_id = link.${column}
       )
     )
     INSERT INTO ${table} (tenant_id, policy_id, ${column}${position})
     SELECT $1, policy_id, named_id${position} FROM wanted
     ON CONFLICT (tenant_id, policy_id, ${column}) DO ${onConflict}`,
  );
}

const replaceStatements = {
  groups: replaceStatement("groups"),
  users: replaceStatement("users"),
  devices: replaceStatement("devices"),
  resources: replaceStatement("resources"),
  gateways: replaceStatement("gateways"),
};

/** By type and order. */
export function readAllPolicies(tx: TenantTx): Promise<BulkPolicyRow[]> {
  return tx.query(selectAll, tx.tenantId);
}

/** Without their lists. Names must be free; each place in the order is held by one policy at COMMIT. */
export function insertPolicies(
  tx: TenantTx,
  _granted: Granted<"policies:write">,
  policies: readonly BulkPolicy[],
  at: Date,
): Promise<void> {
  return writeInChunks(policies, (rows) => tx.query(insertMany, tx.tenantId, at, rows));
}

/** Everything but names, types, places and lists. */
export function updatePolicies(
  tx: TenantTx,
  _granted: Granted<"policies:write">,
  policies: readonly BulkPolicy[],
  at: Date,
): Promise<void> {
  return writeInChunks(policies, (rows) => tx.query(updateMany, tx.tenantId, at, rows));
}

/** Puts policies into their places. Making room is nobody's change: versions stay. */
export async function placePoliciesInBulk(
  tx: TenantTx,
  _granted: Granted<"policies:write">,
  placed: readonly { readonly id: string; readonly order: number }[],
): Promise<void> {
  const ids = placed.map(({ id }) => id);
  const orders = placed.map(({ order }) => order);
  await tx.query(placeMany, tx.tenantId, ids, orders);
}

/** Makes policies list exactly what is given. */
export function replacePolicyLists(
  tx: TenantTx,
  _granted: Granted<"policies:write">,
  list: PolicyList,
  lists: readonly BulkPolicyList[],
): Promise<void> {
  return writeInChunks(lists, (rows) => tx.query(replaceStatements[list], tx.tenantId, rows));
}

/** The gaps that they leave in the order are for the caller to close. */
export async function deletePolicies(
  tx: TenantTx,
  _granted: Granted<"policies:write">,
  ids: readonly string[],
): Promise<void> {
  await tx.query(deleteMany, tx.tenantId, ids);
}
