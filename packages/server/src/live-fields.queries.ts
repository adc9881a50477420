/** Compares single fields of records with the latest entries that contain them. */
import { statement } from "./platform/db/statement.ts";
import type { TenantTx } from "./platform/tenancy/tenant-tx.ts";

interface LiveField {
  /** The field in entries. */
  readonly name: string;
  /** SQL for its current value as JSON, or null if entries omit it. */
  readonly value: string;
  /** The compared part of the field. */
  readonly part?: string;
  /** SQL for whether the field is compared; always by default. */
  readonly when?: string;
  /** The value of a record whose creation recorded none, as text. Other such fields are not compared. */
  readonly initial?: string;
}

interface LiveKind {
  /** The target type of the entries. */
  readonly type: string;
  readonly table: string;
  /** The column with the tenant's id. */
  readonly tenant?: string;
  /** A field of complete entries. Entries of configuration documents lack it, and contain only changed fields. */
  readonly complete?: string;
  /** A field of complete entries that contains the compared ones. */
  readonly within?: string;
  readonly fields: readonly LiveField[];
}

const column = (name: string, sql: string): LiveField => ({ name, value: `to_jsonb(item.${sql})` });
const nonEmpty = (name: string, sql: string): LiveField => ({ name, value: `to_jsonb(nullif(item.${sql}, ''))` });
const flag = (name: string, sql: string, value = "true"): LiveField => ({
  name,
  value: `CASE WHEN item.${sql} THEN '${value}'::jsonb END`,
});
/** Timestamps as entries show them. */
const shownTime = (sql: string) => `to_jsonb(to_char(${sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`;
const time = (name: string, sql: string): LiveField => ({ name, value: shownTime(`item.${sql}`) });
const keys = [flag("publicKeyProved", "key_proved"), time("keyResetUntil", "key_reset_until")];

const kinds: readonly LiveKind[] = [
  {
    type: "tenant",
    table: "tenants",
    tenant: "id",
    fields: [column("name", "name"), column("slug", "slug"), column("ownerEmail", "owner_email")],
  },
  {
    type: "user",
    table: "users",
    fields: [
      { ...column("isOwner", "is_owner"), initial: "false" },
      column("maxDevices", "max_devices"),
      nonEmpty("image", "image"),
    ],
  },
  {
    type: "group",
    table: "groups",
    fields: [
      nonEmpty("description", "description"),
      column("maxDevices", "max_devices"),
      column("deviceSessionLifetime", "device_session_lifetime"),
      column("idpMapping", "idp_mapping"),
      // The group that loses the mark to another one has no entry of its own.
      { ...column("isSamlDefaultGroup", "is_saml_default_group"), when: "item.is_saml_default_group" },
      { name: "deleteable", value: "'false'::jsonb", when: "item.is_default" },
    ],
  },
  {
    type: "device",
    table: "devices",
    complete: "publicKey",
    fields: [
      column("publicKey", "public_key"),
      flag("approval", "approval_pending", '"pending"'),
      flag("agent", "agent IS FALSE", "false"),
      column("enrolmentKey", "enrolment_key_id"),
      {
        name: "session",
        part: "signedInAt",
        value: `(SELECT ${shownTime("own.signed_in_at")} FROM device_sessions AS own
                 WHERE own.tenant_id = item.tenant_id AND own.device_id = item.id)`,
      },
      ...keys,
    ],
  },
  {
    type: "gateway",
    table: "gateways",
    fields: [
      nonEmpty("description", "description"),
      { name: "wireguardPort", value: "to_jsonb(item.wireguard_port::text)" },
      column("relayEnabled", "relay_enabled"),
      nonEmpty("endpoint", "endpoint"),
      nonEmpty("publicKey", "public_key"),
      ...keys,
    ],
  },
  {
    type: "gateway",
    table: "gateways",
    within: "settings",
    fields: [
      column("resolvers", "resolvers"),
      column("domains", "resolver_domains"),
      column("networks", "networks"),
      { name: "relayPort", value: "to_jsonb(item.relay_port::text)" },
    ],
  },
  {
    type: "enrolment-key",
    table: "enrolment_keys",
    fields: [{ ...column("user", "user_id"), part: "id" }],
  },
  {
    type: "access-test",
    table: "access_tests",
    fields: [
      { ...column("name", "name"), initial: "no entry" },
      column("enforced", "enforced"),
      column("expected", "expected"),
      column("device", "device"),
      { ...column("subject", "subject_type"), part: "type" },
      { ...column("subject", "subject_id"), part: "id" },
      { ...column("resource", "resource_type"), part: "type" },
      { ...column("resource", "resource_id"), part: "id" },
      { ...column("resource", "properties"), part: "properties", value: "nullif(item.properties, '{}')" },
      { name: "context", value: "nullif(item.context, '{}')" },
    ],
  },
  {
    type: "enrolment-link",
    table: "enrolment_links",
    fields: [{ ...column("userId", "user_id"), initial: "no entry" }, time("expiresAt", "expires_at")],
  },
];

export interface DifferingField {
  readonly type: string;
  readonly id: string;
  readonly field: string;
}

/**
 * The latest entry that contains a field decides. Lists in entries of configuration documents may contain only
 * additions, so they are not compared. Retention may have pruned the creation of a record.
 */
function selectDiffering({ type, table, tenant = "tenant_id", complete = "createdAt", within, fields }: LiveKind) {
  const after = "event.after::jsonb";
  const content = within === undefined ? after : `${after} -> '${within}'`;
  const isComplete = within === undefined ? `${after} ? '${complete}'` : `${after} ? '${within}'`;
  const rows = fields.map(
    ({ name, part, value, when = "true", initial }) =>
      `('${name}', ARRAY[${part === undefined ? "" : `'${part}'`}]::text[], ${value}, ${when},
        ${initial === undefined ? "NULL" : `'${initial}'`}::text)`,
  );
  return `SELECT DISTINCT '${type}' AS type, item.id, field.name AS field
    FROM ${table} AS item
    CROSS JOIN LATERAL (VALUES ${rows.join(", ")}) AS field (name, part, value, compared, initial)
    LEFT JOIN LATERAL (
      SELECT CASE WHEN ${isComplete} THEN ${content} -> field.name ELSE ${after} -> field.name END AS known,
             ${isComplete} AS complete
      FROM audit_events AS event
      WHERE event.tenant_id = item.${tenant} AND event.target_id = item.id AND event.target_type = '${type}'
        AND event.after IS NOT NULL AND (${isComplete} OR ${after} ? field.name)
      ORDER BY event.position DESC LIMIT 1
    ) AS latest ON true
    WHERE item.${tenant} = $1 AND field.compared AND CASE
      WHEN latest.complete OR jsonb_typeof(latest.known) <> 'array'
      THEN nullif(field.value #>> '{}', '') IS DISTINCT FROM nullif(latest.known #>> field.part, '')
      WHEN latest.complete IS NULL AND field.initial IS NOT NULL
      THEN field.value #>> '{}' IS DISTINCT FROM field.initial
        AND NOT EXISTS (SELECT FROM audit_stubs WHERE tenant_id = $1)
      ELSE false END`;
}

const selectAll = statement<DifferingField, [tenantId: string]>(
  "audit.differing_fields",
  `${kinds.map(selectDiffering).join(" UNION ALL ")} ORDER BY type, id, field LIMIT 1000`,
);

export function differingFields(tx: TenantTx): Promise<DifferingField[]> {
  return tx.query(selectAll, tx.tenantId);
}
