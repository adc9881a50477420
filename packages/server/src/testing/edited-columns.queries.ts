/** The columns of tenants' tables, from PostgreSQL's catalogue, and other values for them. */
import { unprepared } from "../platform/db/statement.ts";

export interface TenantColumn {
  readonly table: string;
  readonly column: string;
  /** PostgreSQL's type, such as `text[]`. */
  readonly type: string;
  /** The column with the tenant's id. */
  readonly tenant: string;
}

export const columnsOfTenants = unprepared<TenantColumn, []>(
  `SELECT relation.relname AS "table", attribute.attname AS "column", format_type(attribute.atttypid, NULL) AS type,
          CASE relation.relname WHEN 'tenants' THEN 'id' ELSE 'tenant_id' END AS tenant
   FROM pg_class AS relation
   JOIN pg_attribute AS attribute ON attribute.attrelid = relation.oid AND attribute.attnum > 0
     AND NOT attribute.attisdropped AND attribute.attgenerated = ''
   WHERE relation.relnamespace = 'public'::regnamespace AND relation.relkind = 'r' AND (relation.relname = 'tenants'
     OR relation.relname <> 'operator_events' AND EXISTS (
       SELECT FROM pg_attribute WHERE attrelid = relation.oid AND attname = 'tenant_id' AND NOT attisdropped))
   ORDER BY relation.relname, attribute.attname`,
);

/** Drops checks and unique keys, so that columns may have any value of their type. */
export const dropChecks = unprepared<never, []>(
  `DO $$ DECLARE item record; BEGIN
     FOR item IN SELECT conrelid::regclass AS relation, conname FROM pg_constraint
       WHERE contype IN ('c', 'u') AND connamespace = 'public'::regnamespace
     LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I CASCADE', item.relation, item.conname); END LOOP;
     FOR item IN SELECT indexrelid::regclass AS index FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
       WHERE indisunique AND NOT indisprimary AND relnamespace = 'public'::regnamespace
     LOOP EXECUTE format('DROP INDEX %s', item.index); END LOOP;
   END $$`,
);

const ofTenant = "WHERE other.tenant_id = item.tenant_id";
/** Other records of the tenant, for columns whose rows mean nothing without one. */
const others: Readonly<Record<string, string>> = {
  "group_roles.group_id": `(SELECT id FROM groups AS other ${ofTenant} AND id <> item.group_id LIMIT 1)`,
  "group_roles.role_id": `(SELECT id FROM roles AS other ${ofTenant} AND type = 'ADMIN')`,
  "user_roles.role_id": `(SELECT id FROM roles AS other ${ofTenant} AND type = 'ADMIN')`,
  "user_roles.user_id": `(SELECT id FROM users AS other ${ofTenant} AND is_owner)`,
};

/** SQL for a value that differs from the column's current one. */
export function editedValue({ table, column, type }: TenantColumn): string {
  const other = others[`${table}.${column}`];
  if (other !== undefined) return other;
  const present = `"${column}"`;
  switch (type) {
    case "uuid":
      return "gen_random_uuid()";
    case "boolean":
      return `NOT coalesce(${present}, false)`;
    case "text":
      return `coalesce(${present}, '') || 'x'`;
    case "text[]":
      return `array_append(${present}, 'x')`;
    case "bytea":
      return `sha256(coalesce(${present}, ''))`;
    case "json":
    case "jsonb":
      return `'[{"edited": true}]'`;
    case "date":
      return `coalesce(${present}, current_date) + 1`;
    case "xid8":
      return "'1'::xid8";
    default:
      return type.startsWith("timestamp")
        ? `coalesce(${present}, now()) + interval '1 day'`
        : `coalesce(${present}, 0) - 1000`;
  }
}
