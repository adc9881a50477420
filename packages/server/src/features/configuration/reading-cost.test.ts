/** Reading a whole tenant must not take quadratic time, even if PostgreSQL underestimates its size. */
import { finish } from "@gatehouse/policy/work";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { appendToRecord, storeEarlyEntries } from "../../platform/audit/audit.queries.ts";
import type { Connection } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { explained, indexed, misled, type PlanNode } from "../../testing/query-plans.queries.ts";
import { createDatabase } from "../../testing/test-database.ts";
import { startTestServer, type TestClient, type TestServer } from "../../testing/test-server.ts";
import { readTenantRows } from "./tenant-records.ts";

const size = 60;

let server: TestServer;
let connection: Connection;
let drop: () => Promise<void>;

/** Uses its own database, because rows of other tests would count as discarded. */
beforeAll(async () => {
  const database = await createDatabase();
  ({ connection, drop } = database);
  server = await startTestServer({ connection });
});
afterAll(async () => {
  await server.close();
  await drop();
});

/** The number of rows that a plan reads and discards, over all nodes and loops. */
function discarded(node: PlanNode): number {
  const own = (node["Rows Removed by Join Filter"] ?? 0) + (node["Rows Removed by Filter"] ?? 0);
  return own * node["Actual Loops"] + (node.Plans ?? []).reduce((sum, part) => sum + discarded(part), 0);
}

/** Fills a tenant with records that refer to each other. */
async function fill(client: TestClient): Promise<void> {
  const many = (prefix: string) => Array.from({ length: size }, (_, index) => `${prefix}${index}`);
  const { body: document } = await client.get("/tenants/configuration");
  const { status } = await client.post("/tenants/configuration/apply", {
    ...document,
    groups: [...document.groups, ...many("Group ").map((name) => ({ name, roles: ["BASIC"] }))],
    users: [
      ...document.users,
      ...many("user").map((name, index) => ({
        email: `${name}@example.com`,
        groups: [`Group ${index}`],
        roles: ["AUDITOR"],
      })),
    ],
    resources: many("Resource ").map((name, index) => ({
      name,
      type: "PRIVATE",
      addresses: [{ address: `host${index}.internal.example.com`, protocols: ["SSH"] }],
    })),
    policies: {
      PRIVATE: many("Policy ").map((name, index) => ({
        name,
        action: true,
        groups: [`Group ${index}`],
        resources: [`Resource ${index}`],
      })),
    },
  });
  expect(status).toBe(200);
}

test("reading does not compare all records with each other, even if the planner underestimates them", async () => {
  const { id: tenantId, client } = await server.newTenant();
  await fill(client);
  const plans = new Map<string, PlanNode>();
  await server.database.transaction({ kind: "tenant", tenantId }, async (transaction) => {
    await transaction.query(misled);
    await readTenantRows({
      tenantId,
      query: async (asked, ...parameters) => {
        plans.set(asked.name ?? "", await explained(transaction, asked, parameters));
        return [];
      },
    });
  });
  expect([...plans.keys()]).toEqual(expect.arrayContaining(["resources.read_all", "users.read_all"]));
  for (const [name, plan] of plans) expect(discarded(plan), name).toBeLessThan(size * 10);
});

/** The indexes that a plan uses. */
function indexes(node: PlanNode): readonly string[] {
  const own = node["Index Name"] === undefined ? [] : [node["Index Name"]];
  return [...own, ...(node.Plans ?? []).flatMap(indexes)];
}

test("records are found by their keys, even if the statistics are older than the tenant", async () => {
  await fill((await server.newTenant()).client);
  const owner = new pg.Client(connection);
  await owner.connect();
  try {
    for (const table of ["access_history", "policies", "policy_groups", "policy_resources"]) {
      await owner.query(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
      await owner.query(`ANALYZE ${table}`);
    }
  } finally {
    await owner.end();
  }
  const { id: tenantId, client } = await server.newTenant();
  await fill(client);
  const used = new Map<string, readonly string[]>();
  await server.database.dryRun({ kind: "tenant", tenantId }, async (transaction) => {
    await transaction.query(indexed);
    const tx: TenantTx = {
      tenantId,
      query: async (asked, ...parameters) => {
        used.set(asked.name ?? "", indexes(await explained(transaction, asked, parameters)));
        return [];
      },
    };
    await readTenantRows(tx);
    const counts = { users: 0, devices: 0, sites: 0, resources: 0, internet: false, pairs: 0 };
    const origin = {
      operation: "test",
      at: new Date(),
      requestId: "r",
      actor: { type: "system", name: "Test" },
    } as const;
    const change = { type: "group", id: newId(), name: "Group", after: {} } as const;
    const recorded = [{ id: newId(), origin, change }];
    const entries = await storeEarlyEntries(tx, origin, recorded, finish);
    await appendToRecord(tx, tenantId, origin, entries, {
      generation: 1_000,
      at: new Date(),
      summary: { gained: counts, lost: counts, groupCount: 0, groups: [], brokenTests: [] },
      versions: JSON.stringify([{ kind: "user", record: newId(), facts: {} }]),
      hasEarlierVersions: false,
      isLate: false,
    });
  });
  expect(used.get("policies.read_all")).toEqual(
    expect.arrayContaining(["policy_groups_pkey", "policy_resources_pkey"]),
  );
  expect(used.get("audit.append_with_effect")).toContain("access_history_pkey");
});
