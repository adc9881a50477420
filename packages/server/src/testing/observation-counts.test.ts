/**
 * Every kind of write outside commands that cached answers show raises the number of observations, which cached answers
 * depend on (docs/decisions/0100). A new trigger needs a case here.
 */
import pg from "pg";
import { beforeAll, expect, test } from "vitest";
import {
  storeHandshakes,
  touchConnectedDevices,
  touchConnectedUsers,
  touchHeardGateways,
} from "../agents/gateways/link-state.queries.ts";
import { claimMails, queueMails, settleMail } from "../features/mail/mail.queries.ts";
import { newId } from "../platform/ids.ts";
import { readTenantState, type TenantState } from "../platform/tenancy/generation.queries.ts";
import type { TenantTx } from "../platform/tenancy/tenant-tx.ts";
import { observedColumns } from "./observed-columns.queries.ts";
import { make, makeId } from "./operations/test-records.ts";
import { createDatabase } from "./test-database.ts";
import { sharedTestServer, startTestServer, type TestServer, type TestTenant } from "./test-server.ts";

const at = new Date("2026-01-31T12:00:00.000Z");

let server: TestServer;

beforeAll(async () => {
  server = await sharedTestServer();
});

function inTenant<T>(tenantId: string, work: (tx: TenantTx) => Promise<T>): Promise<T> {
  return server.database.transaction({ kind: "tenant", tenantId }, ({ query }) => work({ tenantId, query }));
}

async function stateOf(tenantId: string): Promise<TenantState> {
  return (await inTenant(tenantId, readTenantState)) ?? expect.fail("the tenant exists");
}

interface Place {
  readonly tenant: TestTenant;
  readonly gateway: string;
  readonly device: string;
  readonly user: string;
  readonly resource: string;
}

async function newPlace(): Promise<Place> {
  const tenant = await server.newTenant();
  const { client } = tenant;
  const gateway = await makeId("gateway", client);
  const device = await make("device", client);
  const resource = await makeId("resource", client);
  await client.must.put(`/tenants/resources/${resource}/gateways/${gateway}`);
  return { tenant, gateway, device: device.id, user: device.user.id, resource };
}

async function claimedMail(place: Place): Promise<{ readonly id: string; readonly attemptId: string }> {
  const attemptId = newId();
  return inTenant(place.tenant.id, async (tx) => {
    await queueMails(tx, [{ userId: place.user, email: "ann@example.com", linkId: null }], { perTenant: 100, at });
    const [mail] = await claimMails(tx, { now: at, attemptId, until: new Date(at.getTime() + 60_000), limit: 1 });
    return { id: mail?.id ?? expect.fail("the mail is due"), attemptId };
  });
}

interface Write {
  readonly name: string;
  readonly table: string;
  readonly columns: readonly string[];
  /** Prepares the write. It has not happened yet. */
  readonly prepare: (place: Place) => Promise<(tx: TenantTx) => Promise<unknown>>;
  /** A question whose answer the write changes. */
  readonly question: (place: Place) => string;
  readonly shown: object;
}

const writes: readonly Write[] = [
  {
    name: "when a gateway was last heard",
    table: "gateways",
    columns: ["last_online"],
    prepare:
      async ({ gateway }) =>
      (tx) =>
        touchHeardGateways(tx, [{ id: gateway, at: at.toISOString() }], at),
    question: ({ resource }) => `/tenants/resources/${resource}`,
    shown: { gateways: [{ lastOnline: at.toISOString() }] },
  },
  {
    name: "when a device was last connected",
    table: "devices",
    columns: ["last_connection"],
    prepare:
      async ({ device, gateway }) =>
      (tx) =>
        touchConnectedDevices(tx, [{ device_id: device, gateway_id: gateway, at: at.toISOString() }]),
    question: ({ device }) => `/tenants/devices/${device}`,
    shown: { lastConnection: at.toISOString() },
  },
  {
    name: "when a user was last connected",
    table: "users",
    columns: ["last_connection"],
    prepare:
      async ({ user }) =>
      (tx) =>
        touchConnectedUsers(tx, new Map([[user, at.toISOString()]])),
    question: ({ user }) => `/tenants/users/${user}`,
    shown: { lastConnection: at.toISOString() },
  },
  {
    name: "the result of a mail",
    table: "mails",
    columns: ["error", "status", "updated_at"],
    async prepare(place) {
      const mail = await claimedMail(place);
      const result = { status: "failed", failures: 1, error: "No such mailbox.", nextAttemptAt: null } as const;
      return (tx) => settleMail(tx, mail, result, at);
    },
    question: ({ user }) => `/tenants/users/${user}`,
    shown: { mail: { status: "failed", error: "No such mailbox." } },
  },
];

test.each(writes)("$name is counted, and no cached answer hides it", async ({ prepare, question, shown }) => {
  const place = await newPlace();
  const { tenant } = place;
  const write = await prepare(place);
  const path = question(place);
  // The second answer comes from the cache.
  for (const _ of [1, 2]) expect((await tenant.client.get(path)).body).not.toMatchObject(shown);
  const before = await stateOf(tenant.id);
  await inTenant(tenant.id, write);
  const after = await stateOf(tenant.id);
  expect(after).toEqual({ ...before, observations: before.observations + 1 });
  expect((await tenant.client.get(path)).body).toMatchObject(shown);
});

test("the triggers watch exactly the columns of these writes", async () => {
  const watched = await observedColumns(server);
  expect([...watched.keys()].sort()).toEqual(writes.map(({ table }) => table).sort());
  for (const { table, columns } of writes) expect(watched.get(table), table).toEqual(columns);
});

test("a batch counts once, and what no answer shows does not count", async () => {
  const { tenant, gateway, device } = await newPlace();
  const gateways = [gateway, await makeId("gateway", tenant.client), await makeId("gateway", tenant.client)];
  const before = await stateOf(tenant.id);
  await inTenant(tenant.id, (tx) =>
    touchHeardGateways(
      tx,
      gateways.map((id) => ({ id, at: at.toISOString() })),
      at,
    ),
  );
  await inTenant(tenant.id, (tx) =>
    storeHandshakes(tx, [{ device_id: device, gateway_id: gateway, at: at.toISOString() }]),
  );
  expect((await stateOf(tenant.id)).observations).toBe(before.observations + 1);
});

test("a write of one tenant does not count in another one", async () => {
  const [one, other] = [await newPlace(), await newPlace()];
  const before = await stateOf(other.tenant.id);
  await inTenant(one.tenant.id, (tx) => touchHeardGateways(tx, [{ id: one.gateway, at: at.toISOString() }], at));
  expect(await stateOf(other.tenant.id)).toEqual(before);
});

test("a write of an administrator outside of any tenant counts in every tenant", async () => {
  const own = await createDatabase();
  const alone = await startTestServer({ connection: own.connection });
  const administrator = new pg.Client(own.connection);
  try {
    await administrator.connect();
    const tenants = [await alone.newTenant(), await alone.newTenant()];
    const counts = () =>
      Promise.all(
        tenants.map(({ id }) =>
          alone.database.transaction({ kind: "tenant", tenantId: id }, ({ query }) =>
            readTenantState({ tenantId: id, query }),
          ),
        ),
      );
    const before = await counts();
    await administrator.query("UPDATE devices SET last_connection = now() WHERE false");
    const after = await counts();
    const expected = before.map((state) => ({ ...state, observations: (state?.observations ?? 0) + 1 }));
    expect(after).toEqual(expected);
  } finally {
    await administrator.end();
    await alone.close();
    await own.drop();
  }
});
