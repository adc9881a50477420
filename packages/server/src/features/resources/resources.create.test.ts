import { beforeAll, describe, expect, test } from "vitest";
import { makeId, unique } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestClient, type TestReply, type TestServer } from "../../testing/test-server.ts";

const unknownId = "01890000-0000-7000-8000-000000000000";

let server: TestServer;
let client: TestClient;
let ssh: string;
let https: string;

beforeAll(async () => {
  server = await sharedTestServer();
  client = (await server.newTenant()).client;
  const { body } = await client.get("/tenants/protocols");
  const named = (name: string) => body.find((protocol: { name: string }) => protocol.name === name).id;
  ssh = named("SSH");
  https = named("HTTPS");
});

function create(fields: object = {}): Promise<TestReply> {
  return client.post("/tenants/resources", { name: unique("Resource"), type: "PRIVATE", addresses: [], ...fields });
}

const pointers = (reply: TestReply) => reply.body.errors.map(({ pointer }: { pointer: string }) => pointer);

describe("creating a resource", () => {
  test("answers the whole record, with its addresses and protocols in the order given", async () => {
    const name = unique("Git");
    const made = await create({
      name: `  ${name}\n`,
      description: "The code forge.",
      addresses: [
        { address: "GIT.corp.example.com", protocols: [https, ssh] },
        { address: "10.0.0.0/24", protocols: [] },
        { address: "2001:DB8::0:1", protocols: [ssh] },
        { address: "*.Git.example.com", protocols: [https] },
      ],
    });
    expect(made).toMatchObject({
      status: 201,
      headers: { etag: '"1"', location: `/tenants/resources/${made.body.id}` },
    });
    const protocols = (await client.get("/tenants/protocols")).body;
    const whole = (id: string) => protocols.find((protocol: { id: string }) => protocol.id === id);
    const address = (text: string, isIp: boolean, ...ids: string[]) => ({
      id: expect.any(String),
      address: text,
      isIp,
      type: "PRIVATE",
      protocols: ids.map(whole),
    });
    expect(made.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      createdAt: expect.any(String),
      updatedAt: made.body.createdAt,
      name,
      type: "PRIVATE",
      loadBalancingMode: "MANUAL",
      status: "OFFLINE",
      description: "The code forge.",
      addresses: [
        address("git.corp.example.com", false, https, ssh),
        address("10.0.0.0/24", true),
        address("2001:db8::1", true, ssh),
        address("*.git.example.com", false, https),
      ],
      gateways: [],
    });
    const read = await client.get(`/tenants/resources/${made.body.id}`);
    expect(read).toMatchObject({ status: 200, headers: { etag: '"1"' } });
    expect(read.body).toEqual(made.body);
  });

  test.each(["PRIVATE", "SAAS", "INTERNET"])("takes the type %s, which its addresses show", async (type) => {
    const { body } = await create({ type, addresses: [{ address: "app.example.com", protocols: [] }] });
    expect(body).toMatchObject({ type, addresses: [{ type }] });
  });

  test("accepts a name of up to 120 characters, whatever their size in bytes", async () => {
    const end = unique("");
    const fill = (character: string, length: number) => character.repeat(length - end.length) + end;
    expect(await create({ name: fill("é", 120) })).toMatchObject({ status: 201 });
    expect(await create({ name: fill("🔒", 120) })).toMatchObject({ status: 201 });
    expect(await create({ name: `  ${fill("x", 120)}  ` })).toMatchObject({ status: 201 });
    expect(await create({ name: fill("x", 121) })).toMatchObject({ status: 400 });
  });

  test("refuses a name that is taken, but accepts it in another letter case", async () => {
    const name = unique("Wiki");
    expect(await create({ name })).toMatchObject({ status: 201 });
    const again = await create({ name: ` ${name} ` });
    expect(again).toMatchObject({ status: 409, body: { code: "name_taken", errors: [{ pointer: "/name" }] } });
    expect(await create({ name: name.toUpperCase() })).toMatchObject({ status: 201 });
  });

  test("one of several concurrent requests with one name succeeds, and the others write nothing", async () => {
    const { client: own } = await server.newTenant();
    const body = { name: "Contested", type: "PRIVATE", addresses: [{ address: "10.0.0.1", protocols: [] }] };
    const replies = await Promise.all(Array.from({ length: 6 }, () => own.post("/tenants/resources", body)));
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
    expect((await own.get("/tenants/resources")).body.total).toBe(1);
    expect((await own.get("/tenants/addresses")).body).toHaveLength(1);
  });

  test.each([
    ["/name", { name: undefined }],
    ["/name", { name: "" }],
    ["/name", { name: " \t " }],
    ["/name", { name: "a\tb" }],
    ["/name", { name: "a\u007fb" }],
    ["/name", { name: "a\u009fb" }],
    ["/name", { name: "a\u0000b" }],
    ["/name", { name: null }],
    ["/type", { type: "private" }],
    ["/type", { type: "SITETOSITE" }],
    ["/type", { type: undefined }],
    ["/description", { description: "x".repeat(1001) }],
    ["/description", { description: "\u0000" }],
    ["/addresses", { addresses: undefined }],
    ["/addresses", { addresses: "10.0.0.1" }],
    ["/addresses/0/protocols", { addresses: [{ address: "10.0.0.1" }] }],
    ["/addresses/0/address", { addresses: [{ protocols: [] }] }],
    ["/addresses/0/address", { addresses: [{ address: "", protocols: [] }] }],
    ["/addresses/0/port", { addresses: [{ address: "10.0.0.1", protocols: [], port: 22 }] }],
    ["/addresses/0/protocols/0", { addresses: [{ address: "10.0.0.1", protocols: ["SSH"] }] }],
    ["/addresses/0/protocols", { addresses: [{ address: "10.0.0.1", protocols: [unknownId, unknownId] }] }],
    ["/loadBalancingMode", { loadBalancingMode: "AUTOMATIC" }],
    ["/gateways", { gateways: [] }],
  ])("refuses with 400 at %s: %j", async (pointer, fields) => {
    const reply = await create(fields);
    expect(reply).toMatchObject({ status: 400, body: { code: "invalid_body", errors: [{ pointer }] } });
  });

  test("refuses more than 500 addresses", async () => {
    const addresses = Array.from({ length: 501 }, (_, index) => ({ address: `host-${index}`, protocols: [] }));
    expect(await create({ addresses })).toMatchObject({ status: 400 });
    const made = await create({ addresses: addresses.slice(1) });
    expect(made.status).toBe(201);
    expect(made.body.addresses).toHaveLength(500);
  });

  test("refuses addresses that a PRIVATE resource may not have, naming each", async () => {
    const texts = ["10.0.0.1", "8.8.8.8", "100.64.0.1", "100.64.0.0/10", "git.example.com", "2606:4700::1", "a b"];
    const addresses = texts.map((address) => ({ address, protocols: [] }));
    const reply = await create({ addresses });
    expect(reply).toMatchObject({ status: 422, body: { code: "invalid_address" } });
    expect(pointers(reply)).toEqual([1, 2, 3, 5, 6].map((index) => `/addresses/${index}/address`));
    expect(await create({ type: "INTERNET", addresses: addresses.slice(0, -1) })).toMatchObject({ status: 201 });
  });

  test("refuses addresses that are equal in canonical form", async () => {
    const twice = (one: string, two: string) =>
      create({ addresses: [one, two].map((address) => ({ address, protocols: [] })) });
    for (const [one, two] of [
      ["git.example.com", "GIT.example.com."],
      ["10.0.0.1", "::ffff:10.0.0.1"],
      ["2001:db8::1", "2001:DB8:0:0:0:0:0:1"],
      ["*.example.com", "*.EXAMPLE.com"],
    ] as const) {
      const reply = await twice(one, two);
      expect(reply).toMatchObject({ status: 422, body: { code: "duplicate_address" } });
      expect(pointers(reply)).toEqual(["/addresses/1/address"]);
    }
    // A wildcard and a name that it covers, or an address and its full-length block, are different texts.
    expect(await twice("*.example.com", "git.example.com")).toMatchObject({ status: 201 });
    expect(await twice("10.0.0.1", "10.0.0.1/32")).toMatchObject({ status: 201 });
  });

  test("refuses protocols that the tenant does not have, naming the first address with such", async () => {
    const foreign = await makeId("protocol", (await server.newTenant()).client);
    const name = unique("Resource");
    const reply = await create({
      name,
      addresses: [
        { address: "10.0.0.1", protocols: [ssh] },
        { address: "10.0.0.2", protocols: [ssh, foreign, unknownId] },
      ],
    });
    expect(reply).toMatchObject({ status: 422, body: { code: "unknown_reference" } });
    expect(pointers(reply)).toEqual(["/addresses/1/protocols/1", "/addresses/1/protocols/2"]);
    expect(await create({ name })).toMatchObject({ status: 201 });
  });

  test("accepts a protocol in two letter cases as one", async () => {
    const reply = await create({ addresses: [{ address: "10.0.0.1", protocols: [ssh.toUpperCase(), ssh, https] }] });
    expect(reply.body.addresses[0].protocols.map(({ id }: { id: string }) => id)).toEqual([ssh, https]);
  });
});
