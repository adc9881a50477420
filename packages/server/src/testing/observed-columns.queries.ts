/** The columns whose writes count as observations, by table, from PostgreSQL's catalogue. */
import { unprepared } from "../platform/db/statement.ts";
import type { TestServer } from "./test-server.ts";

const select = unprepared<{ name: string; columns: readonly string[] }, []>(
  `SELECT watched.tgrelid::regclass::text AS name,
          ARRAY(SELECT attname::text FROM pg_attribute
                WHERE attrelid = watched.tgrelid AND attnum = ANY (watched.tgattr) ORDER BY attname) AS columns
   FROM pg_trigger AS watched WHERE watched.tgfoid = 'count_observation'::regproc AND watched.tgenabled = 'O'`,
);

export async function observedColumns(server: TestServer): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await server.database.snapshot({ kind: "operator" }, (tx) => tx.query(select));
  return new Map(rows.map(({ name, columns }) => [name, columns]));
}
