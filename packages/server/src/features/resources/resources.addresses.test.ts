import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { make, makeId, unique } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestClient, type TestServer } from "../../testing/test-server.ts";

let server: TestServer;
let client: TestClient;
let protocol: { readonly id: string };

beforeAll(async () => {
  server = await sharedTestServer();
});
beforeEach(async () => {
  ({ client } = await server.newTenant());
  protocol = await make("protocol", client);
});

async function makeResource(type = "PRIVATE", texts: readonly string[] = []) {
  const addresses = texts.map((address) => ({ address, protocols: [] }));
  const made = await client.post("/tenants/resources", { name: unique("Resource"), type, addresses });
  expect(made.status, made.text).toBe(201);
  return made.body;
}

const add = (id: string, address: string, protocols: readonly string[] = [], headers = {}) =>
  client.post(`/tenants/resources/${id}/addresses`, { address, protocols }, headers);
const remove = (id: string, addressId: string, headers = {}) =>
  client.delete(`/tenants/resources/${id}/addresses/${addressId}`, headers);

async function textsOf(id: string): Promise<string[]> {
  const { body } = await client.get(`/tenants/resources/${id}`);
  return body.addresses.map(({ address }: { address: string }) => address);
}

describe("adding an address to a resource", () => {
  test("makes an address record behind the others, and raises the resource's version", async () => {
    const { id } = await makeResource("PRIVATE", ["git.example.com"]);
    const ssh = (await client.get("/tenants/protocols")).body.find(({ name }: { name: string }) => name === "SSH");
    const made = await add(id, "  WIKI.Example.com. ", [protocol.id, ssh.id]);
    expect(made).toMatchObject({
      status: 201,
      headers: { etag: '"1"', location: `/tenants/addresses/${made.body.id}` },
      body: { address: "wiki.example.com", isIp: false, type: "PRIVATE", protocols: [{ id: protocol.id }, ssh] },
    });
    expect((await client.get(made.headers.location ?? "")).body).toEqual(made.body);
    const resource = await client.get(`/tenants/resources/${id}`);
    expect(resource.headers.etag).toBe('"2"');
    expect(resource.body.addresses.at(-1)).toEqual(made.body);
    expect(await textsOf(id)).toEqual(["git.example.com", "wiki.example.com"]);
  });

  test("is recorded as a change of the resource, and of the address", async () => {
    const { id, name } = await makeResource();
    const { body: address } = await add(id, "192.168.10.0/24");
    const { body } = await client.get("/tenants/events?filter[operation]=addResourceAddress");
    expect(body.data).toMatchObject([
      { target: { type: "resource", id, name }, before: { addresses: [] }, after: { addresses: [address] } },
      { target: { type: "address", id: address.id }, after: { ...address, resource: { id, name } } },
    ]);
    expect(body.data[1]).not.toHaveProperty("before");
  });

  test.each([
    ["PRIVATE", "8.8.8.8", "invalid_address"],
    ["PRIVATE", "100.64.0.1", "invalid_address"],
    ["PRIVATE", "10.0.0.0/4", "invalid_address"],
    ["PRIVATE", "169.254.169.254", "invalid_address"],
    ["PRIVATE", "::1", "invalid_address"],
    ["PRIVATE", "not a host", "invalid_address"],
    ["SAAS", "300.1.2.3", "invalid_address"],
    ["PRIVATE", "GIT.example.com.", "duplicate_address"],
    ["PRIVATE", "10.1.2.3", "duplicate_address"],
  ])("of type %s refuses %s as creating one does", async (type, address, code) => {
    const { id } = await makeResource(type, ["git.example.com", "10.1.2.3"]);
    expect(await add(id, address)).toMatchObject({ status: 422, body: { code, errors: [{ pointer: "/address" }] } });
    const addresses = ["git.example.com", "10.1.2.3", address].map((text) => ({ address: text, protocols: [] }));
    const created = await client.post("/tenants/resources", { name: unique("Resource"), type, addresses });
    expect(created).toMatchObject({ status: 422, body: { code, errors: [{ pointer: "/addresses/2/address" }] } });
    expect((await client.get(`/tenants/resources/${id}`)).headers.etag).toBe('"1"');
  });

  test("accepts a public address for types other than PRIVATE, and an address of another resource", async () => {
    const [saas, internet] = [await makeResource("SAAS", ["8.8.8.8"]), await makeResource("INTERNET")];
    expect(await add(internet.id, "8.8.8.8")).toMatchObject({ status: 201, body: { type: "INTERNET", isIp: true } });
    expect(await add(saas.id, "*.example.com")).toMatchObject({ status: 201, body: { type: "SAAS" } });
  });

  test("compares If-Match with the resource's version", async () => {
    const { id } = await makeResource();
    expect(await add(id, "a.example.com", [], { "if-match": '"2"' })).toMatchObject({ status: 412 });
    expect(await add(id, "a.example.com", [], { "if-match": '"1"' })).toMatchObject({ status: 201 });
    expect(await add(id, "b.example.com", [], { "if-match": '"1"' })).toMatchObject({ status: 412 });
  });

  test("is refused beyond the limit of creation", async () => {
    const texts = Array.from({ length: 499 }, (_, index) => `host-${index}.example.com`);
    const { id } = await makeResource("PRIVATE", texts);
    const replies = await Promise.all([add(id, "last.example.com"), add(id, "beyond.example.com")]);
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect(await add(id, "one-more.example.com")).toMatchObject({ status: 409, body: { code: "resource_full" } });
    expect(await textsOf(id)).toHaveLength(500);
  });

  test("with the same text many times at once adds it once", async () => {
    for (let round = 0; round < 4; round += 1) {
      const { id } = await makeResource();
      const replies = await Promise.all(
        ["a.example.com", "A.example.com", "a.example.com.", "a.example.com"].map((text) => add(id, text)),
      );
      expect(replies.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422]);
      for (const { status, body } of replies) if (status === 422) expect(body.code).toBe("duplicate_address");
      expect(await textsOf(id)).toEqual(["a.example.com"]);
    }
  });

  test("races with an address that is changed to the same text", async () => {
    for (let round = 0; round < 6; round += 1) {
      const resource = await makeResource("PRIVATE", ["old.example.com"]);
      const path = `/tenants/addresses/${resource.addresses[0].id}`;
      const [added, changed] = await Promise.all([
        add(resource.id, "new.example.com"),
        client.put(path, { address: "new.example.com", protocols: [] }),
      ]);
      expect([
        [201, 422],
        [422, 200],
      ]).toContainEqual([added.status, changed.status]);
      expect((await textsOf(resource.id)).filter((text) => text === "new.example.com")).toHaveLength(1);
    }
  });

  test("races with deleting the resource, or a protocol that it names", async () => {
    for (let round = 0; round < 4; round += 1) {
      const { id } = await makeResource();
      const used = await makeId("protocol", client);
      const [added, gone, unused] = await Promise.all([
        add(id, "a.example.com", [used]),
        client.delete(`/tenants/resources/${id}`),
        client.delete(`/tenants/protocols/${used}`),
      ]);
      expect([201, 404, 422]).toContain(added.status);
      expect(gone.status).toBe(204);
      expect([204, 409]).toContain(unused.status);
    }
  });
});

describe("removing an address from a resource", () => {
  test("deletes the address, raises the resource's version, and is recorded", async () => {
    const { id, name, addresses } = await makeResource("PRIVATE", ["a.example.com", "b.example.com"]);
    const [gone, stays] = addresses;
    expect(await remove(id, gone.id)).toMatchObject({ status: 204, text: "" });
    expect(await client.get(`/tenants/addresses/${gone.id}`)).toMatchObject({ status: 404 });
    const after = await client.get(`/tenants/resources/${id}`);
    expect(after).toMatchObject({ headers: { etag: '"2"' }, body: { addresses: [stays] } });
    expect(await remove(id, gone.id)).toMatchObject({ status: 404 });
    const { body } = await client.get("/tenants/events?filter[operation]=removeResourceAddress");
    expect(body.data).toMatchObject([
      { target: { type: "resource", id }, before: { addresses }, after: { addresses: [stays] } },
      { target: { type: "address", id: gone.id }, before: { ...gone, resource: { id, name } } },
    ]);
  });

  test("does not find an address of another resource", async () => {
    const [ours, other] = [await makeResource(), await makeResource("PRIVATE", ["a.example.com"])];
    const [address] = other.addresses;
    expect(await remove(ours.id, address.id, { "if-match": '"7"' })).toMatchObject({ status: 404 });
    expect(await textsOf(other.id)).toEqual(["a.example.com"]);
    expect(await remove(other.id, address.id.toUpperCase(), { "if-match": '"2"' })).toMatchObject({ status: 412 });
    expect(await remove(other.id.toUpperCase(), address.id.toUpperCase())).toMatchObject({ status: 204 });
  });

  test("races with every other way to change or delete it", async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id, addresses } = await makeResource("PRIVATE", ["a.example.com"]);
      const [address] = addresses;
      const replies = await Promise.all([
        remove(id, address.id),
        client.delete(`/tenants/addresses/${address.id}`),
        client.put(`/tenants/addresses/${address.id}`, { address: "b.example.com", protocols: [protocol.id] }),
        add(id, "a.example.com"),
        client.delete(`/tenants/resources/${id}`),
      ]);
      const [removed, deleted, changed, added, gone] = replies.map(({ status }) => status);
      expect([204, 404]).toContain(removed);
      expect([204, 404]).toContain(deleted);
      expect([200, 404, 422]).toContain(changed);
      expect([201, 404, 422]).toContain(added);
      expect(gone).toBe(204);
    }
  });
});
