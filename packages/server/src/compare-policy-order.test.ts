/** `audit verify --live` accepts each order that commands make, and finds each order that was edited. */
import fc from "fast-check";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { budgeted } from "../../../test/budget.ts";
import { compareLiveRecords } from "./compare-live-records.ts";
import { verifyTenant } from "./platform/audit/verify-database.ts";
import { type OrderDraw, RandomPolicyOrders } from "./testing/random-policy-orders.ts";
import { copyTenant } from "./testing/tenant-copy.queries.ts";
import { TestClock } from "./testing/test-clock.ts";
import { copyDatabase, createDatabase, type TestDatabase } from "./testing/test-database.ts";
import { startTestServer, type TestServer, type TestTenant } from "./testing/test-server.ts";

const dayMs = 24 * 60 * 60_000;
const path = "/tenants/policies";
const clock = new TestClock();
let own: TestDatabase;
let owner: pg.Client;
let server: TestServer;

beforeAll(async () => {
  own = await createDatabase();
  owner = new pg.Client(own.connection);
  await owner.connect();
  const audit = { checkpointSeconds: 86_400, retentionDays: 30 };
  server = await startTestServer({ connection: own.connection, clock, settings: { audit } });
});
afterAll(async () => {
  await Promise.all([server.close(), owner.end()]);
  await own.drop();
});

async function findingsOf({ id }: TestTenant, at = server): Promise<readonly string[]> {
  const { signatures } = at.runner.audit.keys;
  const report = await verifyTenant(at.database, { tenantId: id, signatures, compareLive: compareLiveRecords });
  return report?.findings.map(({ message }) => message) ?? ["The tenant has no record."];
}

/** Prunes all entries except for the newest. */
async function prune({ client }: TestTenant): Promise<void> {
  clock.advance(31 * dayMs);
  await client.must.post("/tenants/groups", { name: `At ${clock.now().toISOString()}` });
  await server.tasks.get("audit-retention")?.runNow();
  const { body } = await client.must.get("/tenants/events");
  expect(body.total).toBe(2);
}

/** Sets positions in the database, without the check of unique positions. */
const place = (tenant: TestTenant, order: string) =>
  owner.query(
    `SET session_replication_role = replica;
     UPDATE policies SET "order" = ${order} WHERE tenant_id = '${tenant.id}' AND type = 'PRIVATE';
     SET session_replication_role = DEFAULT`,
  );

const keys = fc.array(fc.nat(250), { minLength: 8, maxLength: 8 });
const type = fc.nat(1);
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant(0), type, keys }) },
  { weight: 12, arbitrary: fc.record({ kind: fc.integer({ min: 1, max: 7 }), type, keys }) },
  { weight: 2, arbitrary: fc.constant("prune" as const) },
);

/** Edits of the positions of at least two policies. */
const edits = ['3 - "order"', '-"order"', "1", '"order" * 2', `CASE "order" WHEN 1 THEN 100 ELSE "order" END`];

test("random commands, reverts, documents and pruning are accepted, and edits after them are found", async () => {
  let accepted = 0;
  let pruned = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 20 }), async (steps) => {
      const tenant = await server.newTenant();
      const orders = new RandomPolicyOrders(tenant.client);
      for (const index of [0, 1, 0, 1, 0]) await orders.take({ kind: 0, type: index, keys: [] });
      for (const taken of steps) {
        if (taken === "prune") {
          await prune(tenant);
          pruned += 1;
        } else if (await orders.take(taken)) accepted += 1;
        expect(await findingsOf(tenant)).toEqual([]);
      }
      while ((await orders.idsOf("PRIVATE")).length < 2) await orders.take({ kind: 0, type: 0, keys: [] });
      const restore = await copyTenant(owner, tenant.id);
      for (const edit of edits) {
        await place(tenant, edit);
        const message =
          /^The order of the PRIVATE policies is not as their entries left it: the policy .* has position/;
        expect(await findingsOf(tenant), edit).toEqual([expect.stringMatching(message)]);
        await restore();
        expect(await findingsOf(tenant)).toEqual([]);
      }
    }),
    // To find a smaller counterexample takes many minutes.
    { numRuns: budgeted(300, 15), endOnFailure: true },
  );
  expect(accepted).toBeGreaterThan(30);
  expect(pruned).toBeGreaterThan(0);
});

/** A tenant with four PRIVATE policies. */
async function fourPolicies(): Promise<{ readonly tenant: TestTenant; readonly ids: readonly string[] }> {
  const tenant = await server.newTenant();
  const ids: string[] = [];
  for (const name of ["One", "Two", "Three", "Four"]) {
    const { body } = await tenant.client.must.post(path, { name, type: "PRIVATE", action: name !== "One" });
    ids.push(body.id);
  }
  return { tenant, ids };
}

type Command = (tenant: TestTenant, ids: readonly string[]) => Promise<unknown>;
const creation = (name: string) => ({ method: "POST", path, body: { name, type: "PRIVATE", action: true } });

test.each<[string, Command]>([
  ["creates a policy", ({ client }) => client.must.post(path, creation("Five").body)],
  [
    "creates two policies",
    ({ client }) => client.must.post("/tenants/changes", { changes: [creation("Five"), creation("Six")] }),
  ],
  [
    "moves other policies",
    ({ client }, [one, two, three, four]) =>
      client.must.post(`${path}/reorder`, { type: "PRIVATE", policies: [two, one, four, three] }),
  ],
  [
    "reads all facts",
    async ({ client }) => {
      const { body } = await client.must.post("/tenants/groups", { name: "Engineers" });
      await client.must.put(`/tenants/groups/${body.id}`, { deviceSessionLifetime: 86_400 });
    },
  ],
])(
  "policies that were swapped before a command that %s are found, until a reordering repairs them",
  async (_name, command) => {
    const { tenant, ids } = await fourPolicies();
    await place(tenant, `CASE "order" WHEN 1 THEN 2 WHEN 2 THEN 1 ELSE "order" END`);
    const finding = `The order of the PRIVATE policies is not as their entries left it: the policy ${ids[0]} has position 2 instead of 1.`;
    expect(await findingsOf(tenant)).toEqual([finding]);
    await command(tenant, ids);
    expect(await findingsOf(tenant)).toEqual([finding]);

    const { body } = await tenant.client.must.get(`${path}?filter[type]=PRIVATE&sort=order`);
    const present = body.data.map(({ id }: { id: string }) => id);
    const [two, one, ...others] = present;
    expect([one, two]).toEqual(ids.slice(0, 2));
    await tenant.client.must.post(`${path}/reorder`, { type: "PRIVATE", policies: [one, two, ...others] });
    expect(await findingsOf(tenant)).toEqual([]);
  },
);

test("a database that was restored from a backup has no finding, nor after further commands", async () => {
  const steps: readonly OrderDraw[] = [0, 0, 0, 1, 4, 5, 1].map((kind) => ({
    kind,
    type: 0,
    keys: [11, 7, 5, 3, 2, 9, 1, 6],
  }));
  const original = await createDatabase();
  const first = await startTestServer({ connection: original.connection });
  const tenant = await first.newTenant();
  const orders = new RandomPolicyOrders(tenant.client);
  for (const taken of steps) expect(await orders.take(taken)).toBe(true);
  await first.close();
  const copy = await copyDatabase(String(new pg.Client(original.connection).database));
  const second = await startTestServer({ connection: copy.connection });
  try {
    expect(await findingsOf(tenant, second)).toEqual([]);
    const client = second.client(tenant.key);
    expect((await client.post(path, creation("After the restore").body)).status).toBe(201);
    const { body } = await client.get(`${path}?filter[type]=PRIVATE&sort=-order`);
    const policies = body.data.map(({ id }: { id: string }) => id);
    expect((await client.post(`${path}/reorder`, { type: "PRIVATE", policies })).status).toBe(204);
    expect(await findingsOf(tenant, second)).toEqual([]);
  } finally {
    await second.close();
    await Promise.all([original.drop(), copy.drop()]);
  }
});
