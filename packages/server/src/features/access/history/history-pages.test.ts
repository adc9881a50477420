/** Versions of large resources are read in pages. */
import type { ResourceFacts } from "@gatehouse/policy/model/facts";
import { beforeAll, expect, test } from "vitest";
import { unprepared } from "../../../platform/db/statement.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../../../testing/test-server.ts";
import { readHistoryAfter, readHistoryAt, readHistoryOf } from "./history.queries.ts";

const records = 20;

let server: TestServer;
let tenant: TestTenant;
let created: number;

const lists = Array.from({ length: 100 }, (_, index) =>
  Array.from({ length: 100 }, (_one, port) => ({ protocol: "TCP", port: String(10_000 + index * 100 + port) })),
);

/** Stores two versions of each resource, in two generations that no command makes. */
beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
  created = ((await server.runner.generations.current(tenant.id)) ?? 0) + 1_000;
  const addresses = [{ address: "10.0.0.1", answersWithin: null, protocols: lists }];
  const insert = `INSERT INTO access_history (tenant_id, kind, record, generation, first_generation, facts)
    SELECT $1, 'resource', 'r' || number, $2::bigint + version, $2::bigint, $3::json
    FROM generate_series(1, ${records}) AS number CROSS JOIN generate_series(0, 1) AS version`;
  await server.database.transaction({ kind: "tenant", tenantId: tenant.id }, ({ query }) =>
    query(
      unprepared<never, [tenantId: string, generation: number, facts: string]>(insert),
      tenant.id,
      created,
      JSON.stringify({ id: "r", addresses, gateways: [] }),
    ),
  );
});

test.each([
  ["after a generation", 2 * records, async (tx: TenantTx) => (await readHistoryAfter(tx, created - 1)).versions],
  ["of a generation", records, (tx: TenantTx) => readHistoryOf(tx, created)],
  [
    "in force at a generation",
    records,
    async (tx: TenantTx) => (await readHistoryAt(tx, created)).filter(({ kind }) => kind === "resource"),
  ],
])("the versions %s are read in pages, and share the lists of their ports", async (_, expected, read) => {
  const largest: number[] = [];
  const versions = await server.database.readThrough({ kind: "tenant", tenantId: tenant.id }, ({ query }) =>
    read({
      tenantId: tenant.id,
      query: async (asked, ...parameters) => {
        const rows = await query(asked, ...parameters);
        largest.push(JSON.stringify(rows).length);
        return rows;
      },
    }),
  );
  expect(largest.length).toBeGreaterThan(2);
  expect(Math.max(...largest)).toBeLessThan(5_000_000);
  const named = new Set(versions.map(({ record, generation }) => `${record} ${generation}`));
  expect([versions.length, named.size]).toEqual([expected, expected]);
  const ports = versions.map(({ facts }) => (facts as ResourceFacts).addresses[0]?.protocols);
  expect(ports[0]).toEqual(lists);
  expect(new Set(ports.map((protocols) => protocols?.[99])).size).toBe(1);
});
