/** Every column of tenants' tables is either compared by `--live`, or listed with a reason. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { auditedWorld } from "./testing/audited-world.ts";
import type { TenantColumn } from "./testing/edited-columns.queries.ts";
import { EditedColumns } from "./testing/edited-columns.ts";
import { createDatabase, type TestDatabase } from "./testing/test-database.ts";
import { startTestServer, type TestServer, type TestTenant } from "./testing/test-server.ts";
import { unverifiedColumns, unverifiedEverywhere } from "./testing/unverified-columns.ts";

let own: TestDatabase;
let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  own = await createDatabase();
  server = await startTestServer({ connection: own.connection });
  tenant = await auditedWorld(server);
});
afterAll(async () => {
  await server.close();
  await own.drop();
});

/** Whether the list names the column of its table. */
function isListed({ table, column }: TenantColumn): boolean {
  const names = Object.values(unverifiedColumns[table] ?? {}).flat();
  return names.includes("*") || names.includes(column);
}

test("an edit of any column is found, unless the list gives a reason", async () => {
  const notFound: string[] = [];
  const found: string[] = [];
  const unknown: string[] = [];
  await EditedColumns.with(server, tenant.id, async (edits) => {
    expect(await edits.findings([])).toEqual([]);
    const columns = await edits.columns();
    const tables = new Map<string, TenantColumn[]>();
    for (const each of columns) tables.set(each.table, [...(tables.get(each.table) ?? []), each]);
    for (const [table, named] of Object.entries(unverifiedColumns)) {
      const known = tables.get(table)?.map(({ column }) => column) ?? [];
      const extra = Object.values(named)
        .flat()
        .filter((column) => !known.includes(column) && (column !== "*" || known.length === 0));
      unknown.push(...extra.map((column) => `${table}.${column}`));
    }
    for (const [table, all] of tables) {
      const listed = all.filter(isListed);
      // Edited together: none of them may be found.
      for (const finding of (await edits.findings(listed)) ?? []) found.push(`${table}: ${finding}`);
      for (const each of all) {
        if (isListed(each) || each.column in unverifiedEverywhere) continue;
        if (((await edits.findings([each])) ?? []).length === 0) notFound.push(`${table}.${each.column}`);
      }
    }
  });
  expect({ notFound, found, unknown }).toEqual({ notFound: [], found: [], unknown: [] });
});
