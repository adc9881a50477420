/** Reading the changed facts of a tenant must not cost more the larger the tenant is. */
import { expect, test } from "vitest";
import { unprepared } from "../../../platform/db/statement.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { publicKey, unique, uniqueEmail } from "../../../testing/operations/test-records.ts";
import { explained, type PlanNode } from "../../../testing/query-plans.queries.ts";
import { sharedTestServer } from "../../../testing/test-server.ts";
import { readChangedFacts } from "./facts.queries.ts";

const size = 30;

/** As for a large table. */
const withoutSequentialScans = unprepared<never, []>("SELECT set_config('enable_seqscan', 'off', true)");

/** The rows that a plan reads from a table, or discards. */
function rowsRead(node: PlanNode, table: string): number {
  const own = node["Relation Name"] === table ? node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0) : 0;
  return own * node["Actual Loops"] + (node.Plans ?? []).reduce((sum, part) => sum + rowsRead(part, table), 0);
}

test("only changed records are read", async () => {
  const server = await sharedTestServer();
  const { id: tenantId, client } = await server.newTenant();
  const many = Array.from({ length: size }, () => ({ email: uniqueEmail() }));
  const { body: users } = await client.must.post("/tenants/users", many);
  const newDevice = (userId: string) =>
    client.must.post("/tenants/devices", {
      name: unique("Laptop"),
      userId,
      hardwareId: unique("Serial"),
      publicKey: publicKey(),
    });
  for (const { id } of users) await newDevice(id);
  const addresses = [{ address: "host.internal.example.com", protocols: [] }];
  for (let index = 0; index < size; index += 1) {
    await client.must.post("/tenants/resources", { name: unique("Resource"), type: "PRIVATE", addresses });
  }
  const since = (await server.runner.generations.current(tenantId)) ?? 0;
  await client.must.put(`/tenants/users/${users[0]?.id}`, { firstName: "New" });
  await newDevice(users[1]?.id ?? "");
  const plans = new Map<string, PlanNode>();
  await server.database.dryRun({ kind: "tenant", tenantId }, async (transaction) => {
    await transaction.query(withoutSequentialScans);
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
