import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { make, makeId } from "../../../testing/operations/test-records.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  server = await sharedTestServer();
});
beforeEach(async () => {
  tenant = await server.newTenant();
});

const none = { resolvers: [], domains: [], networks: null, relayPort: null };
const read = (id: string) => tenant.client.get(`/tenants/gateways/${id}/settings`);
const put = (id: string, body: object, headers = {}) =>
  tenant.client.put(`/tenants/gateways/${id}/settings`, body, headers);
const gateway = () => makeId("gateway", tenant.client);

describe("settings of a gateway", () => {
  test("are empty at first, and carry the gateway's ETag", async () => {
    expect(await read(await gateway())).toMatchObject({ status: 200, body: none, headers: { etag: '"1"' } });
  });

  test("are stored in canonical form; missing fields are unchanged, null clears", async () => {
    const id = await gateway();
    const first = await put(id, {
      resolvers: ["10.80.0.53", "FD80::53", "10.80.0.53"],
      domains: [{ domain: "Internal.Example.com.", resolvers: ["10.80.0.54"] }],
      networks: ["10.80.0.0/16", "FD80::/64", "192.168.7.1"],
      relayPort: "51901",
    });
    const stored = {
      resolvers: ["10.80.0.53", "fd80::53"],
      domains: [{ domain: "internal.example.com", resolvers: ["10.80.0.54"] }],
      networks: ["10.80.0.0/16", "fd80::/64", "192.168.7.1/32"],
      relayPort: "51901",
    };
    expect(first).toMatchObject({ status: 200, body: stored, headers: { etag: '"2"' } });
    expect((await put(id, { resolvers: [], networks: null })).body).toEqual({
      ...stored,
      resolvers: [],
      networks: null,
    });
    expect((await put(id, { domains: [], relayPort: null })).body).toEqual(none);
    expect((await read(id)).body).toEqual(none);
    expect((await tenant.client.get(`/tenants/gateways/${id}`)).headers.etag).toBe('"4"');
  });

  test("without a difference change and publish nothing", async () => {
    const id = await gateway();
    await put(id, { networks: ["10.80.0.0/16"] });
    const before = (await tenant.client.get("/tenants/events")).body.total;
    expect(await put(id, { networks: ["10.80.0.0/16"], relayPort: null })).toMatchObject({ headers: { etag: '"2"' } });
    expect((await tenant.client.get("/tenants/events")).body.total).toBe(before);
  });

  test("are recorded before and after", async () => {
    const { id, name } = await make("gateway", tenant.client);
    await put(id, { relayPort: "51901" });
    const { data } = (await tenant.client.get("/tenants/events?limit=1&sort=-createdAt")).body;
    expect(data[0]).toMatchObject({
      operation: "replaceGatewaySettings",
      target: { type: "gateway", id, name },
      before: { name, settings: none },
      after: { name, settings: { ...none, relayPort: "51901" } },
    });
    expect(JSON.stringify(data)).not.toContain("gatehouse_gw_");
  });

  test("use the gateway's ETag", async () => {
    const id = await gateway();
    expect(await put(id, { relayPort: "51901" }, { "if-match": '"7"' })).toMatchObject({ status: 412 });
    expect(await put(id, { relayPort: "51901" }, { "if-match": '"1"' })).toMatchObject({ status: 200 });
  });

  test.each([
    [{ resolvers: ["10.80.0.0/24"] }, "/resolvers/0", "not one IP address"],
    [{ resolvers: ["names.example.com"] }, "/resolvers/0", "not one IP address"],
    [{ domains: [{ domain: "*.example.com", resolvers: ["10.80.0.53"] }] }, "/domains/0/domain", "without *"],
    [{ domains: [{ domain: "10.80.0.53", resolvers: ["10.80.0.53"] }] }, "/domains/0/domain", "not a domain"],
    [{ domains: [{ domain: "example.com", resolvers: ["x"] }] }, "/domains/0/resolvers/0", "not one IP address"],
    [
      { domains: ["example.com", "EXAMPLE.com"].map((domain) => ({ domain, resolvers: ["10.80.0.53"] })) },
      "/domains/1/domain",
      "is already in the list",
    ],
    [{ networks: ["0.0.0.0/0"] }, "/networks/0", "not reserved for private networks"],
    [{ networks: ["198.41.0.0/24"] }, "/networks/0", "not reserved for private networks"],
    [{ networks: ["100.64.1.0/24"] }, "/networks/0", "the address pool of devices"],
    [{ networks: ["10.80.0.1/16"] }, "/networks/0", "10.80.0.0/16"],
    [{ networks: ["10.80.0.0/16", "10.80.1.0/24"] }, "/networks/1", "overlaps 10.80.0.0/16 of this list"],
  ])("refuse %j", async (body, pointer, message) => {
    const { status, body: problem } = await put(await gateway(), body);
    expect({ status, code: problem.code }).toEqual({ status: 422, code: "invalid_address" });
    expect(problem.errors).toEqual([{ pointer, message: expect.stringContaining(message) }]);
  });

  test.each([{ relayPort: "0" }, { relayPort: "65536" }, { relayPort: 51901 }, { domains: [{ domain: "a.example" }] }])(
    "have a form: %j",
    async (body) => {
      expect(await put(await gateway(), body)).toMatchObject({ status: 400, body: { code: "invalid_body" } });
    },
  );

  test("of two gateways share neither a network nor a relay port", async () => {
    const one = await make("gateway", tenant.client);
    const other = await gateway();
    await put(one.id, { networks: ["10.80.0.0/16", "fd80::/64"], relayPort: "51901" });
    const taken = await put(other, { networks: ["10.81.0.0/16", "10.80.7.0/24"] });
    expect(taken).toMatchObject({ status: 409, body: { code: "network_taken" } });
    expect(taken.body.errors).toEqual([
      {
        pointer: "/networks/1",
        message: `10.80.7.0/24 overlaps 10.80.0.0/16, which is behind the gateway ${JSON.stringify(one.name)}`,
      },
    ]);
    const port = await put(other, { relayPort: "51901" });
    expect(port).toMatchObject({ status: 409, body: { code: "relay_port_taken" } });
    expect(port.body.errors[0].message).toContain(`relay port of the gateway ${JSON.stringify(one.name)}`);
    const listening = await put(other, { relayPort: "51820" });
    expect(listening.body.errors[0].message).toContain("uses 51820 as its wireguardPort");
    expect((await read(other)).body).toEqual(none);
    await put(one.id, { networks: null, relayPort: null });
    expect(await put(other, { networks: ["10.80.7.0/24"], relayPort: "51901" })).toMatchObject({ status: 200 });
  });

  test("written concurrently do not conflict", async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, gateway));
    const bodies = ids.map((_id, index) =>
      index % 2 === 0 ? { networks: [`10.80.0.0/${16 + index}`] } : { relayPort: "51901" },
    );
    const replies = await Promise.all(ids.map((id, index) => put(id, bodies[index] ?? {})));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 200, 409, 409, 409, 409]);
  });
});
