import type { AddressInfo } from "node:net";
import type { Event } from "@gatehouse/contract/records/event";
import pg from "pg";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { RawConnection, request } from "../../testing/faults/raw-connection.ts";
import { ownerOf, signInAs } from "../../testing/signed-in-person.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";

const limits = { perKey: 2, perTenant: 3, total: 4, heartbeatMs: 200, stallMs: 300 };
const warnLevel = 40;
let server: TestServer;
let other: TestServer;
let ports: readonly number[];
let tenant: TestTenant;
let logged: { readonly level: number; readonly msg: string }[] = [];
let open: Follower[] = [];

beforeAll(async () => {
  const log = pino({ level: "info" }, { write: (line: string) => logged.push(JSON.parse(line)) });
  server = await startTestServer({ settings: { streams: limits, log } });
  const { operatorKey } = server;
  // A stalled reader of this replica stays long enough to look at its transactions on a busy machine.
  const patient = { ...limits, heartbeatMs: 60_000, stallMs: 3_000 };
  other = await startTestServer({ operatorKey, settings: { streams: patient, log } });
  ports = await Promise.all([server, other].map(listen));
});
beforeEach(async () => {
  tenant = await server.newTenant();
  logged = [];
});
afterEach(async () => {
  for (const follower of open) follower.connection.socket.destroy();
  open = [];
  await until("no stream is left", () => server.runner.audit.streams.size + other.runner.audit.streams.size === 0);
  expect(logged.filter(({ level, msg }) => level >= warnLevel && msg !== "no_stream_free")).toEqual([]);
});
afterAll(async () => {
  await Promise.all([server.close(), other.close()]);
});

async function listen({ app }: TestServer): Promise<number> {
  await app.listen({ port: 0, host: "127.0.0.1" });
  return (app.server.address() as AddressInfo).port; // the server listens on TCP
}

interface Message {
  readonly id: number;
  readonly event: string | undefined;
  /** The data as the contract declares it; undefined for messages without an entry. */
  readonly data: Event | undefined;
}

/** A client that follows a stream over TCP. */
class Follower {
  readonly connection: RawConnection;

  constructor(connection: RawConnection) {
    this.connection = connection;
  }

  get messages(): readonly Message[] {
    const [, ...pieces] = this.connection.received.split("\r\n\r\n");
    // The rest of the chunked encoding is lines of hexadecimal digits.
    const text = pieces
      .join("")
      .replaceAll(/(^|\r\n)[0-9a-f]+\r\n/g, "")
      .replaceAll("\r\n", "");
    return text.split("\n\n").flatMap((block) => {
      const fields = new Map(
        block.split("\n").map((line) => (/^(\w+): (.*)$/.exec(line)?.slice(1, 3) as [string, string]) ?? ["", ""]),
      );
      const id = fields.get("id");
      const data = fields.get("data");
      return id === undefined
        ? []
        : [
            {
              id: Number(id),
              event: fields.get("event"),
              data: data === undefined ? undefined : (JSON.parse(data) as Event),
            },
          ];
    });
  }

  get entries(): readonly Message[] {
    return this.messages.filter(({ event }) => event === "event");
  }
}

async function follow(
  query = "",
  { port = ports[0] ?? 0, key = tenant.key, headers = {} }: { port?: number; key?: string; headers?: object } = {},
): Promise<Follower> {
  const follower = new Follower(await RawConnection.open(port));
  open.push(follower);
  const credentials = "cookie" in headers ? {} : { apikey: key };
  await follower.connection.write(request(`GET /tenants/events/stream${query}`, { ...credentials, ...headers }));
  await until("the stream begins", () => /retry: 2000\n\n|application\/problem/.test(follower.connection.received));
  return follower;
}

const makeGroup = (name: string) => tenant.client.post("/tenants/groups", { name });
const namesIn = (follower: Follower) => follower.entries.map(({ data }) => data?.target.name);

test("sends each new entry once, in order, on every replica", async () => {
  const followers = await Promise.all(ports.map((port) => follow("", { port })));
  const names = Array.from({ length: 20 }, (_none, index) => `Group ${index}`);
  await Promise.all(names.map(makeGroup));
  for (const follower of followers) {
    await until("all were told", () => follower.entries.length >= names.length);
    expect(follower.entries.map(({ id }) => id)).toEqual(names.map((_name, index) => 6 + index));
    expect(namesIn(follower).sort()).toEqual([...names].sort());
    expect(follower.connection.received).toMatch(/^content-type: text\/event-stream; charset=utf-8$/im);
  }
  const { body } = await tenant.client.get("/tenants/events?filter[position]=6");
  expect(followers[0]?.entries[0]?.data).toEqual(body.data[0]);
});

test("continues after the last event id, from the header or the parameter", async () => {
  for (const name of ["One", "Two", "Three"]) await makeGroup(name);
  for (const follower of [await follow("", { headers: { "last-event-id": "6" } }), await follow("?lastEventId=6")]) {
    await until("the missed ones were told", () => follower.entries.length === 2);
    expect(namesIn(follower)).toEqual(["Two", "Three"]);
  }
});

test("applies filters, and advances the id past entries that do not match", async () => {
  const follower = await follow("?filter[operation]=createGroup&lastEventId=0");
  await until("the id moved on", () => follower.messages.at(-1)?.id === 5);
  await tenant.client.must.post("/tenants/users", { email: "ann@example.com" });
  await makeGroup("Wanted");
  await until("the entry was told", () => follower.entries.length === 1);
  expect(namesIn(follower)).toEqual(["Wanted"]);
});

test("sends a heartbeat while nothing is recorded", async () => {
  const follower = await follow();
  await until("two signs of life came", () => (follower.connection.received.match(/: no news\n\n/g)?.length ?? 0) >= 2);
});

test("refuses an invalid position, and one that is not in the record", async () => {
  for (const id of ["x", "-1", "1.5", "6"]) {
    const reply = await tenant.client.get("/tenants/events/stream", { "last-event-id": id });
    expect({ status: reply.status, code: reply.body.code }).toEqual({ status: 400, code: "invalid_parameter" });
  }
  expect((await tenant.client.get("/tenants/events/stream?lastEventId=x")).status).toBe(400);
  expect((await tenant.client.get("/tenants/events/stream?limit=5")).status).toBe(400);
});

test("ends when its key is revoked on any replica, and sends nothing afterwards", async () => {
  const made = await tenant.client.post("/tenants/api-keys", { name: "Follower", permissions: ["events:read"] });
  const follower = await follow("", { port: ports[1] ?? 0, key: made.body.key });
  await makeGroup("Before");
  await until("the entry was told", () => follower.entries.length === 1);
  await tenant.client.must.delete(`/tenants/api-keys/${made.body.id}`);
  await follower.connection.whole();
  expect(namesIn(follower)).toEqual(["Before"]);
});

test("ends when its person is signed out on any replica, and sends nothing afterwards", async () => {
  const owner = await ownerOf(tenant);
  const headers = await signInAs(server, tenant.id, owner.id);
  const follower = await follow("", { port: ports[1] ?? 0, headers });
  await makeGroup("Before");
  await until("the entry was told", () => follower.entries.length === 1);
  await tenant.client.must.delete(`/tenants/users/${owner.id}/sessions`);
  await follower.connection.whole();
  await makeGroup("After");
  expect(namesIn(follower)).toEqual(["Before"]);
});

test("ends when its key expires", async () => {
  const expiresAt = new Date(Date.now() + 700).toISOString();
  const made = await tenant.client.post("/tenants/api-keys", {
    name: "Brief",
    permissions: ["events:read"],
    expiresAt,
  });
  // This replica sends no heartbeat in time: the expiry itself wakes the stream.
  const follower = await follow("", { port: ports[1] ?? 0, key: made.body.key });
  await follower.connection.whole();
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expiresAt));
});

test("ends when its tenant is deleted", async () => {
  const follower = await follow();
  await server.operator.must.delete(`/operator/tenants/${tenant.id}`);
  await follower.connection.whole();
});

test("limits the streams of a key, of a tenant and in total", async () => {
  const second = await tenant.keyWith("events:read");
  await follow();
  await follow();
  const refused = await tenant.client.get("/tenants/events/stream");
  expect({ status: refused.status, code: refused.body.code }).toEqual({ status: 429, code: "too_many_streams" });
  expect(refused.headers["retry-after"]).toBe("10");
  await follow("", { key: second });
  expect((await server.client(second).get("/tenants/events/stream")).body.code).toBe("too_many_streams");
  const stranger = await server.newTenant();
  await follow("", { key: stranger.key });
  const full = await stranger.client.get("/tenants/events/stream");
  expect({ status: full.status, code: full.body.code }).toEqual({ status: 503, code: "no_stream_free" });
  open[0]?.connection.socket.destroy();
  await until("a place is free", () => server.runner.audit.streams.size === 3);
  await follow("", { key: stranger.key });
});

test("opens no stream behind another one of the connection, and ends that when the client disconnects", async () => {
  const patient = { ...limits, heartbeatMs: 600_000, stallMs: 600_000 };
  const own = await startTestServer({ operatorKey: server.operatorKey, settings: { streams: patient } });
  const { streams } = own.runner.audit;
  const connection = await RawConnection.open(await listen(own));
  const following = request("GET /tenants/events/stream", { apikey: tenant.key, connection: "keep-alive" });
  await connection.write(following.repeat(2));
  await until("a stream is open", () => streams.size > 0);
  // A second stream would open before the answer to a request of another connection.
  await own.client(tenant.key).get("/tenants/groups");
  expect(streams.size).toBe(1);
  connection.socket.destroy();
  await until("no stream is left", () => streams.size === 0);
  await own.close();
});

test("disconnects a stalled reader, which holds no transaction and little memory", async () => {
  const owner = new pg.Client(inject("database"));
  await owner.connect();
  // 60 MB, more than the socket buffers.
  await owner.query(
    `INSERT INTO audit_events SELECT (jsonb_populate_record(item, jsonb_build_object('id', gen_random_uuid(),
       'position', 5 + n, 'after', jsonb_build_object('text', repeat('x', 20000))))).*
     FROM audit_events AS item, generate_series(1, 3000) AS n WHERE tenant_id = $1 AND position = 1`,
    [tenant.id],
  );
  await owner.query("UPDATE tenant_generations SET event_count = 3005 WHERE tenant_id = $1", [tenant.id]);
  const connection = await RawConnection.open(ports[1] ?? 0);
  connection.socket.pause();
  await connection.write(request("GET /tenants/events/stream?lastEventId=5", { apikey: tenant.key }));
  await until("the stream is open", () => other.runner.audit.streams.size === 1);
  // Transactions of other tests, and reads of the stream itself, are short.
  await until("no transaction is held", async () => {
    const held = await owner.query(
      "SELECT FROM pg_stat_activity WHERE application_name = 'gatehouse' AND datname = current_database() AND state LIKE 'idle in transaction%'",
    );
    return held.rowCount === 0;
  });
  expect(other.runner.audit.streams.size).toBe(1);
  await until("the reader is disconnected", () => other.runner.audit.streams.size === 0);
  connection.socket.resume();
  await connection.whole();
  expect(connection.received.length).toBeLessThan(50_000_000);
  await owner.end();
});

test("streams end when the server stops, at once", async () => {
  const third = await startTestServer({
    operatorKey: server.operatorKey,
    settings: { streams: { heartbeatMs: 60_000 } },
  });
  const follower = await follow("", { port: await listen(third) });
  await third.close();
  await follower.connection.whole();
  expect(follower.connection.received).toMatch(/0\r\n\r\n$/);
});

test("HEAD opens no stream", async () => {
  const response = await server.app.inject({
    method: "HEAD",
    url: "/tenants/events/stream",
    headers: { apikey: tenant.key },
  });
  expect(response.statusCode).toBe(405);
});
