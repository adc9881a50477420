import type { Resource } from "@gatehouse/contract/records/resource";
import { beforeAll, describe, expect, test } from "vitest";
import { storeIpAddress } from "../../testing/network-rows.queries.ts";
import { make, makeId, unique } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestClient, type TestServer } from "../../testing/test-server.ts";

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

type Type = Resource["type"];

async function makeResource(addresses: readonly string[], type: Type = "PRIVATE"): Promise<Resource> {
  const { status, body, text } = await client.post("/tenants/resources", {
    name: unique("Resource"),
    type,
    addresses: addresses.map((address) => ({ address, protocols: [ssh] })),
  });
  expect(status, text).toBe(201);
  return body;
}

/** Creates an address in a new resource. */
async function makeAddress(text = "10.0.0.1", type: Type = "PRIVATE"): Promise<Resource["addresses"][number]> {
  const [address] = (await makeResource([text], type)).addresses;
  if (address === undefined) throw new Error("the resource has one address");
  return address;
}

describe("reading addresses", () => {
  test("reads a part of the list, with the number of all addresses", async () => {
    const { client: own } = await server.newTenant();
    const protocols = (await own.must.get("/tenants/protocols")).body.slice(0, 1).map(({ id }: { id: string }) => id);
    const addresses = Array.from({ length: 7 }, (_, index) => ({ address: `10.0.0.${index}`, protocols }));
    await own.must.post("/tenants/resources", { name: "Seven", type: "PRIVATE", addresses });
    const all = (await own.must.get("/tenants/addresses")).body;
    for (const [query, from, to] of [
      ["limit=3&offset=2", 2, 5],
      ["limit=5&page=1", 5, 7],
      ["offset=4", 4, 7],
      ["limit=2&offset=9", 9, 9],
    ] as const) {
      const part = await own.must.get(`/tenants/addresses?${query}`);
      expect(part.body, query).toEqual(all.slice(from, to));
      expect(part.headers["x-total-count"], query).toBe("7");
    }
  });

  test("lists the addresses of all resources in order of creation", async () => {
    const { client: own } = await server.newTenant();
    expect((await own.get("/tenants/addresses")).body).toEqual([]);
    const resources = [await make("resource", own), await make("resource", own)];
    const list = await own.get("/tenants/addresses");
    expect(list.body).toEqual(resources.flatMap(({ addresses }) => addresses));
  });

  test("lists more addresses than one batch holds, each once", async () => {
    const { client: own } = await server.newTenant();
    const addresses = Array.from({ length: 500 }, (_, index) => ({ address: `host-${index}`, protocols: [] }));
    await own.must.post("/tenants/resources", { name: "Many", type: "PRIVATE", addresses });
    await own.must.post("/tenants/resources", { name: "More", type: "PRIVATE", addresses });
    const { body } = await own.get("/tenants/addresses");
    expect(body.map(({ address }: { address: string }) => address)).toEqual(
      [...addresses, ...addresses].map(({ address }) => address),
    );
    expect(new Set(body.map(({ id }: { id: string }) => id)).size).toBe(1000);
  });

  test("shows an address like its resource does, with the resource's type and an ETag", async () => {
    const resource = await makeResource(["*.example.com"], "SAAS");
    const [address] = resource.addresses;
    const read = await client.get(`/tenants/addresses/${address?.id}`);
    expect(read).toMatchObject({ status: 200, headers: { etag: '"1"' } });
    expect(read.body).toEqual(address);
    expect(read.body).toMatchObject({ address: "*.example.com", isIp: false, type: "SAAS", protocols: [{ id: ssh }] });
  });

  test("answers 404 for an unknown id or another tenant's, and 400 for an invalid id", async () => {
    const foreign = await makeId("address", (await server.newTenant()).client);
    for (const id of ["7", "not-an-id", unknownId, foreign]) {
      for (const path of [`/tenants/addresses/${id}`, `/tenants/addresses/${id}/gateways`]) {
        expect(await client.get(path)).toMatchObject({ status: 404, body: { code: "not_found" } });
      }
      const change = await client.put(`/tenants/addresses/${id}`, { address: "10.0.0.1", protocols: [] });
      expect(change).toMatchObject({ status: 404 });
      expect(await client.delete(`/tenants/addresses/${id}`)).toMatchObject({ status: 404 });
    }
  });
});

describe("replacing an address", () => {
  test("changes its text, isIp and protocols, in the order given", async () => {
    const { id } = await makeAddress("git.example.com");
    const body = { address: " 192.168.10.0/24 ", protocols: [https, ssh] };
    const reply = await client.put(`/tenants/addresses/${id}`, body);
    expect(reply).toMatchObject({ status: 200, headers: { etag: '"2"' } });
    expect(reply.body).toMatchObject({
      id,
      address: "192.168.10.0/24",
      isIp: true,
      type: "PRIVATE",
      protocols: [{ id: https }, { id: ssh }],
    });
    expect((await client.get(`/tenants/addresses/${id}`)).body).toEqual(reply.body);
    const reordered = await client.put(`/tenants/addresses/${id}`, { ...body, protocols: [ssh, https] });
    expect(reordered.body.protocols.map((protocol: { id: string }) => protocol.id)).toEqual([ssh, https]);
  });

  test("without changes answers with the record, and records nothing", async () => {
    const { id } = await makeAddress("git.example.com");
    const path = `/tenants/addresses/${id}`;
    const body = { address: "git.example.com", protocols: [https, ssh] };
    const changed = await client.put(path, body);
    const same = { address: " GIT.example.com. ", protocols: [https.toUpperCase(), ssh] };
    expect(await client.put(path, same, { "if-match": '"1"' })).toMatchObject({ status: 412 });
    const reply = await client.put(path, same, { "if-match": '"2"' });
    expect(reply).toMatchObject({ status: 200, headers: { etag: '"2"' } });
    expect(reply.body).toEqual(changed.body);
    expect((await client.get(`/tenants/events?filter[target.id]=${id}`)).body.total).toBe(1);
    const reordered = await client.put(path, { ...body, protocols: [ssh, https] });
    expect(reordered.headers.etag).toBe('"3"');
  });

  test("accepts an empty list of protocols, and a protocol in two letter cases once", async () => {
    const { id } = await makeAddress();
    const none = await client.put(`/tenants/addresses/${id}`, { address: "10.0.0.1", protocols: [] });
    expect(none).toMatchObject({ status: 200, body: { protocols: [] } });
    const twice = await client.put(`/tenants/addresses/${id}`, {
      address: "10.0.0.1",
      protocols: [ssh, ssh.toUpperCase(), https],
    });
    expect(twice.body.protocols.map((protocol: { id: string }) => protocol.id)).toEqual([ssh, https]);
  });

  test("shows in the resource, whose own version stays", async () => {
    const resource = await makeResource(["10.0.0.1"]);
    const id = resource.addresses[0]?.id;
    const changed = await client.put(`/tenants/addresses/${id}`, { address: "10.0.0.2", protocols: [https] });
    const read = await client.get(`/tenants/resources/${resource.id}`);
    expect(read.headers.etag).toBe('"1"');
    expect(read.body).toEqual({ ...resource, addresses: [changed.body] });
  });

  test.each([
    ["PRIVATE", "8.8.8.8"],
    ["PRIVATE", "100.64.0.1"],
    ["PRIVATE", "0.0.0.0/0"],
    ["PRIVATE", "127.0.0.1"],
    ["PRIVATE", "169.254.169.254"],
    ["PRIVATE", "fe80::1"],
    ["SAAS", "*"],
    ["INTERNET", "https://example.com"],
    ["INTERNET", "10.0.0.7/24"],
  ] as const)("refuses in a %s resource the address %s", async (type, address) => {
    const { id } = await makeAddress("host.example.com", type);
    const reply = await client.put(`/tenants/addresses/${id}`, { address, protocols: [ssh] });
    expect(reply).toMatchObject({ status: 422, body: { code: "invalid_address", errors: [{ pointer: "/address" }] } });
  });

  test("accepts addresses in a SAAS resource that are refused in a PRIVATE one", async () => {
    const { id } = await makeAddress("host.example.com", "SAAS");
    const reply = await client.put(`/tenants/addresses/${id}`, { address: "8.8.8.8", protocols: [] });
    expect(reply).toMatchObject({ status: 200, body: { address: "8.8.8.8", isIp: true, type: "SAAS" } });
  });

  test("accepts new protocols for a stored address in a blocked range, but no other blocked address", async () => {
    const tenant = await server.newTenant();
    const body = { name: "Router", type: "PRIVATE", addresses: [{ address: "router.example.com", protocols: [] }] };
    const [{ id }] = (await tenant.client.must.post("/tenants/resources", body)).body.addresses;
    await storeIpAddress(server, tenant.id, id, "169.254.1.1");
    const put = (address: string) => tenant.client.put(`/tenants/addresses/${id}`, { address, protocols: [] });
    expect(await put("169.254.1.2")).toMatchObject({ status: 422, body: { code: "invalid_address" } });
    expect(await put(" 169.254.1.1 ")).toMatchObject({ status: 200, body: { address: "169.254.1.1" } });
    const change = (address: string) => ({
      changes: [{ method: "PUT", path: `/tenants/addresses/${id}`, body: { address, protocols: [] } }],
    });
    expect(await tenant.client.post("/tenants/changes", change("127.0.0.1"))).toMatchObject({ status: 422 });
    expect(await tenant.client.post("/tenants/changes", change("169.254.1.1"))).toMatchObject({ status: 200 });
  });

  test("refuses the canonical form of another address of the resource, but accepts its own", async () => {
    const { addresses } = await makeResource(["git.example.com", "wiki.example.com"]);
    const path = `/tenants/addresses/${addresses[1]?.id}`;
    const reply = await client.put(path, { address: "GIT.example.com.", protocols: [] });
    expect(reply).toMatchObject({
      status: 422,
      body: { code: "duplicate_address", errors: [{ pointer: "/address" }] },
    });
    expect(await client.put(path, { address: "WIKI.example.com", protocols: [] })).toMatchObject({ status: 200 });
  });

  test("allows one address in many resources", async () => {
    const { id } = await makeAddress("one.example.com");
    await makeAddress("two.example.com");
    const reply = await client.put(`/tenants/addresses/${id}`, { address: "two.example.com", protocols: [] });
    expect(reply).toMatchObject({ status: 200 });
  });

  test("stays unique in a resource under concurrent requests", async () => {
    const { id, addresses } = await makeResource(Array.from({ length: 6 }, (_, index) => `host-${index}.example.com`));
    const replies = await Promise.all(
      addresses.map((address) =>
        client.put(`/tenants/addresses/${address.id}`, { address: "contested.example.com", protocols: [https] }),
      ),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422, 422, 422]);
    for (const { status, body } of replies) if (status === 422) expect(body.code).toBe("duplicate_address");
    const { body } = await client.get(`/tenants/resources/${id}`);
    expect(new Set(body.addresses.map(({ address }: { address: string }) => address)).size).toBe(6);
  });

  test("answers two addresses that want each other's text without an error of the server", async () => {
    const { addresses } = await makeResource(["one.example.com", "two.example.com"]);
    const [one, two] = addresses;
    const replies = await Promise.all([
      client.put(`/tenants/addresses/${one?.id}`, { address: "two.example.com", protocols: [] }),
      client.put(`/tenants/addresses/${two?.id}`, { address: "one.example.com", protocols: [] }),
    ]);
    for (const { status, body } of replies) expect([status, body.code]).toEqual([422, "duplicate_address"]);
  });

  test("refuses protocols that the tenant does not have, naming each", async () => {
    const { id } = await makeAddress();
    const foreign = await makeId("protocol", (await server.newTenant()).client);
    const reply = await client.put(`/tenants/addresses/${id}`, {
      address: "10.0.0.1",
      protocols: [foreign, ssh, unknownId],
    });
    expect(reply).toMatchObject({ status: 422, body: { code: "unknown_reference" } });
    expect(reply.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      "/protocols/0",
      "/protocols/2",
    ]);
    expect((await client.get(`/tenants/addresses/${id}`)).headers.etag).toBe('"1"');
  });

  test.each([
    ["/protocols", { address: "10.0.0.1" }],
    ["/address", { protocols: [] }],
    ["/address", { address: "  ", protocols: [] }],
    ["/address", { address: 7, protocols: [] }],
    ["/address", { address: "x".repeat(254), protocols: [] }],
    ["/protocols/0", { address: "10.0.0.1", protocols: ["SSH"] }],
    ["/protocols", { address: "10.0.0.1", protocols: [unknownId, unknownId] }],
    ["/type", { address: "10.0.0.1", protocols: [], type: "SAAS" }],
  ])("refuses with 400 at %s: %j", async (pointer, body) => {
    const { id } = await makeAddress();
    const reply = await client.put(`/tenants/addresses/${id}`, body);
    expect(reply).toMatchObject({ status: 400, body: { code: "invalid_body", errors: [{ pointer }] } });
  });

  test("checks 404, then 412, then the fields", async () => {
    const { id } = await makeAddress();
    const bad = { address: "8.8.8.8", protocols: [] };
    expect(await client.put(`/tenants/addresses/${unknownId}`, bad)).toMatchObject({ status: 404 });
    const path = `/tenants/addresses/${id}`;
    expect(await client.put(path, bad, { "if-match": '"2"' })).toMatchObject({ status: 412 });
    expect(await client.put(path, bad, { "if-match": '"1"' })).toMatchObject({ status: 422 });
    const good = { address: "10.0.0.9", protocols: [] };
    expect(await client.put(path, good, { "if-match": '"1"' })).toMatchObject({ status: 200 });
    expect(await client.put(path, good, { "if-match": '"1"' })).toMatchObject({ status: 412 });
    expect(await client.put(path, good, { "if-match": "*" })).toMatchObject({ status: 200 });
  });

  test("races with deleting the resource or a protocol without an error of the server", async () => {
    for (let round = 0; round < 5; round += 1) {
      const resource = await makeResource(["10.0.0.1"]);
      const protocol = await makeId("protocol", client);
      const [changed, gone, dropped] = await Promise.all([
        client.put(`/tenants/addresses/${resource.addresses[0]?.id}`, { address: "10.0.0.2", protocols: [protocol] }),
        client.delete(`/tenants/resources/${resource.id}`),
        client.delete(`/tenants/protocols/${protocol}`),
      ]);
      expect([200, 404, 422]).toContain(changed.status);
      expect(gone.status).toBe(204);
      expect([204, 409]).toContain(dropped.status);
    }
  });
});

describe("the blocks of answers for a name", () => {
  const blocks = ["10.0.0.0/8", "fd00::/8"];

  test("are stored in canonical form with a new resource, a new address and a change", async () => {
    const created = await client.must.post("/tenants/resources", {
      name: unique("Resource"),
      type: "PRIVATE",
      addresses: [
        { address: "one.example.com", protocols: [ssh], answersWithin: ["FD00::/8", "10.0.0.0/8"] },
        { address: "two.example.com", protocols: [ssh], answersWithin: null },
        { address: "10.0.0.1", protocols: [ssh] },
      ],
    });
    const [one, two, three] = created.body.addresses;
    expect(one.answersWithin).toEqual(blocks);
    for (const address of [two, three]) expect(address).not.toHaveProperty("answersWithin");
    const added = await client.must.post(`/tenants/resources/${created.body.id}/addresses`, {
      address: "three.example.com",
      protocols: [],
      answersWithin: ["10.1.2.3"],
    });
    expect(added.body.answersWithin).toEqual(["10.1.2.3/32"]);
    const path = `/tenants/addresses/${two.id}`;
    const changed = await client.must.put(path, { address: two.address, protocols: [ssh], answersWithin: blocks });
    expect(changed.body.answersWithin).toEqual(blocks);
    expect((await client.get(path)).body).toEqual(changed.body);
    const { body } = await client.get(`/tenants/resources?filter[id]=${created.body.id}`);
    expect(body.data[0].addresses).toEqual([one, changed.body, three, added.body]);
  });

  test("stay unless a request changes them, and end with null or an IP address", async () => {
    const { id } = await makeAddress("git.example.com");
    const path = `/tenants/addresses/${id}`;
    const put = (body: object) => client.must.put(path, { address: "git.example.com", protocols: [ssh], ...body });
    await put({ answersWithin: blocks });
    expect((await put({})).headers.etag).toBe('"2"');
    expect((await put({ address: "wiki.example.com", protocols: [https] })).body.answersWithin).toEqual(blocks);
    expect((await put({ answersWithin: null })).body).not.toHaveProperty("answersWithin");
    await put({ answersWithin: blocks });
    expect((await put({ address: "10.0.0.1" })).body).not.toHaveProperty("answersWithin");
    expect((await put({})).body).not.toHaveProperty("answersWithin");
  });

  test.each([
    ["PRIVATE", "10.0.0.1", ["10.0.0.0/8"], "/answersWithin"],
    ["SAAS", "crm.example.com", ["10.0.0.0/8"], "/answersWithin"],
    ["INTERNET", "example.com", ["10.0.0.0/8"], "/answersWithin"],
    ["PRIVATE", "git.example.com", ["10.0.0.0/8", "10.0.0.7/24"], "/answersWithin/1"],
    ["PRIVATE", "git.example.com", ["office.example.com"], "/answersWithin/0"],
  ] as const)("are refused in a %s resource for %s: %j", async (type, address, answersWithin, pointer) => {
    const body = { address, protocols: [ssh], answersWithin };
    const refusal = (at: string) => ({ status: 422, body: { code: "invalid_address", errors: [{ pointer: at }] } });
    const { id } = await makeAddress("host.example.com", type);
    expect(await client.put(`/tenants/addresses/${id}`, body)).toMatchObject(refusal(pointer));
    const name = unique("Resource");
    const whole = await client.post("/tenants/resources", { name, type, addresses: [body] });
    expect(whole).toMatchObject(refusal(`/addresses/0${pointer}`));
    const resource = await makeResource([], type);
    const added = await client.post(`/tenants/resources/${resource.id}/addresses`, body);
    expect(added).toMatchObject(refusal(pointer));
  });

  test.each([
    ["no block", []],
    ["more than 32 blocks", Array.from({ length: 33 }, (_, index) => `10.${index}.0.0/16`)],
    ["a text", "10.0.0.0/8"],
  ])("are refused with 400 for %s", async (_, answersWithin) => {
    const { id } = await makeAddress("git.example.com");
    const body = { address: "git.example.com", protocols: [], answersWithin };
    expect(await client.put(`/tenants/addresses/${id}`, body)).toMatchObject({
      status: 400,
      body: { code: "invalid_body", errors: [{ pointer: "/answersWithin" }] },
    });
  });
});

describe("deleting an address", () => {
  test("removes it from its resource, which keeps its version", async () => {
    const resource = await makeResource(["10.0.0.1", "10.0.0.2"]);
    const [gone, stays] = resource.addresses;
    expect(await client.delete(`/tenants/addresses/${gone?.id}`)).toMatchObject({ status: 204, text: "" });
    expect(await client.get(`/tenants/addresses/${gone?.id}`)).toMatchObject({ status: 404 });
    const read = await client.get(`/tenants/resources/${resource.id}`);
    expect(read.headers.etag).toBe('"1"');
    expect(read.body.addresses).toEqual([stays]);
    expect(await client.delete(`/tenants/addresses/${gone?.id}`)).toMatchObject({ status: 404 });
  });

  test("leaves a resource without addresses, and frees its protocols", async () => {
    const protocol = await makeId("protocol", client);
    const { id } = await makeAddress();
    await client.must.put(`/tenants/addresses/${id}`, { address: "10.0.0.1", protocols: [protocol] });
    expect(await client.delete(`/tenants/protocols/${protocol}`)).toMatchObject({ status: 409 });
    expect(await client.delete(`/tenants/addresses/${id}`)).toMatchObject({ status: 204 });
    expect(await client.delete(`/tenants/protocols/${protocol}`)).toMatchObject({ status: 204 });
  });

  test("is refused for a stale If-Match", async () => {
    const { id } = await makeAddress();
    expect(await client.delete(`/tenants/addresses/${id}`, { "if-match": '"3"' })).toMatchObject({ status: 412 });
    expect(await client.delete(`/tenants/addresses/${id}`, { "if-match": '"1"' })).toMatchObject({ status: 204 });
  });

  test("happens to all addresses of a deleted resource", async () => {
    const resource = await makeResource(["10.0.0.1", "10.0.0.2"]);
    await client.must.delete(`/tenants/resources/${resource.id}`);
    for (const { id } of resource.addresses) {
      expect(await client.get(`/tenants/addresses/${id}`)).toMatchObject({ status: 404 });
    }
  });
});

describe("the gateways of an address", () => {
  test("lists the gateways of its resource in order of priority, complete", async () => {
    const resource = await makeResource(["10.0.0.1"]);
    const path = `/tenants/addresses/${resource.addresses[0]?.id}/gateways`;
    expect(await client.get(path)).toMatchObject({ status: 200, body: [] });
    const gateways = [await make("gateway", client), await make("gateway", client), await make("gateway", client)];
    const order = [gateways[2], gateways[0], gateways[1]];
    await client.must.post(`/tenants/resources/${resource.id}/loadBalancing`, {
      loadBalancingMode: "MANUAL",
      gateways: order.map(({ id }) => id),
    });
    const reply = await client.get(path);
    const reached = [{ id: resource.id, name: resource.name }];
    expect(reply.body).toEqual(order.map((gateway) => ({ ...gateway, resources: reached })));
  });
});

test("the record of changes names the resource of an address", async () => {
  const resource = await makeResource(["10.0.0.1"]);
  const [address] = resource.addresses;
  const changed = await client.put(`/tenants/addresses/${address?.id}`, { address: "10.0.0.2", protocols: [] });
  await client.must.delete(`/tenants/addresses/${address?.id}`);
  const { body } = await client.get(`/tenants/events?filter[target.id]=${address?.id}`);
  const owner = { id: resource.id, name: resource.name };
  const after = { ...changed.body, resource: owner };
  const target = { type: "address", id: address?.id, name: "10.0.0.2" };
  expect(body.data).toMatchObject([
    { operation: "updateAddress", target, before: { ...address, resource: owner }, after },
    { operation: "deleteAddress", target, before: after },
  ]);
});
