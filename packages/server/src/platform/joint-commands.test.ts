import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { insertGroups } from "../features/groups/groups.api.ts";
import { unique, uniqueEmail } from "../testing/operations/test-records.ts";
import {
  sharedTestServer,
  startTestServer,
  type TestServer,
  type TestTenant,
  testMasterKey,
} from "../testing/test-server.ts";
import { AppError } from "./app-error.ts";
import { AuditSigner, SignatureCheck } from "./audit/signatures.ts";
import { verifyTenant } from "./audit/verify-database.ts";
import { grantedToSystem } from "./authorization/granted.ts";
import type { CommandRunner } from "./command.ts";
import type { Database } from "./db/database.ts";
import { newId } from "./ids.ts";
import { runCreation } from "./joint-commands.ts";
import { empty, type Outcome } from "./outcome.ts";
import type { AccessLedger } from "./tenancy/access-ledger.ts";

const signatures = SignatureCheck.of(new AuditSigner(testMasterKey).publicKey);
let server: TestServer;
let owner: pg.Client;
let tenant: TestTenant;

beforeAll(async () => {
  server = await sharedTestServer();
  owner = new pg.Client(inject("database"));
  await owner.connect();
});
afterAll(() => owner.end());
beforeEach(async () => {
  tenant = await server.newTenant();
});

const groups = "/tenants/groups";
const users = "/tenants/users";

/** Sends requests at the same time. All but the first arrive while a transaction of the tenant runs. */
const together = <Reply>(requests: readonly (() => Promise<Reply>)[]) => Promise.all(requests.map((send) => send()));

/** The generation, the transaction and the audit entries of each command of the tenant. */
async function commandsOf(tenantId: string) {
  const { rows } = await owner.query<{ generation: string; transaction: string; entries: string; effects: string }>(
    `SELECT generation, transaction_id::text AS transaction,
       (SELECT count(*) FROM audit_events AS event
        WHERE event.tenant_id = $1 AND event.generation = entry.generation) AS entries,
       (SELECT count(*) FROM access_effects AS effect
        WHERE effect.tenant_id = $1 AND effect.generation = entry.generation) AS effects
     FROM outbox AS entry WHERE tenant_id = $1 ORDER BY generation`,
    [tenantId],
  );
  return rows;
}

async function expectIntactRecord(): Promise<void> {
  expect(await verifyTenant(server.database, { tenantId: tenant.id, signatures })).toMatchObject({ findings: [] });
}

test("creations that arrive together share transactions, and each is a command of its own", async () => {
  const replies = await together([
    ...Array.from({ length: 8 }, () => () => tenant.client.post(groups, { name: unique("Group") })),
    () => tenant.client.post(users, [{ email: uniqueEmail() }, { email: uniqueEmail() }]),
    ...Array.from({ length: 3 }, () => () => tenant.client.post(users, { email: uniqueEmail() })),
  ]);
  expect(replies.map(({ status }) => status)).toEqual(Array(12).fill(201));
  const commands = (await commandsOf(tenant.id)).slice(1);
  expect(commands.map(({ generation }) => Number(generation))).toEqual(Array.from({ length: 12 }, (_, n) => n + 2));
  expect(new Set(commands.map(({ transaction }) => transaction)).size).toBeLessThan(12);
  expect(commands.map(({ entries }) => entries).sort()).toEqual([...Array(11).fill("1"), "2"]);
  expect(commands.map(({ effects }) => effects)).toEqual(Array(12).fill("1"));
  await expectIntactRecord();
  // Each answer names the first entry of its own command.
  const events = replies.map(({ headers }) => headers["gatehouse-event"]);
  expect(new Set(events).size).toBe(12);
  const listed = (await tenant.client.get("/tenants/events?limit=50")).body.data;
  for (const [index, reply] of replies.slice(0, 8).entries()) {
    const event = listed.find(({ id }: { id: string }) => id === events[index]);
    expect(event.target.id).toBe(reply.body.id);
    expect((await tenant.client.get(`/tenants/events/${events[index]}/effect`)).status).toBe(200);
  }
  expect((await tenant.client.get(`${groups}?limit=1`)).body.total).toBe(9);
  expect((await tenant.client.get(`${users}?limit=1`)).body.total).toBe(6);
});

test("a creation that fails leaves the others alone", async () => {
  const name = unique("Group");
  const email = uniqueEmail();
  const replies = await together([
    ...Array.from({ length: 4 }, () => () => tenant.client.post(groups, { name: unique("Group") })),
    () => tenant.client.post(groups, { name }),
    () => tenant.client.post(groups, { name }),
    () => tenant.client.post(users, { email }),
    () => tenant.client.post(users, { email }),
    () => tenant.client.post(users, { email: uniqueEmail(), groups: [randomUUID()] }),
    () => tenant.client.post(groups, { name: "\u200b" }),
  ]);
  const statuses = replies.map(({ status }) => status);
  expect(statuses.slice(0, 4)).toEqual(Array(4).fill(201));
  expect(statuses.slice(4, 6).sort()).toEqual([201, 409]);
  expect(statuses.slice(6, 8).sort()).toEqual([201, 409]);
  expect(replies.slice(8).map(({ body }) => body.code)).toEqual(["unknown_reference", "invalid_name"]);
  expect((await commandsOf(tenant.id)).length).toBe(1 + 6);
  await expectIntactRecord();
});

/** Creates a group without HTTP. */
function create(runner: CommandRunner, reason?: string): Promise<Outcome> {
  const author = { actor: { type: "system", name: "Test" }, operation: "test", requestId: "test" } as const;
  const origin = { ...author, reason, at: new Date() };
  const scope = { kind: "tenant", tenantId: tenant.id } as const;
  const command = { scope, tenantId: tenant.id, origin, idempotency: undefined, changesAccess: true };
  return runCreation(runner, command, 1, async (tx) => {
    const group = { id: newId(), name: unique("Group"), description: "", maxDevices: 5, roleIds: [] };
    const settings = { deviceSessionLifetime: null, isSamlDefaultGroup: false, idpMapping: [] };
    const stores = insertGroups(tx, grantedToSystem(), [{ ...group, ...settings }], origin.at);
    tx.announce([{ type: "group", id: group.id }]);
    await stores;
    tx.record({ type: "group", id: group.id, after: { id: group.id } });
    return empty();
  });
}

test("the ledger refuses one creation and not the others", async () => {
  const { ledger } = server.runner;
  const refusing: AccessLedger = {
    async open(tenantId) {
      const impact = await ledger.open(tenantId);
      return {
        ...impact,
        begin: async (tx, commands) =>
          (await impact.begin(tx, commands)).map((evaluate) => async (reason) => {
            if (reason === "Refused") throw new AppError("access_tests_broken");
            return evaluate(undefined);
          }),
      };
    },
  };
  const runner = { ...server.runner, ledger: refusing };
  const results = await Promise.allSettled([undefined, undefined, "Refused", undefined].map((x) => create(runner, x)));
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
  expect((await commandsOf(tenant.id)).length).toBe(1 + 3);
  await expectIntactRecord();
});

/** A runner whose second transaction commits or rolls back, and then fails with this error. */
function failingSecond(error: AppError, ending: "transaction" | "dryRun"): CommandRunner {
  const { database } = server.runner;
  let count = 0;
  const failing: Pick<Database, "transaction"> = {
    async transaction(...parameters) {
      count += 1;
      if (count !== 2) return database.transaction(...parameters);
      const [scope, work] = parameters;
      await (ending === "dryRun" ? database.dryRun(scope, work) : database.transaction(...parameters));
      throw error;
    },
  };
  // Commands use nothing else of the database.
  return { ...server.runner, database: failing as Database };
}

test("creations are not repeated if it is unknown whether they committed", async () => {
  const runner = failingSecond(new AppError("database_unavailable"), "transaction");
  const results = await Promise.allSettled(Array.from({ length: 4 }, () => create(runner)));
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "rejected"]);
  expect((await commandsOf(tenant.id)).length).toBe(1 + 4);
});

test("creations run alone if their transaction deadlocks again and again", async () => {
  const cause = new pg.DatabaseError("deadlock detected", 0, "error");
  cause.code = "40P01";
  const runner = failingSecond(new AppError("database_unavailable", { cause }), "dryRun");
  await Promise.all(Array.from({ length: 4 }, () => create(runner)));
  expect((await commandsOf(tenant.id)).length).toBe(1 + 4);
  await expectIntactRecord();
});

test("concurrent requests with one Idempotency-Key create one record", async () => {
  const headers = { "idempotency-key": randomUUID() };
  const body = { name: unique("Group") };
  const replies = await together([
    ...Array.from({ length: 3 }, () => () => tenant.client.post(groups, { name: unique("Group") })),
    ...Array.from({ length: 3 }, () => () => tenant.client.post(groups, body, headers)),
  ]);
  expect(replies.map(({ status }) => status)).toEqual(Array(6).fill(201));
  expect(new Set(replies.slice(3).map((reply) => reply.body.id)).size).toBe(1);
  await expectIntactRecord();
});

test("creations on two replicas, and other commands between them, lose nothing", async () => {
  const replica = await startTestServer();
  const clients = [tenant.client, replica.client(tenant.key)];
  const group = (await tenant.client.must.post(groups, { name: unique("Group") })).body.id;
  const replies = await together(
    Array.from({ length: 36 }, (_, index) => () => {
      const client = clients[index % 2] ?? tenant.client;
      if (index % 6 === 5) return client.put(`${groups}/${group}`, { name: `Round ${index}` });
      if (index % 3 === 0)
        return client.post(users, [{ email: uniqueEmail(), groups: [group] }, { email: uniqueEmail() }]);
      return client.post(groups, { name: unique("Group") });
    }),
  );
  expect(replies.filter(({ status }) => status >= 300)).toEqual([]);
  const commands = (await commandsOf(tenant.id)).slice(1);
  expect(commands.map(({ generation }) => Number(generation))).toEqual(commands.map((_, index) => index + 2));
  expect(commands.length).toBe(1 + 36);
  await expectIntactRecord();
  // The model of each replica follows.
  const { generation } = await replica.runner.models.current(tenant.id);
  expect(generation).toBe(1 + commands.length);
  expect((await tenant.client.get(`${users}?limit=1`)).body.total).toBe(1 + 2 * 12);
  await replica.close();
});
