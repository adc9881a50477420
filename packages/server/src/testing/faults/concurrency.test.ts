/** Conflicting concurrent requests: exactly one wins, all are answered, and nothing is counted twice. */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { startTestServer, type TestReply, type TestServer, type TestTenant } from "../test-server.ts";
import { brokenInvariants } from "./invariants.queries.ts";

const poolSize = 3;
const crowdSize = 100;
let server: TestServer;
let tenant: TestTenant;
let administrator: pg.Client;

beforeAll(async () => {
  // A busy machine may be slow with so many requests. The test only requires that none waits forever.
  server = await startTestServer({ settings: { poolSize, databaseLimits: { connectTimeoutMs: 15_000 } } });
  administrator = new pg.Client(inject("database"));
  await administrator.connect();
});
beforeEach(async () => {
  tenant = await server.newTenant();
  return async () => expect(await brokenInvariants(administrator, tenant.id)).toEqual({});
});
afterAll(async () => {
  await administrator.end();
  await server.close();
});

function times<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => work(index)));
}

function statusesOf(replies: readonly TestReply[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

function newResource(name: string = randomUUID()) {
  const addresses = ["one", "two"].map((host) => ({ address: `${host}.example.com`, protocols: [] }));
  return { name, type: "PRIVATE", addresses };
}

describe("writers with the same If-Match", () => {
  test("exactly one wins, and its write is stored", async () => {
    const { body, headers } = await tenant.client.post("/tenants/resources", newResource());
    const path = `/tenants/resources/${body.id}`;
    const condition = { "if-match": headers.etag ?? "" };
    const names = Array.from({ length: 10 }, () => randomUUID());
    const replies = await times(names.length, (index) => tenant.client.patch(path, { name: names[index] }, condition));
    expect(statusesOf(replies)).toEqual({ 204: 1, 412: 9 });
    const read = await tenant.client.get(path);
    expect(read.body.name).toBe(names[replies.findIndex(({ status }) => status === 204)]);
    expect(read.headers.etag).toBe('"2"');
  });

  test("exactly one wins among updates and deletions, and the others get 404 or 412", async () => {
    const { body } = await tenant.client.post("/tenants/resources", newResource());
    const path = `/tenants/resources/${body.id}`;
    const condition = { "if-match": '"1"' };
    const replies = await times(10, (index) =>
      index % 2 === 0 ? tenant.client.delete(path, condition) : tenant.client.patch(path, { name: "New" }, condition),
    );
    const { 204: winners, 404: late = 0, 412: stale = 0 } = statusesOf(replies);
    expect({ winners, losers: late + stale }).toEqual({ winners: 1, losers: 9 });
  });
});

test("writers without a condition all succeed, one after another", async () => {
  const { body } = await tenant.client.post("/tenants/resources", newResource());
  const path = `/tenants/resources/${body.id}`;
  const replies = await times(20, (index) => tenant.client.patch(path, { name: `Name ${index}` }));
  expect(statusesOf(replies)).toEqual({ 204: 20 });
  expect(new Set(replies.map(({ headers }) => headers.etag)).size).toBe(20);
  expect((await tenant.client.get(path)).headers.etag).toBe('"21"');
});

test("exactly one of several concurrent creations with the same name succeeds", async () => {
  const replies = await times(20, () => tenant.client.post("/tenants/resources", newResource("Same")));
  expect(statusesOf(replies)).toEqual({ 201: 1, 409: 19 });
});

test("requests with one Idempotency-Key from more clients than connections are performed once", async () => {
  const headers = { "idempotency-key": randomUUID() };
  const body = newResource();
  const replies = await times(crowdSize, () => tenant.client.post("/tenants/resources", body, headers));
  expect(statusesOf(replies)).toEqual({ 201: crowdSize });
  expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
  expect(replies.filter((reply) => reply.headers["idempotent-replayed"] === undefined)).toHaveLength(1);
});

describe("more requests than connections", () => {
  test("commands, reads and lists are all answered", async () => {
    const replies = await times(crowdSize, (index) => {
      if (index % 4 === 0) return tenant.client.get("/tenants/resources");
      if (index % 4 === 1) return tenant.client.get("/tenants/protocols");
      return tenant.client.post("/tenants/resources", newResource());
    });
    expect(statusesOf(replies)).toEqual({ 200: crowdSize / 2, 201: crowdSize / 2 });
    expect((await tenant.client.get("/tenants/resources")).body.total).toBe(crowdSize / 2);
  });

  test("with unknown keys are all answered", async () => {
    const keys = await times(20, () => tenant.keyWith("resources:read"));
    const replies = await times(crowdSize, (index) =>
      server.client(keys[index % keys.length]).get("/tenants/resources"),
    );
    expect(statusesOf(replies)).toEqual({ 200: crowdSize });
  });

  test("that create and delete in opposite orders end without a deadlock", async () => {
    const made = await times(20, () => tenant.client.post("/tenants/resources", newResource()));
    const replies = await times(40, (index) =>
      index % 2 === 0
        ? tenant.client.delete(`/tenants/resources/${made[index / 2]?.body.id}`)
        : tenant.client.post("/tenants/resources", { ...newResource(), type: index % 4 === 1 ? "SAAS" : "INTERNET" }),
    );
    expect(statusesOf(replies)).toEqual({ 201: 20, 204: 20 });
  });

  test("of many tenants are all answered", async () => {
    const tenants = await times(10, () => server.newTenant());
    const replies = await times(crowdSize, (index) =>
      (tenants[index % tenants.length] ?? tenant).client.post("/tenants/resources", newResource()),
    );
    expect(statusesOf(replies)).toEqual({ 201: crowdSize });
    for (const { id } of tenants) expect(await brokenInvariants(administrator, id)).toEqual({});
  });
});
