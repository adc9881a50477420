/** Reading the changed facts of a tenant must not cost more the larger the tenant is. */
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Connection } from "../../../platform/db/database.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { publicKey, unique } from "../../../testing/operations/test-records.ts";
import { explained, type PlanNode } from "../../../testing/query-plans.queries.ts";
import { createDatabase } from "../../../testing/test-database.ts";
import { startTestServer, type TestServer } from "../../../testing/test-server.ts";
import { readChangedFacts } from "./facts.queries.ts";

const size = 3_000;

let server: TestServer;
let connection: Connection;
let drop: () => Promise<void>;

/** Uses its own database, whose statistics show one large tenant. */
beforeAll(async () => {
  const database = await createDatabase();
  ({ connection, drop } = database);
  server = await startTestServer({ connection });
});
afterAll(async () => {
  await server.close();
  await drop();
});

/** Inserts users with one device each, and resources. */
async function fill(tenantId: string): Promise<void> {
  const owner = new pg.Client(connection);
  await owner.connect();
  try {
    await owner.query("SELECT set_config('app.tenant_id', $1, false)", [tenantId]);
    await owner.query(
      `INSERT INTO users (tenant_id, id, created_at, updated_at, email, status)
       SELECT $1, gen_random_uuid(), now(), now(), 'user' || number || '@example.com', 'active'
       FROM generate_series(1, $2) AS number`,
      [tenantId, size],
    );
    await owner.query(
      `INSERT INTO devices (tenant_id, id, created_at, updated_at, name, user_id, hardware_id, public_key)
       SELECT $1, gen_random_uuid(), now(), now(), 'Laptop', id, id, id FROM users WHERE tenant_id = $1`,
      [tenantId],
    );
    await owner.query(
      `INSERT INTO resources (tenant_id, id, created_at, updated_at, name, type)
       SELECT $1, gen_random_uuid(), now(), now(), 'Resource ' || number, 'PRIVATE'
       FROM generate_series(1, $2) AS number`,
      [tenantId, size],
    );
    for (const table of ["users", "devices", "resources"]) await owner.query(`ANALYZE ${table}`);
  } finally {
    await owner.end();
  }
}

/** The rows that a plan reads from a table, or discards. */
function rowsRead(node: PlanNode, table: string): number {
  const own = node["Relation Name"] === table ? node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0) : 0;
  return own * node["Actual Loops"] + (node.Plans ?? []).reduce((sum, part) => sum + rowsRead(part, table), 0);
}

test("only changed records are read", async () => {
  const { id: tenantId, client } = await server.newTenant();
  await fill(tenantId);
  const since = (await server.runner.generations.current(tenantId)) ?? 0;
  const [changed, other] = (await client.must.get("/tenants/users?limit=2&sort=email")).body.data;
  await client.must.put(`/tenants/users/${changed?.id}`, { firstName: "New" });
  await client.must.post("/tenants/devices", {
    name: unique("Laptop"),
    userId: other?.id ?? "",
    hardwareId: unique("Serial"),
    publicKey: publicKey(),
  });
  const plans = new Map<string, PlanNode>();
  await server.database.dryRun({ kind: "tenant", tenantId }, async (transaction) => {
    const tx: TenantTx = {
      tenantId,
      query: async (asked, ...parameters) => {
        plans.set(asked.name ?? "", await explained(transaction, asked, parameters));
        return [];
      },
    };
    await readChangedFacts(tx, since);
  });
  const read = ["users", "devices", "resources"].map((table) => {
    const plan = plans.get(`access.changed_${table}`);
    return plan === undefined ? Number.NaN : rowsRead(plan, table);
  });
  // The device of the changed user is found by its user, and is then read like the new device.
  expect(read).toEqual([1, 3, 0]);
});
