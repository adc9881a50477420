import { randomUUID } from "node:crypto";
import type { Work } from "@gatehouse/policy/work";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test, vi } from "vitest";
import { verifyTenant } from "../../../platform/audit/verify-database.ts";
import { systemClock } from "../../../platform/clock.ts";
import type { Database, Transaction } from "../../../platform/db/database.ts";
import type { Scope, TenantScope } from "../../../platform/db/scope.ts";
import { Evaluator } from "../../../platform/evaluation/evaluator.ts";
import { createLog } from "../../../platform/log.ts";
import { createAccessNetwork, created } from "../../../testing/access-network.ts";
import { HeldTransaction } from "../../../testing/held-transaction.ts";
import { testLog } from "../../../testing/test-log.ts";
import { startTestServer, type TestReply, type TestServer, type TestTenant } from "../../../testing/test-server.ts";
import { until } from "../../../testing/until.ts";
import { accessTestGuard } from "../../access-tests/access-tests.api.ts";
import { LateEffects } from "./late-effects.ts";

/** Every effect is too expensive for its transaction. */
let late: TestServer;
/** Another replica, where no effect is. */
let usual: TestServer;
let tenant: TestTenant;
let network: Awaited<ReturnType<typeof createAccessNetwork>>;

const limits = { unitsPerRequest: 3_000, unitsPerSecond: 100, burst: 20_000, unitsBeforeCommit: 1 };

beforeAll(async () => {
  [late, usual] = await Promise.all([startTestServer({ settings: { evaluationLimits: limits } }), startTestServer()]);
});
afterAll(() => Promise.all([late.close(), usual.close()]));

beforeEach(async () => {
  tenant = await usual.newTenant();
  network = await createAccessNetwork(usual, tenant);
});

const lateClient = () => late.client(tenant.key);

async function effectOf(reply: TestReply) {
  const { status, body, text } = await tenant.client.get(`/tenants/events/${reply.headers["gatehouse-event"]}/effect`);
  expect(status, text).toBe(200);
  const { event: _event, generation: _generation, createdAt: _createdAt, ...effect } = body;
  return effect;
}

async function computed(reply: TestReply) {
  await until("the effect is computed", async () => (await effectOf(reply)).pending === undefined);
  return effectOf(reply);
}

async function historyFindings() {
  const signatures = late.runner.audit.keys.signatures;
  const report = await verifyTenant(late.database, { tenantId: tenant.id, signatures });
  return (report?.findings ?? []).filter(({ problem }) => problem === "history");
}

const policy = () => ({
  name: "Everyone uses Git",
  type: "PRIVATE",
  action: true,
  groups: [],
  allUsers: true,
  resources: [network.git.id],
});

describe("the effect of an expensive write", () => {
  test("is computed after the commit, and is the effect of a cheap one", async () => {
    const body = policy();
    const slow = await lateClient().post("/tenants/policies", body);
    expect(slow.status, slow.text).toBe(201);
    const effect = await computed(slow);
    expect((await tenant.client.delete(`/tenants/policies/${slow.body.id}`)).status).toBe(204);
    const quick = await tenant.client.post("/tenants/policies", body);
    expect(effect).toEqual(await effectOf(quick));
    expect(effect.gained.pairs).toBeGreaterThan(0);
  });

  test("is pending until then, and another replica completes it", async () => {
    // The model is built in the same queue, and must be there before.
    await late.runner.models.current(tenant.id);
    vi.spyOn(late.runner.evaluator, "decideLate").mockRejectedValueOnce(new Error("the replica stopped"));
    const reply = await lateClient().post("/tenants/policies", policy());
    const pending = await effectOf(reply);
    expect(pending).toMatchObject({ pending: true, gained: { pairs: 0 }, groups: [], brokenTests: [] });

    const { database, evaluator } = usual.runner;
    // A negative age, because databases have their own clocks.
    await new LateEffects({
      runner: () => usual.runner,
      database,
      evaluator,
      clock: systemClock,
      guard: accessTestGuard,
      log: testLog,
    }).completeAbandoned(-60_000);
    const effect = await effectOf(reply);
    expect(effect.pending).toBeUndefined();
    expect((await tenant.client.delete(`/tenants/policies/${reply.body.id}`)).status).toBe(204);
    expect(effect).toEqual(await effectOf(await tenant.client.post("/tenants/policies", policy())));
  });

  test("of a tenant with a busy lock does not delay those of other tenants", async () => {
    const other = await usual.newTenant();
    const othersNetwork = await createAccessNetwork(usual, other);
    const failing = vi.spyOn(late.runner.evaluator, "decideLate");
    const replies = new Map<string, TestReply>();
    for (const {
      id,
      key,
      network: { git },
    } of [
      { ...tenant, network },
      { ...other, network: othersNetwork },
    ]) {
      await late.runner.models.current(id);
      failing.mockRejectedValueOnce(new Error("the replica stopped"));
      replies.set(id, await late.client(key).post("/tenants/policies", { ...policy(), resources: [git.id] }));
    }
    const isPending = async ({ id, client }: TestTenant) => {
      const event = replies.get(id)?.headers["gatehouse-event"];
      return (await client.must.get(`/tenants/events/${event}/effect`)).body.pending === true;
    };
    const { database, evaluator } = usual.runner;
    const options = { database, evaluator, clock: systemClock, guard: accessTestGuard, log: testLog };
    const effects = new LateEffects({ ...options, runner: () => usual.runner });
    // Its effect is the oldest one.
    const held = await HeldTransaction.ofTenant(inject("database"), tenant.id);
    try {
      await effects.completeAbandoned(-60_000);
      await until("the effect of the other tenant is complete", async () => !(await isPending(other)));
      expect(await isPending(tenant)).toBe(true);
    } finally {
      await held.end();
    }
    await until("the other effect is complete", async () => {
      await effects.completeAbandoned(-60_000);
      return !(await isPending(tenant));
    });
  });

  test("is chained as its own entry, and every edit of it is found", async () => {
    await computed(await lateClient().post("/tenants/policies", policy()));
    const { data } = (await tenant.client.get("/tenants/events?sort=-position&limit=1")).body;
    expect(data).toMatchObject([
      { operation: "computeAccessEffect", actor: { type: "system" }, target: { type: "audit-record" } },
    ]);
    expect(await historyFindings()).toEqual([]);
    const owner = new pg.Client(inject("database"));
    await owner.connect();
    const edited = async (change: string) => {
      await owner.query("BEGIN");
      await owner.query("ALTER TABLE access_late_effects DISABLE TRIGGER keep_late_effect");
      await owner.query(`${change} WHERE tenant_id = $1`, [tenant.id]);
      await owner.query("ALTER TABLE access_late_effects ENABLE TRIGGER keep_late_effect");
      await owner.query("COMMIT");
    };
    const [{ summary }] = (
      await owner.query("SELECT summary::text FROM access_late_effects WHERE tenant_id = $1", [tenant.id])
    ).rows;
    try {
      await edited("UPDATE access_late_effects SET summary = '{}'");
      expect(await historyFindings()).toHaveLength(1);
      await edited("UPDATE access_late_effects SET summary = NULL, computed_at = NULL, sealed_in = NULL");
      expect(await historyFindings()).toHaveLength(1);
      await edited(
        `UPDATE access_late_effects SET summary = '${summary}', computed_at = now(), sealed_in = generation`,
      );
      expect((await historyFindings()).length).toBeGreaterThan(1);
      await edited("DELETE FROM access_late_effects");
      expect(await historyFindings()).toHaveLength(1);
    } finally {
      await owner.end();
    }
  });

  test("shares time with commands if many effects are pending, and comes from the history if too many are", () => {
    const { database } = usual.runner;
    const evaluator = new Evaluator(systemClock);
    const never = new Promise<never>(() => undefined);
    const late = vi.spyOn(evaluator, "decideLate").mockReturnValue(never);
    const inTurn = vi.spyOn(evaluator, "decide").mockReturnValue(never);
    const effects = new LateEffects({
      runner: () => usual.runner,
      database,
      evaluator,
      clock: systemClock,
      guard: accessTestGuard,
      log: testLog,
    });
    // biome-ignore lint/correctness/useYield: the evaluator never starts it
    const work = function* (): Work<never> {
      throw new Error("the work started");
    };
    for (let generation = 1; generation <= 101; generation += 1) effects.complete("busy", generation, work());
    effects.complete("other", 1, work());
    expect(late.mock.calls.map(([id]) => id)).toEqual([...Array<string>(20).fill("busy"), "other"]);
    expect(inTurn.mock.calls.map(([id]) => id)).toEqual(Array<string>(80).fill("busy"));
  });

  test("never refuses the write, whatever the tenant has evaluated", async () => {
    for (;;) {
      const { status } = await lateClient().post("/access/v1/evaluation", {
        subject: { type: "user", id: network.ann.email },
        action: { name: "connect" },
        resource: { type: "resource", id: "Git" },
      });
      if (status === 429) break;
      expect(status).toBe(200);
    }
    expect((await lateClient().post("/tenants/policies", policy())).status).toBe(201);
  });

  test("does not delay enforced access tests", async () => {
    const { client } = tenant;
    const groups = (await client.get("/tenants/groups?filter[name]=Contractors")).body.data;
    await created(client, "/tenants/access-tests", {
      name: "Contractors never reach Git",
      enforced: true,
      subject: { type: "group", id: groups[0].id },
      resource: { type: "resource", id: network.git.id },
      expected: "denied",
    });
    const refused = await lateClient().delete(`/tenants/policies/${network.denying.id}`);
    expect({ status: refused.status, code: refused.body.code }).toEqual({ status: 409, code: "access_tests_broken" });
    const reason = { "gatehouse-override-reason": "An incident" };
    const forced = await lateClient().delete(`/tenants/policies/${network.denying.id}`, reason);
    expect(forced.status).toBe(204);
    expect((await effectOf(forced)).brokenTests).toMatchObject([{ name: "Contractors never reach Git" }]);
    expect((await computed(forced)).brokenTests).toMatchObject([{ name: "Contractors never reach Git" }]);
  });
});

describe("a request", () => {
  const batch = (count: number) => ({
    action: { name: "connect" },
    subject: { type: "user", id: network.ann.email },
    context: { deviceId: network.ann.device },
    evaluations: Array.from({ length: count }, () => ({ resource: { type: "resource", id: "Git" } })),
  });

  test("over its budget gets 422, and says what was too much", async () => {
    const { status, body } = await lateClient().post("/access/v1/evaluations", batch(200));
    expect({ status, code: body.code }).toEqual({ status: 422, code: "evaluation_too_expensive" });
    expect(body.detail).toContain("The decisions of this batch cost more than 3,000 units");
  });

  test("of a tenant over its rate gets 429, and other tenants do not", async () => {
    const other = await usual.newTenant();
    for (let requests = 0; ; requests += 1) {
      const { status, body, headers } = await lateClient().post("/access/v1/evaluations", batch(20));
      if (status === 200 && requests < 100) continue;
      expect({ status, code: body.code }).toEqual({ status: 429, code: "evaluation_rate_exceeded" });
      expect(Number(headers["retry-after"])).toBeGreaterThan(0);
      break;
    }
    const unaffected = await late.client(other.key).post("/access/v1/evaluation", {
      subject: { type: "user", id: "nobody@example.com" },
      action: { name: "connect" },
      resource: { type: "resource", id: "Git" },
    });
    expect(unaffected.status).toBe(200);
  });
});

test("a failing tenant's effects have a limit of their own, and its later effects are tried", async () => {
  const [failing, other] = [randomUUID(), randomUUID()];
  const selections: unknown[][] = [];
  const tried: string[] = [];
  const database = {
    snapshot: (_: Scope, work: (tx: Transaction) => Promise<unknown>) =>
      work({
        query: async (_statement, ...[, tenantIds, areThese, limit]) => {
          selections.push([tenantIds, areThese, limit]);
          if (selections.length > 1) return [];
          const effects = [failing, failing, other].map((tenantId, generation) => ({
            tenantId,
            generation,
            since: "",
          }));
          return effects as never[];
        },
      }),
    readThrough: ({ tenantId }: TenantScope) => {
      tried.push(tenantId);
      return Promise.reject(new Error("invalid history"));
    },
  } as unknown as Database; // the only methods that it calls
  const effects = new LateEffects({
    runner: () => usual.runner,
    database,
    evaluator: usual.runner.evaluator,
    clock: systemClock,
    guard: accessTestGuard,
    log: createLog("silent"),
  });
  await expect(effects.completeAbandoned()).rejects.toThrow("invalid history");
  expect(tried).toEqual([failing, failing, other]);
  await until("the pauses have ended", async () => {
    selections.splice(1);
    await effects.completeAbandoned();
    return JSON.stringify(selections.at(-1)?.[0]) === JSON.stringify([failing, other]);
  });
  expect(selections.slice(1)).toEqual([
    [[failing, other], false, 20],
    [[failing, other], true, 4],
  ]);
});
