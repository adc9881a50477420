/** Every column of tenants' tables is either compared by `--live`, or listed with a reason. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { auditedWorld } from "./testing/audited-world.ts";
import type { TenantColumn } from "./testing/edited-columns.queries.ts";
import { EditedColumns } from "./testing/edited-columns.ts";
import { createDatabase, type TestDatabase } from "./testing/test-database.ts";
import { startTestServer, type TestServer, type TestTenant } from "./testing/test-server.ts";
import {
  unverifiedColumns,
  unverifiedDeletions,
  unverifiedEverywhere,
  unverifiedInsertions,
} from "./testing/unverified-columns.ts";

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
    const tables = await tablesOf(edits);
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

/** The columns of each table. */
async function tablesOf(edits: EditedColumns): Promise<ReadonlyMap<string, readonly TenantColumn[]>> {
  const tables = new Map<string, TenantColumn[]>();
  for (const each of await edits.columns()) tables.set(each.table, [...(tables.get(each.table) ?? []), each]);
  return tables;
}

test("a deleted row of any table is found, unless the list gives a reason", async () => {
  const outcome = { notFound: [] as string[], found: [] as string[], unknown: [] as string[] };
  await EditedColumns.with(server, tenant.id, async (edits) => {
    const tables = await tablesOf(edits);
    outcome.unknown.push(...listedIn(unverifiedDeletions).filter((table) => !tables.has(table)));
    for (const [table, [column]] of tables) {
      if (column === undefined) continue;
      const isListed = listedIn(unverifiedDeletions).includes(table);
      // The reasons hold for all rows. Of the others, one is enough.
      const findings = await edits.afterDeletion(column, isListed ? "all" : "newest");
      if (isListed && findings !== undefined) outcome.found.push(...findings.map((finding) => `${table}: ${finding}`));
      if (!isListed && (findings ?? []).length === 0) outcome.notFound.push(table);
    }
  });
  expect(outcome).toEqual({ notFound: [], found: [], unknown: [] });
});

test("an inserted row of any table with ids is found, unless the list gives a reason", async () => {
  const outcome = { notFound: [] as string[], found: [] as string[], unknown: [] as string[] };
  await EditedColumns.with(server, tenant.id, async (edits) => {
    const tables = await tablesOf(edits);
    const withIds = [...tables].filter(
      ([table, columns]) => table !== "tenants" && columns.some(({ column }) => column === "id"),
    );
    const names = withIds.map(([table]) => table);
    outcome.unknown.push(...listedIn(unverifiedInsertions).filter((table) => !names.includes(table)));
    for (const [table, columns] of withIds) {
      const isListed = listedIn(unverifiedInsertions).includes(table);
      const findings = await edits.afterInsertion(columns);
      if (isListed && findings !== undefined) outcome.found.push(...findings.map((finding) => `${table}: ${finding}`));
      if (!isListed && (findings ?? []).length === 0) outcome.notFound.push(table);
    }
  });
  expect(outcome).toEqual({ notFound: [], found: [], unknown: [] });
});

function listedIn(reasons: Readonly<Record<string, readonly string[]>>): readonly string[] {
  return Object.values(reasons).flat();
}
