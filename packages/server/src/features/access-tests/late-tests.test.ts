import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { systemClock } from "../../platform/clock.ts";
import { createAccessNetwork, created } from "../../testing/access-network.ts";
import { unique } from "../../testing/operations/test-records.ts";
import { testLog } from "../../testing/test-log.ts";
import { startTestServer, type TestReply, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";
import { LateEffects } from "../access/access.api.ts";
import { accessTestGuard } from "./access-test-guard.ts";

/** Tests are too expensive before a commit. */
let late: TestServer;
let usual: TestServer;
let tenant: TestTenant;
let network: Awaited<ReturnType<typeof createAccessNetwork>>;
/** A policy that allows everyone to reach the wiki. `allowed` is an enforced test that expects this. */
let policyId: string;
let allowed: { readonly id: string; readonly name: string };

const path = "/tenants/access-tests";
const limits = { unitsPerRequest: 1_000_000, unitsPerSecond: 1_000_000, burst: 1_000_000, unitsBeforeCommit: 1 };

beforeAll(async () => {
  [late, usual] = await Promise.all([startTestServer({ settings: { evaluationLimits: limits } }), startTestServer()]);
});
afterAll(() => Promise.all([late.close(), usual.close()]));

beforeEach(async () => {
  tenant = await usual.newTenant();
  network = await createAccessNetwork(usual, tenant);
  const policy = {
    name: unique("Policy"),
    type: "PRIVATE",
    action: true,
    allUsers: true,
    resources: [network.wiki.id],
  };
  policyId = String((await created(tenant.client, "/tenants/policies", policy)).id);
  allowed = await enforce({ subject: { type: "everyone" }, expected: "allowed" });
});

async function enforce(fields: object) {
  const resource = { type: "resource", id: network.wiki.id };
  const body = await created(tenant.client, path, { name: unique("Test"), enforced: true, resource, ...fields });
  return { id: String(body.id), name: String(body.name) };
}

const slowly = () => late.client(tenant.key);
const deactivate = () => slowly().patch(`/tenants/policies/${policyId}/deactivate`);

async function effectOf(reply: TestReply) {
  expect(reply.status, reply.text).toBeLessThan(300);
  return (await tenant.client.get(`/tenants/events/${reply.headers["gatehouse-event"]}/effect`)).body;
}

async function computed(reply: TestReply) {
  await until("the effect is computed", async () => (await effectOf(reply)).pending === undefined);
  return effectOf(reply);
}

/** Performs a write whose replica stops directly after the commit. */
async function abandoned(write: () => Promise<TestReply>): Promise<TestReply> {
  // The model is built in the same queue, and must be there before.
  await late.runner.models.current(tenant.id);
  vi.spyOn(late.runner.evaluator, "decideLate").mockRejectedValueOnce(new Error("the replica stopped"));
  return write();
}

async function completeAbandoned(): Promise<void> {
  const { database, evaluator } = usual.runner;
  const runner = () => usual.runner;
  const options = { runner, database, evaluator, clock: systemClock, guard: accessTestGuard, log: testLog };
  // A negative age, because databases have their own clocks.
  await new LateEffects(options).completeAbandoned(-60_000);
}

test("a write that only removes access lists the tests that it broke after the commit", async () => {
  const reply = await deactivate();
  const effect = await computed(reply);
  expect(effect.brokenTests).toMatchObject([allowed]);
  // The result equals that of an evaluation before the commit.
  await tenant.client.must.post(`/tenants/policies/${policyId}/reactivate`);
  const inTime = await tenant.client.must.patch(`/tenants/policies/${policyId}/deactivate`);
  expect((await effectOf(inTime)).brokenTests).toEqual(effect.brokenTests);
  expect((await effectOf(inTime)).lost).toEqual(effect.lost);
});

test("a write that gives access is refused before the commit, whichever test it breaks", async () => {
  const { ann, bob } = network;
  const own = await enforce({ subject: { type: "user", id: ann.id }, expected: "allowed" });
  const moved = { users: [bob.id] };
  // This write only removes access.
  const narrowed = await slowly().patch(`/tenants/policies/${policyId}`, { allUsers: false, users: [ann.id] });
  expect((await computed(narrowed)).brokenTests).toMatchObject([allowed]);
  const refused = await slowly().patch(`/tenants/policies/${policyId}`, moved);
  expect({ status: refused.status, code: refused.body.code }).toEqual({ status: 409, code: "access_tests_broken" });
  expect(refused.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([`${path}/${own.id}`]);
  const denied = await enforce({ subject: { type: "user", id: bob.id }, expected: "denied" });
  const opened = await slowly().patch(`/tenants/policies/${policyId}`, { users: [ann.id, bob.id] });
  expect(opened.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([`${path}/${denied.id}`]);
});

test("another replica lists the broken tests if the first one stopped, except tests that changed meanwhile", async () => {
  const changed = await enforce({ subject: { type: "user", id: network.ann.id }, expected: "allowed" });
  const reply = await abandoned(deactivate);
  expect(await effectOf(reply)).toMatchObject({ pending: true, brokenTests: [] });
  await tenant.client.must.put(`${path}/${changed.id}`, { expected: "denied" });
  await completeAbandoned();
  expect((await computed(reply)).brokenTests).toMatchObject([allowed]);
});
