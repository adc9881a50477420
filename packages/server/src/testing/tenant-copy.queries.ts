/** Copies of all rows of a tenant, for tests that edit them as the owner of the database. */
import pg from "pg";

/** A table with rows of tenants, and the columns that a row can be written with. */
interface TenantTable {
  readonly name: string;
  readonly key: string;
  readonly columns: string;
}

/** The tables of each database. */
const tables = new WeakMap<pg.Client, Promise<readonly TenantTable[]>>();

async function readTables(owner: pg.Client): Promise<readonly TenantTable[]> {
  const { rows } = await owner.query<TenantTable>(
    `SELECT table_name AS name, CASE table_name WHEN 'tenants' THEN 'id' ELSE 'tenant_id' END AS key,
            string_agg(quote_ident(column_name), ', ') FILTER (WHERE is_generated = 'NEVER') AS columns
     FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
     WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name NOT IN ('outbox')
     GROUP BY table_name
     HAVING table_name = 'tenants' OR bool_or(column_name = 'tenant_id')`,
  );
  return rows;
}

/** Copies all rows of a tenant. Returns a function that puts them back, so that edits do not add up. */
export async function copyTenant(owner: pg.Client, id: string): Promise<() => Promise<void>> {
  const reading = tables.get(owner) ?? readTables(owner);
  tables.set(owner, reading);
  const copied = await reading;
  const rowsOf = copied.map(
    ({ name, key }) => `SELECT '${name}' AS name, json_agg(item) AS rows FROM public.${name} AS item WHERE ${key} = $1`,
  );
  const copies = await owner.query<{ name: string; rows: string | null }>(
    `SELECT name, rows::text FROM (${rowsOf.join(" UNION ALL ")}) AS copies`,
    [id],
  );
  const rows = new Map(copies.rows.map((copy) => [copy.name, copy.rows]));
  return async () => {
    const statements = copied.flatMap(({ name, key, columns }) => {
      const before = rows.get(name) ?? null;
      const source = `json_populate_recordset(NULL::public.${name}, ${pg.escapeLiteral(before ?? "[]")})`;
      return [
        `DELETE FROM public.${name} WHERE ${key} = '${id}'`,
        ...(before === null ? [] : [`INSERT INTO public.${name} (${columns}) SELECT ${columns} FROM ${source}`]),
      ];
    });
    // Neither foreign keys nor triggers must interfere.
    await owner.query(["SET session_replication_role = replica", ...statements].join(";\n"));
    await owner.query("SET session_replication_role = DEFAULT");
  };
}
