/** Inserts a tenant's facts faster than the API could, directly into the tables as the owner of the database. */
import type { TenantFacts } from "@gatehouse/policy/model/facts";
import pg from "pg";

const common = "current_setting('app.tenant_id')::uuid, item.id, now(), now()";
const commonColumns = "tenant_id, id, created_at, updated_at";
const tenant = "current_setting('app.tenant_id')::uuid";

/** The insertion for each kind of facts. Its only parameter is a JSON array of facts. */
const insertions: readonly (readonly [kind: keyof TenantFacts, insertion: string])[] = [
  [
    "groups",
    `INSERT INTO groups (${commonColumns}, name) SELECT ${common}, item.name
     FROM json_to_recordset($1) AS item (id uuid, name text)`,
  ],
  [
    "users",
    `INSERT INTO users (${commonColumns}, email, first_name, last_name, status, attributes)
     SELECT ${common}, item.email, item."firstName", item."lastName", item.status, item.attributes
     FROM json_to_recordset($1) AS item (id uuid, email text, "firstName" text, "lastName" text, status text, attributes jsonb)`,
  ],
  ["users", members("group_members", "user_id", "group_id", "groups")],
  [
    "devices",
    `INSERT INTO devices (${commonColumns}, name, user_id, active, hardware_id, public_key, app_version, os, os_version, posture)
     SELECT ${common}, item.name, item."userId", item.active, item."hardwareId", item.id, item."appVersion", item.os,
            item."osVersion", item.posture
     FROM json_to_recordset($1) AS item (id uuid, name text, "userId" uuid, active boolean, "hardwareId" text,
                                         "appVersion" text, os text, "osVersion" text, posture jsonb)`,
  ],
  [
    "gateways",
    `INSERT INTO gateways (${commonColumns}, name, wireguard_port, status, token_ciphertext, token_hash)
     SELECT ${common}, item.name, 51820, item.status, '', sha256(convert_to(${tenant}::text || item.id, 'UTF8'))
     FROM json_to_recordset($1) AS item (id uuid, name text, status text)`,
  ],
  [
    "resources",
    `INSERT INTO resources (${commonColumns}, name, type, load_balancing_mode)
     SELECT ${common}, item.name, item.type, item."loadBalancingMode"
     FROM json_to_recordset($1) AS item (id uuid, name text, type text, "loadBalancingMode" text)`,
  ],
  [
    "resources",
    `INSERT INTO addresses (${commonColumns}, resource_id, address, is_ip)
     SELECT ${tenant}, gen_random_uuid(), now(), now(), item.id, part.address, false
     FROM json_to_recordset($1) AS item (id uuid, addresses json)
     CROSS JOIN json_to_recordset(item.addresses) AS part (address text)`,
  ],
  [
    "resources",
    `INSERT INTO resource_gateways (tenant_id, resource_id, gateway_id, priority)
     SELECT ${tenant}, item.id, part.id::uuid, part.place - 1
     FROM json_to_recordset($1) AS item (id uuid, gateways json)
     CROSS JOIN json_array_elements_text(item.gateways) WITH ORDINALITY AS part (id, place)`,
  ],
  [
    "rules",
    `INSERT INTO admission_rules (${commonColumns}, name, type, rule)
     SELECT ${common}, 'Seeded ' || item.name, item.type, item.text
     FROM json_to_recordset($1) AS item (id uuid, name text, type text, text text) WHERE item.type = 'CUSTOM'`,
  ],
  [
    "policies",
    `INSERT INTO policies (${commonColumns}, name, type, "order", active, action, all_groups, all_users, all_devices,
                           all_resources, rule_id)
     SELECT ${common}, item.name, item.type, item.place, item.active, item.action, item."allGroups", item."allUsers",
            item."allDevices", item."allResources", coalesce(rule.id, built_in.id)
     FROM ROWS FROM (json_to_recordset($1) AS (id uuid, name text, type text, active boolean, action boolean,
                       "allGroups" boolean, "allUsers" boolean, "allDevices" boolean, "allResources" boolean, rule uuid))
       WITH ORDINALITY AS item (id, name, type, active, action, "allGroups", "allUsers", "allDevices", "allResources", rule, place)
     LEFT JOIN admission_rules AS rule ON rule.tenant_id = ${tenant} AND rule.id = item.rule
     JOIN admission_rules AS built_in ON built_in.tenant_id = ${tenant} AND built_in.type = 'ALLOW'`,
  ],
  ["policies", members("policy_groups", "policy_id", "group_id", "groups")],
  ["policies", members("policy_users", "policy_id", "user_id", "users")],
  ["policies", members("policy_resources", "policy_id", "resource_id", "resources")],
];

function members(table: string, owner: string, member: string, field: string): string {
  return `INSERT INTO ${table} (tenant_id, ${owner}, ${member})
    SELECT DISTINCT ${tenant}, item.id, part.id::uuid FROM json_to_recordset($1) AS item (id uuid, ${field} json)
    CROSS JOIN json_array_elements_text(item.${field}) AS part (id)`;
}

/** More than the policies of any tenant, because the order of policies is that within one insertion. */
const recordsAtOnce = 50_000;

/**
 * @param facts with ids that the tenant does not contain yet; the tenant's own rule replaces their rule of type ALLOW
 */
export async function seedFacts(connection: pg.ClientConfig, tenantId: string, facts: TenantFacts): Promise<void> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    // The data is valid, so triggers and checks of foreign keys are disabled.
    await client.query("SET session_replication_role = replica");
    await client.query("SELECT set_config('app.tenant_id', $1, false)", [tenantId]);
    for (const [kind, insertion] of insertions) {
      const records = facts[kind];
      for (let from = 0; from < records.length; from += recordsAtOnce) {
        await client.query(insertion, [JSON.stringify(records.slice(from, from + recordsAtOnce))]);
      }
    }
    await client.query("UPDATE tenant_generations SET generation = generation + 1 WHERE tenant_id = $1", [tenantId]);
    await client.query("CHECKPOINT");
    await client.query("VACUUM ANALYZE");
  } finally {
    await client.end();
  }
}
