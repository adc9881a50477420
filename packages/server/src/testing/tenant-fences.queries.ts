/** Checks in PostgreSQL's catalogue that each table has the fences around tenants, and reports missing ones. */
import type pg from "pg";
import { applicationRole } from "../platform/db/database.ts";

interface Key {
  readonly name: string;
  readonly columns: readonly string[];
}

interface ForeignKey extends Key {
  readonly target: string;
  readonly targetColumns: readonly string[];
}

interface Policy {
  readonly name: string;
  readonly command: string;
  readonly using: string | null;
  readonly check: string | null;
}

export interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  readonly enabled: boolean;
  readonly forced: boolean;
  readonly policies: readonly Policy[];
  readonly primaryKey: readonly string[];
  /** All unique indexes except the primary key's. */
  readonly uniqueKeys: readonly Key[];
  readonly foreignKeys: readonly ForeignKey[];
  /** The columns of each index that covers all rows. */
  readonly indexes: readonly (readonly string[])[];
  readonly privileges: readonly string[];
  readonly ownedByApplication: boolean;
}

/** The names of the columns in an array of attribute numbers, in the same order. */
const columnNames = (relation: string, numbers: string) =>
  `(SELECT json_agg(attribute.attname ORDER BY numbered.place)
    FROM unnest(${numbers}) WITH ORDINALITY AS numbered (number, place)
    JOIN pg_attribute AS attribute ON attribute.attrelid = ${relation} AND attribute.attnum = numbered.number)`;

const selectTables = `
  SELECT relation.relname AS name,
    relation.relrowsecurity AS enabled,
    relation.relforcerowsecurity AS forced,
    relation.relowner = application.oid AS "ownedByApplication",
    (SELECT json_agg(attname ORDER BY attnum) FROM pg_attribute
     WHERE attrelid = relation.oid AND attnum > 0 AND NOT attisdropped) AS columns,
    (SELECT coalesce(json_agg(json_build_object('name', polname, 'command', polcmd,
       'using', pg_get_expr(polqual, polrelid), 'check', pg_get_expr(polwithcheck, polrelid)) ORDER BY polname), '[]')
     FROM pg_policy WHERE polrelid = relation.oid AND polpermissive) AS policies,
    coalesce((SELECT ${columnNames("relation.oid", "conkey")} FROM pg_constraint
              WHERE conrelid = relation.oid AND contype = 'p'), '[]') AS "primaryKey",
    (SELECT coalesce(json_agg(json_build_object('name', index.indexrelid::regclass::text,
       'columns', ${columnNames("relation.oid", "index.indkey::int2[]")})), '[]')
     FROM pg_index AS index WHERE index.indrelid = relation.oid AND index.indisunique AND NOT index.indisprimary)
      AS "uniqueKeys",
    (SELECT coalesce(json_agg(json_build_object('name', conname, 'target', target.relname,
       'columns', ${columnNames("conrelid", "conkey")}, 'targetColumns', ${columnNames("confrelid", "confkey")})), '[]')
     FROM pg_constraint JOIN pg_class AS target ON target.oid = confrelid
     WHERE conrelid = relation.oid AND contype = 'f') AS "foreignKeys",
    (SELECT coalesce(json_agg(${columnNames("relation.oid", "index.indkey::int2[]")}), '[]')
     FROM pg_index AS index WHERE index.indrelid = relation.oid AND index.indpred IS NULL) AS indexes,
    (SELECT coalesce(json_agg(privilege ORDER BY privilege), '[]')
     FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) AS privilege
     WHERE has_table_privilege(application.oid, relation.oid, privilege)) AS privileges
  FROM pg_class AS relation
  JOIN pg_roles AS application ON application.rolname = '${applicationRole}'
  WHERE relation.relnamespace = 'public'::regnamespace AND relation.relkind IN ('r', 'p')
  ORDER BY relation.relname`;

/** Every table of the schema. */
export async function readTables(client: pg.Client): Promise<readonly Table[]> {
  return (await client.query<Table>(selectTables)).rows;
}

/** The column that identifies the tenant of a row; undefined for tables of the installation. */
export function tenantColumn(table: Table): "tenant_id" | "id" | undefined {
  if (table.name === "tenants") return "id";
  return table.columns.includes("tenant_id") && table.name !== "operator_events" ? "tenant_id" : undefined;
}

/** The deliberate exceptions of each table from access by the tenant alone. */
const openings: Readonly<Record<string, readonly string[]>> = {
  // The presenter of a key can access only that key's row, by its hash.
  api_keys: ["presented_key"],
  console_sessions: ["presented_session"],
  // So do the presenters of a session, a passkey, an enrolment link and a recovery code.
  sessions: ["presented_session", "presented_refresh_token"],
  authorization_codes: ["presented_key"],
  passkeys: ["presented_key"],
  enrolment_keys: ["presented_key"],
  enrolment_links: ["presented_code", "presented_key"],
  recovery_codes: ["presented_key"],
  // Tasks of the installation, and the operator's replies, which have the nil UUID as tenant.
  idempotent_replies: [
    "operator_clears",
    "operator_replies_insert",
    "operator_replies_update",
    "operator_sees_expired",
  ],
  // Expired replies of all tenants are deleted together, which changes their totals.
  idempotent_reply_totals: ["operator_counts"],
  outbox: ["operator_clears", "operator_follows"],
  // An agent that presents a token can access only that token's row, by its hash.
  device_tokens: ["presented_token"],
  former_gateway_tokens: ["presented_token"],
  gateways: ["presented_token"],
  // The check for silent gateways covers all tenants. None of these rows contains a secret.
  gateway_links: ["operator_follows"],
  // Replicas follow the links of the devices of all their tenants with one query.
  device_links: ["operator_follows"],
  device_gateway_sources: ["operator_follows"],
  // Signing of the audit record queries which chains have grown.
  audit_checkpoints: ["operator_follows"],
  // The check of signed heads covers all tenants. Seals and stubs contain only hashes.
  audit_seals: ["operator_follows"],
  audit_stubs: ["operator_follows"],
  // Signing, and the dispatcher, which polls all tenants. None of these rows contains a secret or the content of a
  // message.
  tenant_generations: ["operator_follows"],
  // Replicas look for due mails of all tenants. The rows have no content.
  mails: ["operator_follows"],
  // The counts of former days are deleted for all tenants together.
  mail_counts: ["operator_clears", "operator_sees_former"],
  // A person who signs in names a tenant by its slug, or by a domain that it has proven.
  tenant_domains: ["presented_domain"],
  tenants: ["operator_reads", "presented_slug"],
  // Any replica completes effects that another one did not. The rows that the policy shows have no content.
  access_late_effects: ["operator_follows"],
  webhook_deliveries: ["operator_follows"],
  webhooks: ["operator_follows"],
};

/**
 * Indexes that are unique across tenants: hashes of random bits, which reveal nothing, the names and slugs of tenants,
 * and domains, which only their owner can verify.
 */
const uniqueEverywhere = new Set([
  "api_keys_hash_unique",
  "authorization_codes_hash_unique",
  "console_sessions_hash_unique",
  "device_tokens_hash_unique",
  "enrolment_keys_hash_unique",
  "enrolment_links_code_unique",
  "enrolment_links_token_unique",
  "former_gateway_tokens_hash_unique",
  "gateways_token_unique",
  "passkeys_hash_unique",
  "recovery_codes_hash_unique",
  "sessions_hash_unique",
  "sessions_refresh_family_unique",
  "tenant_domains_verified_unique",
  "tenants_name_unique",
  "tenants_slug_unique",
]);

/** Tables on which the application lacks some privileges on rows, with the privileges it has. */
const lessPrivileges: Readonly<Record<string, readonly string[]>> = {
  audit_accepted_heads: ["INSERT", "SELECT"],
  audit_checkpoints: ["INSERT", "SELECT"],
  audit_events: ["INSERT", "SELECT"],
  audit_keys: ["INSERT", "SELECT"],
  audit_seals: ["INSERT", "SELECT"],
  audit_stubs: ["INSERT", "SELECT", "UPDATE"],
  installation: ["INSERT", "SELECT"],
  operator_chain: ["SELECT", "UPDATE"],
  operator_checkpoints: ["INSERT", "SELECT"],
  operator_events: ["INSERT", "SELECT"],
  outbox: ["DELETE", "INSERT", "SELECT"],
  schema_migrations: ["SELECT"],
  signing_key_handovers: ["INSERT", "SELECT"],
};
const rowPrivileges = ["DELETE", "INSERT", "SELECT", "UPDATE"];

/** @returns the missing fences of the table in words; empty if it has all */
export function missingFences(table: Table): readonly string[] {
  const problems: string[] = [];
  const expected = lessPrivileges[table.name] ?? rowPrivileges;
  const beyond = table.privileges.filter((privilege) => !expected.includes(privilege));
  if (beyond.length > 0) problems.push(`${applicationRole} may ${beyond.join(", ")}`);
  if (table.ownedByApplication) problems.push(`${applicationRole} owns it`);
  const column = tenantColumn(table);
  if (column !== undefined) problems.push(...missingSecurity(table, column), ...missingKeys(table, column));
  return problems.map((problem) => `${table.name}: ${problem}`);
}

function missingSecurity({ name, enabled, forced, policies }: Table, column: string): string[] {
  const problems: string[] = [];
  if (!enabled) problems.push("row-level security is off");
  if (!forced) problems.push("row-level security is not forced upon the owner");
  const fence = `(${column} = current_tenant())`;
  const isFence = ({ command, using, check }: Policy) =>
    command === "*" && using === fence && (check === null || check === fence);
  if (!policies.some(isFence)) problems.push("no policy compares with current_tenant()");
  for (const policy of policies) {
    if (!isFence(policy) && !openings[name]?.includes(policy.name)) problems.push(`${policy.name} opens the fence`);
  }
  return problems;
}

function missingKeys({ primaryKey, uniqueKeys, foreignKeys, indexes }: Table, column: string): string[] {
  const problems: string[] = [];
  if (!primaryKey.includes(column)) problems.push("the primary key leaves the tenant out");
  for (const key of uniqueKeys) {
    if (!key.columns.includes(column) && !uniqueEverywhere.has(key.name)) {
      problems.push(`${key.name} leaves the tenant out`);
    }
  }
  for (const { name, columns, target, targetColumns } of foreignKeys) {
    const targetColumn = target === "tenants" ? "id" : "tenant_id";
    if (targetColumns[columns.indexOf(column)] !== targetColumn) problems.push(`${name} leaves the tenant out`);
    const covers = (index: readonly string[]) =>
      columns.every((wanted) => index.slice(0, columns.length).includes(wanted));
    if (!indexes.some(covers)) problems.push(`no index covers ${name}`);
  }
  return problems;
}

export interface ApplicationRole {
  readonly powers: readonly string[];
  readonly memberOf: readonly string[];
  readonly owned: number;
  readonly mayCreate: boolean;
}

const selectRole = `
  SELECT
    (SELECT coalesce(json_agg(power), '[]') FROM (VALUES
       ('SUPERUSER', rolsuper), ('BYPASSRLS', rolbypassrls), ('CREATEROLE', rolcreaterole), ('CREATEDB', rolcreatedb),
       ('LOGIN', rolcanlogin), ('REPLICATION', rolreplication)) AS held (power, has) WHERE has) AS powers,
    (SELECT coalesce(json_agg(roleid::regrole::text), '[]') FROM pg_auth_members WHERE member = role.oid) AS "memberOf",
    (SELECT count(*)::int FROM pg_shdepend
     WHERE refclassid = 'pg_authid'::regclass AND refobjid = role.oid AND deptype = 'o') AS owned,
    has_schema_privilege(role.oid, 'public', 'CREATE') AS "mayCreate"
  FROM pg_roles AS role WHERE rolname = '${applicationRole}'`;

/** The rights of the role that serves requests beyond its privileges on tables. */
export async function readApplicationRole(client: pg.Client): Promise<ApplicationRole | undefined> {
  return (await client.query<ApplicationRole>(selectRole)).rows[0];
}
