/** Numbers of a tenant's rows by table, with a digest of their content. */
import type { Database } from "../platform/db/database.ts";
import { unprepared } from "../platform/db/statement.ts";

const selectTables = unprepared<{ name: string }, []>(
  `SELECT c.relname AS name FROM pg_class AS c
   JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'tenant_id'
   WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND has_table_privilege(c.oid, 'SELECT')
   ORDER BY c.relname`,
);

/** Tables that every request updates, or a task in the background. */
const ignored = new Set(["api_keys", "audit_checkpoints"]);

export async function rowCounts(database: Database, tenantId: string): Promise<Readonly<Record<string, string>>> {
  return database.transaction({ kind: "tenant", tenantId }, async ({ query }) => {
    const counts: Record<string, string> = {};
    for (const { name } of await query(selectTables)) {
      if (ignored.has(name)) continue;
      const select = unprepared<{ count: number; digest: string | null }, []>(
        `SELECT count(*) AS count, md5(string_agg(item::text, '' ORDER BY item::text)) AS digest FROM ${name} AS item`,
      );
      const [row] = await query(select);
      counts[name] = `${row?.count} ${row?.digest}`;
    }
    return counts;
  });
}
