import { beforeAll, describe, expect, test } from "vitest";
import { latestNews } from "../../testing/network-rows.queries.ts";
import { make, makeId, unique } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestClient, type TestReply, type TestServer } from "../../testing/test-server.ts";

const unknownId = "01890000-0000-7000-8000-000000000000";

let server: TestServer;
let client: TestClient;

beforeAll(async () => {
  server = await sharedTestServer();
  client = (await server.newTenant()).client;
});

function create(fields: object = {}): Promise<TestReply> {
  return client.post("/tenants/resources", { name: unique("Resource"), type: "PRIVATE", addresses: [], ...fields });
}

describe("reading a resource", () => {
  test("answers 404 for an unknown id or another tenant's, and 400 for an invalid id", async () => {
    const foreign = await makeId("resource", (await server.newTenant()).client);
    for (const id of [unknownId, foreign]) {
      for (const reply of [
        await client.get(`/tenants/resources/${id}`),
        await client.patch(`/tenants/resources/${id}`, { name: unique("x") }),
        await client.post(`/tenants/resources/${id}/loadBalancing`, { loadBalancingMode: "MANUAL", gateways: [] }),
        await client.delete(`/tenants/resources/${id}`),
      ]) {
        expect(reply).toMatchObject({ status: 404, body: { code: "not_found" } });
      }
    }
    expect(await client.get("/tenants/resources/git")).toMatchObject({
      status: 400,
      body: { code: "invalid_parameter" },
    });
  });

  test("finds it by its id in either letter case", async () => {
    const { body } = await create();
    const read = await client.get(`/tenants/resources/${body.id.toUpperCase()}`);
    expect(read).toMatchObject({ status: 200, body: { id: body.id } });
  });

  test("shows its id in lower case, however a request spells it", async () => {
    const tenant = await server.newTenant();
    const { id } = await make("resource", tenant.client);
    await tenant.client.must.patch(`/tenants/resources/${id.toUpperCase()}`, { name: unique("Resource") });
    await tenant.client.must.delete(`/tenants/resources/${id.toUpperCase()}`);
    expect(await latestNews(server, tenant.id, 2)).toEqual([
      { type: "resource", id, change: "deleted" },
      { type: "resource", id, change: "updated" },
    ]);
  });
});

describe("updating a resource", () => {
  test("changes name and description, answers nothing but the new ETag", async () => {
    const { body: made } = await create({ description: "Old" });
    const name = unique("Forge");
    const reply = await client.patch(`/tenants/resources/${made.id}`, { name: ` ${name} ` });
    expect(reply).toMatchObject({ status: 204, text: "", headers: { etag: '"2"' } });
    const { body } = await client.get(`/tenants/resources/${made.id}`);
    expect(body).toEqual({ ...made, name, updatedAt: body.updatedAt });
    await client.must.patch(`/tenants/resources/${made.id}`, { name, description: "New" });
    expect((await client.get(`/tenants/resources/${made.id}`)).body).toMatchObject({ description: "New" });
  });

  test("that is as wanted already answers the ETag it has, and records nothing", async () => {
    const { body } = await create({ description: "Old" });
    const path = `/tenants/resources/${body.id}`;
    for (const same of [{ name: body.name }, { name: ` ${body.name} `, description: "Old" }]) {
      expect(await client.patch(path, same, { "if-match": '"2"' })).toMatchObject({ status: 412 });
      expect(await client.patch(path, same, { "if-match": '"1"' })).toMatchObject({
        status: 204,
        headers: { etag: '"1"' },
      });
    }
    expect((await client.get(path)).body).toEqual(body);
    expect((await client.get(`/tenants/events?filter[target.id]=${body.id}`)).body.total).toBe(1);
  });

  test('clears the description with ""', async () => {
    const { body } = await create({ description: "Old" });
    await client.must.patch(`/tenants/resources/${body.id}`, { name: body.name, description: "" });
    expect((await client.get(`/tenants/resources/${body.id}`)).body).not.toHaveProperty("description");
  });

  test("refuses another resource's name", async () => {
    const [one, two] = [await create(), await create()];
    const reply = await client.patch(`/tenants/resources/${one.body.id}`, { name: two.body.name });
    expect(reply).toMatchObject({ status: 409, body: { code: "name_taken" } });
    expect((await client.get(`/tenants/resources/${one.body.id}`)).headers.etag).toBe('"1"');
  });

  test.each([
    ["/name", {}],
    ["/name", { name: "" }],
    ["/type", { name: "x", type: "SAAS" }],
    ["/description", { name: "x", description: null }],
  ])("refuses with 400 at %s: %j", async (pointer, body) => {
    const { body: made } = await create();
    const reply = await client.patch(`/tenants/resources/${made.id}`, body);
    expect(reply).toMatchObject({ status: 400, body: { code: "invalid_body", errors: [{ pointer }] } });
  });

  test("checks 404, then 412, then conflicts", async () => {
    const [one, two] = [await create(), await create()];
    const path = `/tenants/resources/${one.body.id}`;
    const taken = { name: two.body.name };
    expect(await client.patch(`/tenants/resources/${unknownId}`, taken)).toMatchObject({ status: 404 });
    expect(await client.patch(path, taken, { "if-match": '"2"' })).toMatchObject({
      status: 412,
      body: { code: "precondition_failed" },
    });
    expect(await client.patch(path, taken, { "if-match": '"1"' })).toMatchObject({ status: 409 });
    const fine = { name: one.body.name };
    const change = (ifMatch: string) => client.patch(path, { name: unique("Fine") }, { "if-match": ifMatch });
    expect(await change("*")).toMatchObject({ status: 204 });
    expect(await change('"7", "2"')).toMatchObject({ status: 204 });
    // Strong comparison: a weak tag matches nothing.
    expect(await client.patch(path, fine, { "if-match": 'W/"3"' })).toMatchObject({ status: 412 });
    expect(await client.patch(path, fine, { "if-match": "3" })).toMatchObject({ status: 412 });
  });

  test("accepts exactly one of several concurrent writes with the same ETag", async () => {
    const { body } = await create();
    const replies = await Promise.all(
      Array.from({ length: 6 }, () =>
        client.patch(`/tenants/resources/${body.id}`, { name: unique("Writer") }, { "if-match": '"1"' }),
      ),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([204, 412, 412, 412, 412, 412]);
  });
});

describe("deleting a resource", () => {
  test("deletes its addresses and connections, and frees its name", async () => {
    const resource = await make("resource", client);
    const gateway = await makeId("gateway", client);
    await client.must.post(`/tenants/resources/${resource.id}/loadBalancing`, {
      loadBalancingMode: "MANUAL",
      gateways: [gateway],
    });
    const path = `/tenants/resources/${resource.id}`;
    expect(await client.delete(path, { "if-match": '"1"' })).toMatchObject({ status: 412 });
    const gone = await client.delete(path, { "if-match": '"2"' });
    expect(gone).toMatchObject({ status: 204, text: "" });
    expect(await client.get(path)).toMatchObject({ status: 404 });
    expect(await client.delete(path)).toMatchObject({ status: 404 });
    expect((await client.get(`/tenants/gateways/${gateway}`)).body.resources).toEqual([]);
    expect(await client.get(`/tenants/addresses/${resource.addresses[0].id}`)).toMatchObject({ status: 404 });
    expect(await create({ name: resource.name })).toMatchObject({ status: 201 });
  });

  test("is refused while active policies list it, with their names", async () => {
    const { body: resource } = await create();
    const policies: { id: string; name: string }[] = [];
    for (const name of [unique("zeta"), unique("Alpha")]) {
      const fields = { name, type: "PRIVATE", action: true, resources: [resource.id] };
      const { status, body, text } = await client.post("/tenants/policies", fields);
      expect(status, text).toBe(201);
      policies.unshift(body);
    }
    const path = `/tenants/resources/${resource.id}`;
    const refused = await client.delete(path);
    expect(refused).toMatchObject({ status: 409, body: { code: "resource_in_use" } });
    expect(refused.body.errors).toEqual(
      policies.map(({ id, name }) => ({ pointer: `/tenants/policies/${id}`, message: name })),
    );
    expect(await client.delete(path, { "if-match": '"5"' })).toMatchObject({ status: 412 });
    for (const { id } of policies) await client.must.patch(`/tenants/policies/${id}/deactivate`);
    expect(await client.delete(path)).toMatchObject({ status: 204 });
    for (const { id } of policies) {
      expect((await client.get(`/tenants/policies/${id}`)).body).toMatchObject({ active: false, resources: [] });
    }
  });

  test("records and publishes which policies lose it, and keeps the rest of the policies", async () => {
    const tenant = await server.newTenant();
    const [gone, stays] = [await make("resource", tenant.client), await make("resource", tenant.client)];
    const fields = { name: "Forge", type: "PRIVATE", action: true, resources: [gone.id, stays.id] };
    const { body: policy } = await tenant.client.post("/tenants/policies", fields);
    await tenant.client.must.patch(`/tenants/policies/${policy.id}/deactivate`);
    expect(await tenant.client.delete(`/tenants/resources/${gone.id}`)).toMatchObject({ status: 204 });
    const { body } = await tenant.client.get(`/tenants/events?filter[target.id]=${policy.id}&sort=-createdAt`);
    expect(body.data[0]).toMatchObject({ operation: "deleteResource", target: { type: "policy", name: "Forge" } });
    const state = { id: policy.id, name: "Forge" };
    expect(body.data[0].before).toEqual({ ...state, resource: { id: gone.id, name: gone.name } });
    expect(body.data[0].after).toEqual(state);
    expect(await latestNews(server, tenant.id, 1)).toEqual([
      { type: "policy", id: policy.id, change: "updated" },
      { type: "resource", id: gone.id, change: "deleted" },
    ]);
    const kept = await tenant.client.get(`/tenants/policies/${policy.id}`);
    expect(kept).toMatchObject({ headers: { etag: '"2"' }, body: { resources: [{ id: stays.id }] } });
  });

  test("is not hindered by policies for all resources", async () => {
    const { body } = await create();
    const fields = { name: unique("All"), type: "PRIVATE", action: true, allResources: true };
    expect(await client.post("/tenants/policies", fields)).toMatchObject({ status: 201 });
    expect(await client.delete(`/tenants/resources/${body.id}`)).toMatchObject({ status: 204 });
  });

  test("concurrent deletion and use in a policy: one of the two is refused", async () => {
    for (let round = 0; round < 6; round += 1) {
      const { body: resource } = await create();
      const fields = { name: unique("Policy"), type: "PRIVATE", action: true, resources: [resource.id] };
      const [deleted, named] = await Promise.all([
        client.delete(`/tenants/resources/${resource.id}`),
        client.post("/tenants/policies", fields),
      ]);
      expect([
        [204, 422],
        [409, 201],
      ]).toContainEqual([deleted.status, named.status]);
    }
  });

  test("races with a policy's reactivation: an active policy never loses a resource", async () => {
    for (let round = 0; round < 6; round += 1) {
      const { body: resource } = await create();
      const fields = { name: unique("Policy"), type: "PRIVATE", action: true, resources: [resource.id] };
      const { body: policy } = await client.post("/tenants/policies", fields);
      await client.must.patch(`/tenants/policies/${policy.id}/deactivate`);
      const [deleted, reactivated] = await Promise.all([
        client.delete(`/tenants/resources/${resource.id}`),
        client.post(`/tenants/policies/${policy.id}/reactivate`),
      ]);
      expect(reactivated.status).toBe(201);
      const { body } = await client.get(`/tenants/policies/${policy.id}`);
      expect(body.resources).toHaveLength(deleted.status === 204 ? 0 : 1);
      expect([204, 409]).toContain(deleted.status);
    }
  });
});
