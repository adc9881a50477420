import { beforeAll, describe, expect, test } from "vitest";
import { make, makeId, unique } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestClient, type TestServer } from "../../testing/test-server.ts";

const unknownId = "01890000-0000-7000-8000-000000000000";

let server: TestServer;
let client: TestClient;

beforeAll(async () => {
  server = await sharedTestServer();
  client = (await server.newTenant()).client;
});

const names = (body: readonly { name: string }[]) => body.map(({ name }) => name);

describe("the predefined protocols", () => {
  test("are in every tenant under the same names", async () => {
    const { body } = await (await server.newTenant()).client.get("/tenants/protocols");
    const ofType = (type: string) => names(body.filter((protocol: { type: string }) => protocol.type === type));
    expect(ofType("ALL")).toEqual(["All protocols"]);
    expect(ofType("PREDEFINED")).toEqual([
      "SSH",
      "HTTP",
      "HTTPS",
      "HTTP/HTTPS",
      "RDP",
      "DNS",
      "PostgreSQL",
      "MySQL",
      "SMB",
      "ICMP",
    ]);
    expect(body).toHaveLength(11);
  });

  test("cannot be deleted", async () => {
    const { body } = await client.get("/tenants/protocols");
    for (const { id, type } of body) {
      if (type === "CUSTOM") continue;
      const reply = await client.delete(`/tenants/protocols/${id}`);
      expect(reply).toMatchObject({ status: 409, body: { code: "predefined_record" } });
    }
  });
});

describe("creating a protocol", () => {
  test("answers the record, in canonical form", async () => {
    const name = unique("Protocol");
    const reply = await client.post("/tenants/protocols", {
      name: ` ${name} `,
      networkProtocols: [
        { protocol: "TCP", port: 8443 },
        { protocol: "UDP", port: "5000-5100" },
        { protocol: "TCP", port: "8443" },
        { protocol: "ICMP" },
      ],
    });
    expect(reply).toMatchObject({
      status: 201,
      headers: { etag: '"1"', location: `/tenants/protocols/${reply.body.id}` },
    });
    expect(reply.body).toEqual({
      id: expect.any(String),
      name,
      type: "CUSTOM",
      networkProtocols: [
        { protocol: "TCP", port: "8443" },
        { protocol: "UDP", port: "5000-5100" },
        { protocol: "ICMP" },
      ],
    });
    const read = await client.get(`/tenants/protocols/${reply.body.id}`);
    expect(read).toMatchObject({ status: 200, headers: { etag: '"1"' } });
    expect(read.body).toEqual(reply.body);
  });

  test("generates a name from the content, with a number if it is taken", async () => {
    const networkProtocols = [{ protocol: "TCP", port: "18443" }];
    const made = [];
    for (let count = 0; count < 3; count += 1) made.push(await client.post("/tenants/protocols", { networkProtocols }));
    expect(made.map(({ body }) => body.name)).toEqual(["TCP/18443", "TCP/18443 (2)", "TCP/18443 (3)"]);
  });

  test("numbers a made name that a predefined protocol has", async () => {
    const { body } = await client.post("/tenants/protocols", { networkProtocols: [{ protocol: "ICMP" }] });
    expect(body.name).toBe("ICMP (2)");
  });

  test("gives 20 concurrently created protocols of the same content different names", async () => {
    const networkProtocols = [{ protocol: "UDP", port: "28443" }];
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => client.post("/tenants/protocols", { networkProtocols })),
    );
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 201));
    const numbered = Array.from({ length: 19 }, (_, index) => `UDP/28443 (${index + 2})`);
    expect(names(replies.map(({ body }) => body)).sort()).toEqual(["UDP/28443", ...numbered].sort());
  });

  test("shortens and numbers names of long contents", async () => {
    const networkProtocols = Array.from({ length: 100 }, (_, index) => ({ protocol: "TCP", port: 30_000 + index }));
    const [one, two] = [
      await client.must.post("/tenants/protocols", { networkProtocols }),
      await client.must.post("/tenants/protocols", { networkProtocols }),
    ];
    expect(one.body.name).toHaveLength(120);
    expect(two.body.name).toMatch(/… \(2\)$/);
    expect(one.body.networkProtocols).toHaveLength(100);
  });

  test("refuses a name that is taken, also by a predefined protocol", async () => {
    const { name } = await make("protocol", client);
    for (const taken of [name, ` ${name}`, "SSH", "All protocols"]) {
      const reply = await client.post("/tenants/protocols", { name: taken, networkProtocols: [{ protocol: "ICMP" }] });
      expect(reply).toMatchObject({ status: 409, body: { code: "name_taken", errors: [{ pointer: "/name" }] } });
    }
  });

  test.each([
    ["/networkProtocols/0/port", [{ protocol: "TCP", port: "5100-5000" }]],
    ["/networkProtocols/1/port", [{ protocol: "TCP" }, { protocol: "ICMP", port: "8" }]],
  ])("refuses with 422 at %s: %j", async (pointer, networkProtocols) => {
    const reply = await client.post("/tenants/protocols", { networkProtocols });
    expect(reply).toMatchObject({ status: 422, body: { code: "invalid_combination", errors: [{ pointer }] } });
  });

  test.each([
    ["/networkProtocols", {}],
    ["/networkProtocols", { networkProtocols: [] }],
    ["/networkProtocols", { networkProtocols: { protocol: "TCP" } }],
    ["/networkProtocols", { networkProtocols: Array.from({ length: 101 }, () => ({ protocol: "TCP" })) }],
    ["/networkProtocols/0/protocol", { networkProtocols: [{ port: "443" }] }],
    ["/networkProtocols/0/protocol", { networkProtocols: [{ protocol: "SCTP" }] }],
    ["/networkProtocols/0/protocol", { networkProtocols: [{ protocol: "tcp" }] }],
    ["/networkProtocols/0/ports", { networkProtocols: [{ protocol: "TCP", ports: "443" }] }],
    ["/name", { name: "", networkProtocols: [{ protocol: "TCP" }] }],
    ["/name", { name: "a\u0085b", networkProtocols: [{ protocol: "TCP" }] }],
    ["/name", { name: "x".repeat(121), networkProtocols: [{ protocol: "TCP" }] }],
    ["/type", { type: "CUSTOM", networkProtocols: [{ protocol: "TCP" }] }],
  ])("refuses with 400 at %s: %j", async (pointer, body) => {
    const reply = await client.post("/tenants/protocols", body);
    expect(reply).toMatchObject({ status: 400, body: { code: "invalid_body", errors: [{ pointer }] } });
  });

  test.each([
    0,
    65_536,
    "0",
    "65536",
    "0-10",
    "10-70000",
    "053",
    -1,
    1.5,
    true,
    null,
    "",
    "https",
    "80,443",
    "1-2-3",
    "-80",
    "80-",
  ])("refuses the port %j with 400, which names it", async (port) => {
    const reply = await client.post("/tenants/protocols", { networkProtocols: [{ protocol: "TCP", port }] });
    expect(reply).toMatchObject({ status: 400, body: { code: "invalid_body" } });
    expect(reply.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toContain("/networkProtocols/0/port");
  });

  test("is created once per Idempotency-Key", async () => {
    const body = { networkProtocols: [{ protocol: "TCP", port: "38443" }] };
    const headers = { "idempotency-key": unique("key") };
    const first = await client.post("/tenants/protocols", body, headers);
    const again = await client.post("/tenants/protocols", body, headers);
    expect(again).toMatchObject({ status: 201, headers: { "idempotent-replayed": "true", etag: '"1"' } });
    expect(again.body).toEqual(first.body);
    const other = await client.post("/tenants/protocols", { networkProtocols: [{ protocol: "ICMP" }] }, headers);
    expect(other).toMatchObject({ status: 422, body: { code: "idempotency_key_reused" } });
  });
});

describe("reading protocols", () => {
  test("lists predefined ones first, then others in order of creation", async () => {
    const { client: own } = await server.newTenant();
    const made = [await make("protocol", own), await make("protocol", own)];
    const { body, headers } = await own.get("/tenants/protocols");
    expect(body.slice(11)).toEqual(made);
    expect(headers.etag).toMatch(/^W\//);
  });

  test("answers 404 for an unknown id or another tenant's, and 400 for an invalid id", async () => {
    const foreign = await makeId("protocol", (await server.newTenant()).client);
    for (const id of [unknownId, foreign]) {
      expect(await client.get(`/tenants/protocols/${id}`)).toMatchObject({ status: 404 });
      expect(await client.delete(`/tenants/protocols/${id}`)).toMatchObject({ status: 404 });
    }
    expect(await client.get("/tenants/protocols/ssh")).toMatchObject({ status: 400 });
  });
});

describe("deleting a protocol", () => {
  test("frees its name", async () => {
    const { id, name } = await make("protocol", client);
    expect(await client.delete(`/tenants/protocols/${id}`, { "if-match": '"2"' })).toMatchObject({ status: 412 });
    expect(await client.delete(`/tenants/protocols/${id}`, { "if-match": '"1"' })).toMatchObject({
      status: 204,
      text: "",
    });
    expect(await client.delete(`/tenants/protocols/${id}`)).toMatchObject({ status: 404 });
    expect(await client.post("/tenants/protocols", { name, networkProtocols: [{ protocol: "ICMP" }] })).toMatchObject({
      status: 201,
    });
  });

  test("is refused while addresses use it, naming them", async () => {
    const resource = await make("resource", client);
    const [address] = resource.addresses;
    const path = `/tenants/protocols/${address.protocols[0].id}`;
    expect(await client.delete(path)).toMatchObject({
      status: 409,
      body: {
        code: "protocol_in_use",
        errors: [{ pointer: `/tenants/addresses/${address.id}`, message: address.address }],
      },
    });
    await client.must.delete(`/tenants/resources/${resource.id}`);
    expect(await client.delete(path)).toMatchObject({ status: 204 });
  });

  test("concurrent deletion and use: one of the two is refused", async () => {
    for (let round = 0; round < 6; round += 1) {
      const id = await makeId("protocol", client);
      const [deleted, used] = await Promise.all([
        client.delete(`/tenants/protocols/${id}`),
        client.post("/tenants/resources", {
          name: unique("Resource"),
          type: "PRIVATE",
          addresses: [{ address: "10.0.0.1", protocols: [id] }],
        }),
      ]);
      expect([
        [204, 422],
        [409, 201],
      ]).toContainEqual([deleted.status, used.status]);
    }
  });
});
