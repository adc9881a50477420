import { beforeAll, beforeEach, expect, test } from "vitest";
import { sharedTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import type { Database } from "../db/database.ts";
import { unprepared } from "../db/statement.ts";
import { currentState } from "./generation.queries.ts";
import { SharedSnapshots } from "./shared-snapshots.ts";
import type { TenantTx } from "./tenant-tx.ts";

const selectTenant = unprepared<{ id: string }, []>("SELECT current_tenant() AS id");
const selectNumber = unprepared<{ number: number }, [number: number]>("SELECT $1::integer AS number");
const failing = unprepared<never, []>("SELECT 1 / 0");

let server: TestServer;
let tenants: readonly [TestTenant, TestTenant];
let begun: number;
let snapshots: SharedSnapshots;

beforeAll(async () => {
  server = await sharedTestServer();
  tenants = [await server.newTenant(), await server.newTenant()];
});
beforeEach(() => {
  begun = 0;
  const snapshot: Database["snapshot"] = (scope, work) => {
    begun += 1;
    return server.database.snapshot(scope, work);
  };
  snapshots = new SharedSnapshots({ snapshot });
});

const numbered = (number: number) => async (tx: TenantTx) => (await tx.query(selectNumber, number))[0]?.number;

test("reads in one turn of the event loop share a snapshot, one for each tenant", async () => {
  const tenantOf = async (tx: TenantTx) => (await tx.query(selectTenant))[0]?.id;
  const [one, other] = tenants;
  const reads = await Promise.all([one, other, one].map(({ id }) => snapshots.read(id, tenantOf)));
  expect(reads.map(({ rows }) => rows)).toEqual([one.id, other.id, one.id]);
  expect(begun).toBe(2);
  expect(reads[0]?.state).toEqual(await currentState(server.database, one.id));
});

test("a read after the snapshot has begun does not share it, and sees what was committed since", async () => {
  const [{ id, client }] = tenants;
  const first = snapshots.read(id, numbered(1));
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toBe(1);
  const second = snapshots.read(id, numbered(2));
  const before = await first;
  expect((await second).rows).toBe(2);
  expect(begun).toBe(2);
  await client.must.post("/tenants/groups", { name: "Between two snapshots" });
  const after = await snapshots.read(id, numbered(3));
  expect(after.state?.generation).toBe((before.state?.generation ?? 0) + 1);
});

test("many reads use several snapshots", async () => {
  const numbers = Array.from({ length: 40 }, (_, number) => number);
  const reads = await Promise.all(numbers.map((number) => snapshots.read(tenants[0].id, numbered(number))));
  expect(reads.map(({ rows }) => rows)).toEqual(numbers);
  expect(begun).toBe(3);
});

test("a read that fails does not affect reads that share its snapshot", async () => {
  const [{ id }] = tenants;
  const thrown = () => {
    throw new Error("no query was sent");
  };
  const [first, failed, refused, last] = await Promise.allSettled([
    snapshots.read(id, numbered(1)),
    snapshots.read(id, (tx) => tx.query(failing)),
    snapshots.read(id, thrown),
    snapshots.read(id, numbered(2)),
  ]);
  expect(first).toMatchObject({ status: "fulfilled", value: { rows: 1 } });
  expect(failed).toMatchObject({ status: "rejected", reason: { message: "division by zero" } });
  expect(refused).toMatchObject({ status: "rejected", reason: { message: "no query was sent" } });
  expect(last).toMatchObject({ status: "fulfilled", value: { rows: 2 } });
});

test("an error of the transaction affects only its own request, which is not repeated", async () => {
  const [{ id }] = tenants;
  let runs = 0;
  const divide = (tx: TenantTx) => {
    runs += 1;
    return tx.query(failing);
  };
  const [failed, ...others] = await Promise.allSettled([
    snapshots.read<unknown>(id, divide),
    snapshots.read<unknown>(id, numbered(1)),
    snapshots.read<unknown>(id, numbered(2)),
  ]);
  expect(failed).toMatchObject({ status: "rejected", reason: { message: "division by zero" } });
  const state = await currentState(server.database, id);
  expect(others).toEqual([1, 2].map((rows) => ({ status: "fulfilled", value: { state, rows } })));
  expect(runs).toBe(1);
  expect(begun).toBe(3);
});

test("a tenant that does not exist has no state", async () => {
  const read = await snapshots.read("00000000-0000-4000-8000-000000000000", numbered(1));
  expect(read).toEqual({ state: undefined, rows: 1 });
});
