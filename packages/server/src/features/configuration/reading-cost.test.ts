/** Reading a whole tenant must not take quadratic time, even if PostgreSQL underestimates its size. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { migrate } from "../../platform/db/migrations.ts";
import { explained, misled, type PlanNode } from "../../testing/query-plans.queries.ts";
import { createDatabase } from "../../testing/test-database.ts";
import { startTestServer, type TestServer } from "../../testing/test-server.ts";
import { readTenantRows } from "./tenant-records.ts";

const size = 60;

let server: TestServer;
let drop: () => Promise<void>;

/** Uses its own database, because rows of other tests would count as discarded. */
beforeAll(async () => {
  const database = await createDatabase();
  drop = database.drop;
  await migrate(database.connection);
  server = await startTestServer({ connection: database.connection });
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

test("reading does not compare all records with each other, even if the planner underestimates them", async () => {
  const { id: tenantId, client } = await server.newTenant();
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
