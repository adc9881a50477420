/** Audit entries that no command wrote. */
import { statement } from "../platform/db/statement.ts";
import type { TestServer } from "./test-server.ts";

const copy = statement<{ id: string }, [tenantId: string, id: string, count: number, before: string | null]>(
  "testing.copy_events",
  `INSERT INTO audit_events
   SELECT (jsonb_populate_record(item, jsonb_build_object('id', gen_random_uuid(), 'position', last + n,
     'before', coalesce($4::jsonb, item.before::jsonb)))).*
   FROM audit_events AS item, generate_series(1, $3::integer) AS n,
     (SELECT max(position) + 100000 AS last FROM audit_events WHERE tenant_id = $1) AS entries
   WHERE item.tenant_id = $1 AND item.id = $2 RETURNING id`,
);

/**
 * Appends copies of an audit entry.
 *
 * @param before another recorded state; undefined for that of the entry
 */
export async function copyEvents(
  database: TestServer["database"],
  tenantId: string,
  id: string,
  { count = 1, before }: { readonly count?: number; readonly before?: object },
): Promise<readonly string[]> {
  const state = before === undefined ? null : JSON.stringify(before);
  const rows = await database.transaction({ kind: "tenant", tenantId }, (tx) =>
    tx.query(copy, tenantId, id, count, state),
  );
  return rows.map((row) => row.id);
}
