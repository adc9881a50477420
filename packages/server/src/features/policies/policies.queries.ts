import type { PolicyMode, PolicyType } from "@gatehouse/contract/records/policy";
import type { ListSource } from "../../platform/db/list-statement.ts";
import { statement } from "../../platform/db/statement.ts";
import type { ListQuery } from "../../platform/list-query.ts";
import { listPage } from "../../platform/tenancy/list-page.queries.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { type AdmissionRuleJson, admissionRuleJson } from "../admission-rules/admission-rules.api.ts";
import { type PolicyDeviceJson, policyDeviceJson } from "../devices/devices.api.ts";
import { type GatewayJson, gatewayJson } from "../gateways/gateways.api.ts";
import { type PolicyGroupJson, policyGroupJson } from "../groups/groups.api.ts";
import { type PolicyResourceJson, policyResourceJson } from "../resources/resources.api.ts";
import { type PolicyUserJson, policyUserJson } from "../users/users.api.ts";
import { type PolicyList, policyLists } from "./policies.rules.ts";

/** The settings of a policy, as configurations read them. */
export interface PolicySettingsRow {
  readonly id: string;
  readonly name: string;
  readonly type: PolicyType;
  readonly order: number;
  readonly isDefault: boolean;
  readonly active: boolean;
  readonly action: boolean;
  readonly mode: PolicyMode | null;
  readonly allGroups: boolean;
  readonly allUsers: boolean;
  readonly allDevices: boolean;
  readonly allResources: boolean;
  readonly sourceIps: readonly string[];
  readonly description: string;
  /** The name of the admission rule. */
  readonly rule: string;
  /** Names; email addresses of users. Gateways are in the order given. */
  readonly groups: readonly string[];
  readonly users: readonly string[];
  readonly devices: readonly { readonly publicKey: string; readonly name: string }[];
  readonly resources: readonly string[];
  readonly gateways: readonly string[];
}

/** The policy's own columns. */
export interface PolicyRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
  readonly name: string;
  readonly type: PolicyType;
  readonly order: number;
  readonly is_default: boolean;
  readonly active: boolean;
  readonly action: boolean;
  readonly mode: PolicyMode | null;
  readonly all_groups: boolean;
  readonly all_users: boolean;
  readonly all_devices: boolean;
  readonly all_resources: boolean;
  readonly source_ips: string[];
  readonly description: string;
}

/** The policy with everything that its record embeds. */
export interface WholePolicyRow extends PolicyRow {
  readonly groups: PolicyGroupJson[] | null;
  readonly users: PolicyUserJson[] | null;
  readonly devices: PolicyDeviceJson[] | null;
  readonly resources: PolicyResourceJson[] | null;
  readonly gateways: GatewayJson[] | null;
  readonly rule: AdmissionRuleJson;
}

const columns = [
  "id",
  "created_at",
  "updated_at",
  "version",
  "name",
  "type",
  '"order"',
  "is_default",
  "active",
  "action",
  "mode",
  "all_groups",
  "all_users",
  "all_devices",
  "all_resources",
  "source_ips",
  "description",
]
  .map((column) => `item.${column}`)
  .join(", ");

/** The table of each list of a policy. */
export const listTables = {
  groups: { table: "policy_groups", column: "group_id" },
  users: { table: "policy_users", column: "user_id" },
  devices: { table: "policy_devices", column: "device_id" },
  resources: { table: "policy_resources", column: "resource_id" },
  gateways: { table: "policy_gateways", column: "gateway_id" },
} as const satisfies Record<PolicyList, object>;

/** Lists are in order of id, except for gateways, which keep the order given. */
function embeddedList(list: PolicyList, json: (alias: string) => string): string {
  const { table, column } = listTables[list];
  const order = list === "gateways" ? "listed.position" : "embedded.id";
  return `(SELECT json_agg(${json("embedded")} ORDER BY ${order})
     FROM ${table} AS listed
     JOIN ${list} AS embedded ON embedded.tenant_id = listed.tenant_id AND embedded.id = listed.${column}
     WHERE listed.tenant_id = item.tenant_id AND listed.policy_id = item.id) AS ${list}`;
}

/** @param withToken the SQL of a boolean: whether the caller may see the tokens of gateways */
function wholePolicy(withToken: string): string {
  return [
    columns,
    embeddedList("groups", policyGroupJson),
    embeddedList("users", policyUserJson),
    embeddedList("devices", policyDeviceJson),
    embeddedList("resources", policyResourceJson),
    embeddedList("gateways", (alias) => gatewayJson(alias, withToken)),
    `(SELECT ${admissionRuleJson("rule")} FROM admission_rules AS rule
     WHERE rule.tenant_id = item.tenant_id AND rule.id = item.rule_id) AS rule`,
  ].join(",\n    ");
}

function listSource(withToken: boolean): ListSource {
  const linked = (list: PolicyList) => {
    const { table, column } = listTables[list];
    return {
      value: `linked.${column}`,
      within: (predicate: string) =>
        `EXISTS (SELECT FROM ${table} AS linked
                 WHERE linked.tenant_id = item.tenant_id AND linked.policy_id = item.id AND ${predicate})`,
    };
  };
  return {
    table: "policies",
    variant: withToken ? "policies_with_tokens" : "policies",
    select: wholePolicy(String(withToken)),
    columns: {
      id: { value: "item.id" },
      name: { value: "item.name", key: "item.name_key" },
      order: { value: 'item."order"' },
      createdAt: { value: "item.created_at" },
      type: { value: "item.type" },
      active: { value: "item.active" },
      action: { value: "item.action" },
      "resources.id": linked("resources"),
      "groups.id": linked("groups"),
      "users.id": linked("users"),
      "rule.id": { value: "item.rule_id" },
    },
  };
}

const sources = { withToken: listSource(true), withoutToken: listSource(false) };

const selectWhole = statement<WholePolicyRow, [tenantId: string, id: string, withToken: boolean]>(
  "policies.read",
  `SELECT ${wholePolicy("$3")} FROM policies AS item WHERE item.tenant_id = $1 AND item.id = $2`,
);
const shown: Readonly<Record<PolicyList, string>> = {
  groups: "listed.name",
  users: "listed.email",
  devices: "json_build_object('publicKey', listed.public_key, 'name', listed.name)",
  resources: "listed.name",
  gateways: "listed.name",
};

// One index lookup for each policy and each name in it. As joins, PostgreSQL would choose nested loops over whole
// tables when it underestimates them: a tenant that was just filled is not in its statistics. For the same reason,
// lists take the tenant from the policy: for a parameter, PostgreSQL may choose an index that has all policies of the
// tenant.
const selectLists = policyLists
  .map((list) => {
    const { table, column } = listTables[list];
    const order = list === "gateways" ? " ORDER BY link.position" : "";
    return `coalesce((
       SELECT json_agg((SELECT ${shown[list]} FROM ${list} AS listed
                        WHERE listed.tenant_id = $1 AND listed.id = link.${column})${order})
       FROM ${table} AS link WHERE link.tenant_id = item.tenant_id AND link.policy_id = item.id
     ), '[]') AS ${list}`;
  })
  .join(", ");

const selectAll = statement<PolicySettingsRow, [tenantId: string]>(
  "policies.read_all",
  `SELECT item.id, item.name, item.type, item."order", item.is_default AS "isDefault", item.active, item.action, item.mode,
          item.all_groups AS "allGroups", item.all_users AS "allUsers", item.all_devices AS "allDevices",
          item.all_resources AS "allResources", item.source_ips AS "sourceIps", item.description,
          (SELECT name FROM admission_rules WHERE tenant_id = $1 AND id = item.rule_id) AS rule, ${selectLists}
   FROM policies AS item
   WHERE item.tenant_id = $1 ORDER BY item.type, item."order"`,
);

const selectForChange = statement<PolicyRow, [tenantId: string, id: string]>(
  "policies.lock",
  `SELECT ${columns} FROM policies AS item WHERE item.tenant_id = $1 AND item.id = $2 FOR UPDATE`,
);

/** All policies, ordered by type and position. */
export function readAllPolicies(tx: TenantTx): Promise<PolicySettingsRow[]> {
  return tx.query(selectAll, tx.tenantId);
}

export async function readPolicy(tx: TenantTx, id: string, withToken: boolean): Promise<WholePolicyRow | undefined> {
  return (await tx.query(selectWhole, tx.tenantId, id, withToken))[0];
}

/** Reads the policy. Nobody else can change it before the transaction ends. */
export async function lockPolicy(tx: TenantTx, id: string): Promise<PolicyRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, id))[0];
}

export function listPolicies(
  tx: TenantTx,
  query: ListQuery,
  withToken: boolean,
): Promise<{ readonly rows: WholePolicyRow[]; readonly total: number }> {
  return listPage(tx, withToken ? sources.withToken : sources.withoutToken, query);
}
