import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import type { Database } from "../platform/db/database.ts";
import { unprepared } from "../platform/db/statement.ts";
import { clearSharedCounts, exchangeCounts } from "../platform/rate-limits/shared-counts.queries.ts";
import { WindowCounts } from "../platform/rate-limits/window-counts.ts";
import { generateToken, tokenPrefixes } from "../platform/secrets/tokens.ts";
import { TestClock } from "../testing/test-clock.ts";
import { startTestServer, type TestReply, type TestServer, type TestTenant } from "../testing/test-server.ts";
import { until } from "../testing/until.ts";

const path = "/tenants/protocols";
const limitHeaders = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "retry-after"];

function told({ headers }: TestReply): (number | undefined)[] {
  return limitHeaders.map((name) => (headers[name] === undefined ? undefined : Number(headers[name])));
}

const wrongKey = () => generateToken(tokenPrefixes.apiKey);

/** Calls from an address, as a proxy reports it. */
function from(server: TestServer, key: string | undefined, address: string): Promise<TestReply> {
  return server.client(key).get(path, { "x-forwarded-for": address });
}

async function statusesOf(count: number, call: () => Promise<TestReply>): Promise<number[]> {
  const statuses: number[] = [];
  for (let done = 0; done < count; done += 1) statuses.push((await call()).status);
  return statuses;
}

function startLimited(perMinute: number, authFailures: number, clock = new TestClock()): Promise<TestServer> {
  return startTestServer({
    clock,
    settings: { trustedProxies: ["127.0.0.1"], rateLimits: { perMinute, authFailures, shared: false } },
  });
}

describe("requests of a key", () => {
  const clock = new TestClock();
  let server: TestServer;
  let tenant: TestTenant;
  let key: string;

  beforeAll(async () => {
    server = await startLimited(5, 0, clock);
  });
  beforeEach(async () => {
    clock.advance(60_000 - (clock.now().getTime() % 60_000));
    tenant = await server.newTenant();
    key = await tenant.keyWith("protocols:read");
  });
  afterAll(() => server.close());

  test("are counted down in the headers, and rejected beyond the limit until the minute ends", async () => {
    clock.advance(12_500);
    for (const left of [4, 3, 2, 1, 0]) {
      const reply = await server.client(key).get(path);
      expect(reply.status).toBe(200);
      expect(told(reply)).toEqual([5, left, 48, undefined]);
    }
    const refused = await server.client(key).get(path);
    expect(refused).toMatchObject({ status: 429, body: { code: "rate_limited" } });
    expect(refused.body.detail).toBe(
      "The API key has used its 5 requests for this minute. Wait for Retry-After seconds.",
    );
    expect(told(refused)).toEqual([5, 0, 48, 48]);
    clock.advance(47_500);
    expect(told(await server.client(key).get(path))).toEqual([5, 4, 60, undefined]);
  });

  test("do not affect another key of the same tenant", async () => {
    const other = await tenant.keyWith("protocols:read");
    expect(await statusesOf(6, () => server.client(key).get(path))).toEqual([200, 200, 200, 200, 200, 429]);
    expect(told(await server.client(other).get(path))).toEqual([5, 4, 60, undefined]);
  });

  test("count regardless of operation and outcome, and 403 takes precedence", async () => {
    const client = server.client(key);
    expect((await client.get("/tenants/users")).status).toBe(403);
    expect((await client.get(`${path}/not-a-uuid`)).status).toBe(400);
    expect((await client.get(`${path}?unknown=1`)).status).toBe(400);
    expect((await client.get(`${path}/${tenant.id}`)).status).toBe(404);
    expect(told(await client.get(path))).toEqual([5, 0, 60, undefined]);
    expect((await client.get("/tenants/users")).status).toBe(403);
    // The limit is checked first, so an invalid request gets 429 too.
    expect((await client.get(`${path}/not-a-uuid`)).status).toBe(429);
    expect((await client.get(path)).status).toBe(429);
  });

  test("of the operator count too", async () => {
    const statuses = await statusesOf(6, () => server.operator.get("/operator/tenants"));
    expect(statuses.at(-1)).toBe(429);
  });

  test("without a key are not limited: documentation and health", async () => {
    await statusesOf(6, () => server.client(key).get(path));
    for (const open of ["/healthz", "/readyz", "/openapi.json", "/docs", "/errors"]) {
      const reply = await server.client(key).get(open);
      expect(reply.status).toBe(200);
      expect(told(reply)).toEqual([undefined, undefined, undefined, undefined]);
    }
  });

  test("that are rejected change nothing, and their body is not read", async () => {
    const writer = await tenant.keyWith("protocols:write");
    const send = () => server.client(writer).post(path, '{"broken": ');
    expect(await statusesOf(6, send)).toEqual([400, 400, 400, 400, 400, 429]);
  });
});

describe("failed authentications from an address", () => {
  const clock = new TestClock();
  let server: TestServer;
  let tenant: TestTenant;

  beforeAll(async () => {
    server = await startLimited(0, 3, clock);
    tenant = await server.newTenant();
  });
  beforeEach(() => clock.advance(300_000 - (clock.now().getTime() % 300_000)));
  afterAll(() => server.close());

  test("block the address beyond the limit, with any keys, until five minutes have passed", async () => {
    const call = () => from(server, wrongKey(), "192.0.2.1");
    expect(await statusesOf(4, call)).toEqual([401, 401, 401, 429]);
    const refused = await from(server, undefined, "192.0.2.1");
    expect(refused).toMatchObject({ status: 429, body: { code: "too_many_failed_authentications" } });
    expect(told(refused)).toEqual([3, 0, 300, 300]);
    expect(refused.headers["www-authenticate"]).toBeUndefined();
    expect((await from(server, wrongKey(), "192.0.2.2")).status).toBe(401);
    clock.advance(300_000);
    expect((await call()).status).toBe(401);
  });

  test("count without a key, with a key that is too long, and with a key that cannot be used from the address", async () => {
    const made = await tenant.client.post("/tenants/api-keys", {
      name: "Elsewhere",
      permissions: ["protocols:read"],
      sourceIps: ["198.51.100.0/24"],
    });
    const address = "192.0.2.3";
    expect((await from(server, undefined, address)).status).toBe(401);
    expect((await from(server, "x".repeat(5_000), address)).status).toBe(401);
    expect((await from(server, made.body.key, address)).status).toBe(403);
    expect((await from(server, made.body.key, address)).status).toBe(429);
    expect((await from(server, made.body.key, "198.51.100.7")).status).toBe(200);
  });

  test("do not block a key that was recently used from the address, but any other key", async () => {
    const address = "192.0.2.4";
    const unused = await tenant.keyWith("protocols:read");
    expect((await from(server, tenant.key, address)).status).toBe(200);
    expect(await statusesOf(4, () => from(server, wrongKey(), address))).toEqual([401, 401, 401, 429]);
    expect((await from(server, tenant.key, address)).status).toBe(200);
    expect((await from(server, unused, address)).status).toBe(429);
    expect((await from(server, unused, "192.0.2.5")).status).toBe(200);
  });

  test("block a key that was last used from the address an hour ago", async () => {
    const address = "192.0.2.6";
    expect((await from(server, tenant.key, address)).status).toBe(200);
    clock.advance(3_600_000);
    await statusesOf(3, () => from(server, wrongKey(), address));
    expect((await from(server, tenant.key, address)).status).toBe(429);
  });

  test("block a recently used key that has ended, after its first failure", async () => {
    const address = "192.0.2.7";
    const made = await tenant.client.post("/tenants/api-keys", { name: "Short", permissions: ["protocols:read"] });
    expect((await from(server, made.body.key, address)).status).toBe(200);
    expect((await tenant.client.delete(`/tenants/api-keys/${made.body.id}`)).status).toBe(204);
    clock.advance(1_000);
    await statusesOf(3, () => from(server, wrongKey(), address));
    const statuses = async () => statusesOf(2, () => from(server, made.body.key, address));
    expect(await statuses()).toEqual([401, 429]);
  });

  test("are counted for a /64 of IPv6, and for an IPv4 address in any spelling", async () => {
    const within = ["2001:db8:0:1::1", "2001:DB8:0:1:ffff::2", "2001:db8:0:1:1:2:3:4"];
    for (const address of within) expect((await from(server, wrongKey(), address)).status).toBe(401);
    expect((await from(server, wrongKey(), "2001:db8:0:1::99")).status).toBe(429);
    expect((await from(server, wrongKey(), "2001:db8:0:2::1")).status).toBe(401);

    await statusesOf(3, () => from(server, wrongKey(), "::ffff:192.0.2.8"));
    expect((await from(server, wrongKey(), "192.0.2.8")).status).toBe(429);
  });

  test("do not count missing permissions", async () => {
    const key = await tenant.keyWith("protocols:read");
    const call = () => server.client(key).get("/tenants/users", { "x-forwarded-for": "192.0.2.9" });
    expect(await statusesOf(5, call)).toEqual([403, 403, 403, 403, 403]);
  });

  test("ignore address headers if no proxy is trusted", async () => {
    const direct = await startTestServer({
      clock: new TestClock(),
      settings: { rateLimits: { perMinute: 0, authFailures: 2, shared: false } },
    });
    try {
      const replies = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map((address) => from(direct, wrongKey(), address));
      expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([401, 401, 401]);
      expect((await from(direct, wrongKey(), "192.0.2.4")).status).toBe(429);
    } finally {
      await direct.close();
    }
  });
});

test("0 is off", async () => {
  const server = await startLimited(0, 0);
  try {
    const reply = await server.operator.get("/operator/tenants");
    expect(told(reply)).toEqual([undefined, undefined, undefined, undefined]);
    expect(new Set(await statusesOf(20, () => from(server, wrongKey(), "192.0.2.1")))).toEqual(new Set([401]));
  } finally {
    await server.close();
  }
});

describe("shared by two replicas", () => {
  let first: TestServer;
  let second: TestServer;

  beforeAll(async () => {
    const clock = new TestClock();
    clock.advance(300_000 - (clock.now().getTime() % 300_000));
    const settings = { trustedProxies: ["127.0.0.1"], rateLimits: { perMinute: 8, authFailures: 4, shared: true } };
    first = await startTestServer({ connection: inject("database"), clock, settings });
    second = await startTestServer({ connection: inject("database"), clock, settings, operatorKey: first.operatorKey });
  });
  afterAll(() => Promise.all([first.close(), second.close()]));

  /** The total that both replicas have stored under a name. */
  async function toldUnder(name: string): Promise<number> {
    const select = unprepared<{ count: number }, [name: string]>("SELECT count FROM rate_counts WHERE name = $1");
    const rows = await first.database.snapshot({ kind: "operator" }, (transaction) => transaction.query(select, name));
    return rows[0]?.count ?? 0;
  }

  /**
   * Calls the second replica until it rejects the request, at most three times. A replica reads the other's counts when
   * it stores its own.
   */
  async function refusedBySecond(name: string, call: () => Promise<TestReply>): Promise<boolean> {
    const before = await toldUnder(name);
    for (let asked = 1; asked <= 3; asked += 1) {
      if ((await call()).status === 429) return true;
      await until("the second replica has shared its counts", async () => (await toldUnder(name)) === before + asked);
    }
    return false;
  }

  test("a key's requests are summed, and another key's are not affected", async () => {
    const tenant = await first.newTenant();
    const { body } = await tenant.client.post("/tenants/api-keys", { name: "Shared", permissions: ["protocols:read"] });
    const name = `key:${body.id}`;
    expect(new Set(await statusesOf(8, () => first.client(body.key).get(path)))).toEqual(new Set([200]));
    await until("the first replica has shared its counts", async () => (await toldUnder(name)) === 8);
    expect(await refusedBySecond(name, () => second.client(body.key).get(path))).toBe(true);
    expect((await second.client(tenant.key).get(path)).status).toBe(200);
  });

  test("failed authentications from an address are summed", async () => {
    const name = "address:2001:db8:5::";
    expect(await statusesOf(4, () => from(first, wrongKey(), "2001:db8:5::1"))).toEqual([401, 401, 401, 401]);
    await until("the first replica has shared its counts", async () => (await toldUnder(name)) === 4);
    expect(await refusedBySecond(name, () => from(second, wrongKey(), "2001:db8:5::2"))).toBe(true);
    expect((await from(second, wrongKey(), "2001:db8:6::2")).status).toBe(401);
  });

  test("a replica continues alone while the database does not accept its counts", async () => {
    const counts = new WindowCounts({ windowMs: 60_000, clock: new TestClock(), shared: true });
    const name = `test:${first.operatorKey}`;
    counts.add(name);
    const broken = { transaction: () => Promise.reject(new Error("away")) } as unknown as Database; // all it needs
    await expect(exchangeCounts(broken, counts)).rejects.toThrow("away");
    expect(counts.add(name).count).toBe(2);
    await exchangeCounts(first.database, counts);
    expect(await toldUnder(name)).toBe(2);
    expect(counts.read(name).count).toBe(2);
  });

  test("counts of old windows are deleted", async () => {
    const clock = new TestClock();
    const counts = new WindowCounts({ windowMs: 60_000, clock, shared: true });
    const name = `old:${first.operatorKey}`;
    counts.add(name);
    await exchangeCounts(first.database, counts);
    clock.advance(30 * 60_000);
    await clearSharedCounts(first.database, clock.now());
    expect(await toldUnder(name)).toBe(1);
    clock.advance(32 * 60_000);
    await clearSharedCounts(first.database, clock.now());
    expect(await toldUnder(name)).toBe(0);
  });
});
