import { beforeAll, describe, expect, test } from "vitest";
import { make, makeId, unique } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestClient, type TestReply, type TestServer } from "../../testing/test-server.ts";

let server: TestServer;
let client: TestClient;

beforeAll(async () => {
  server = await sharedTestServer();
  client = (await server.newTenant()).client;
});

async function makeGateway(fields: object = {}): Promise<TestReply["body"]> {
  const made = await client.post("/tenants/gateways", { name: unique("Gateway"), wireguardPort: "51820", ...fields });
  expect(made.status, made.text).toBe(201);
  return made.body;
}

async function connect(resourceId: string, gatewayIds: readonly string[]): Promise<void> {
  const body = { loadBalancingMode: "MANUAL", gateways: gatewayIds };
  expect((await client.post(`/tenants/resources/${resourceId}/loadBalancing`, body)).status).toBe(204);
}

describe("deleting a gateway", () => {
  test("deletes its connections to resources, and keeps the resources' versions", async () => {
    const [gone, stays] = [await makeGateway(), await makeGateway()];
    const resource = await make("resource", client);
    await connect(resource.id, [gone.id, stays.id]);
    const before = await client.get(`/tenants/resources/${resource.id}`);
    expect(await client.delete(`/tenants/gateways/${gone.id}`)).toMatchObject({ status: 204, text: "" });
    expect(await client.get(`/tenants/gateways/${gone.id}`)).toMatchObject({ status: 404 });
    const after = await client.get(`/tenants/resources/${resource.id}`);
    expect(after.body.gateways.map(({ id }: { id: string }) => id)).toEqual([stays.id]);
    expect(after.headers.etag).toBe(before.headers.etag);
    expect(await client.delete(`/tenants/gateways/${gone.id}`)).toMatchObject({ status: 404 });
  });

  test("is refused for a stale If-Match and for another tenant's gateway", async () => {
    const { id } = await makeGateway();
    expect(await client.delete(`/tenants/gateways/${id}`, { "if-match": '"2"' })).toMatchObject({ status: 412 });
    const other = await server.newTenant();
    expect(await other.client.delete(`/tenants/gateways/${id}`)).toMatchObject({ status: 404 });
    expect(await client.delete(`/tenants/gateways/${id}`, { "if-match": '"1"' })).toMatchObject({ status: 204 });
  });

  test("is refused while a policy lists it, active or not, with the names of the policies", async () => {
    const { id } = await makeGateway();
    const policies: { id: string; name: string }[] = [];
    for (const name of [unique("zeta"), unique("Alpha")]) {
      const fields = { name, type: "PRIVATE", action: true, gateways: [id] };
      const { status, body, text } = await client.post("/tenants/policies", fields);
      expect(status, text).toBe(201);
      policies.unshift(body);
    }
    await client.must.patch(`/tenants/policies/${policies[0]?.id}/deactivate`);
    const refused = await client.delete(`/tenants/gateways/${id}`);
    expect(refused).toMatchObject({ status: 409, body: { code: "gateway_in_use" } });
    expect(refused.body.errors).toEqual(
      policies.map((policy) => ({ pointer: `/tenants/policies/${policy.id}`, message: policy.name })),
    );
    expect(await client.delete(`/tenants/gateways/${id}`, { "if-match": '"2"' })).toMatchObject({ status: 412 });
    for (const policy of policies) await client.must.patch(`/tenants/policies/${policy.id}`, { gateways: [] });
    expect(await client.delete(`/tenants/gateways/${id}`)).toMatchObject({ status: 204 });
  });

  test("races with a policy that begins to name it: either it or they are refused", async () => {
    for (let round = 0; round < 6; round += 1) {
      const { id } = await makeGateway();
      const policy = await makeId("policy", client);
      const fields = { name: unique("Policy"), type: "PRIVATE", action: true, gateways: [id] };
      const [deleted, created, patched] = await Promise.all([
        client.delete(`/tenants/gateways/${id}`),
        client.post("/tenants/policies", fields),
        client.patch(`/tenants/policies/${policy}`, { gateways: [id] }),
      ]);
      expect([
        [204, 422, 422],
        [409, 201, 200],
      ]).toContainEqual([deleted.status, created.status, patched.status]);
    }
  });

  test("concurrent with connecting it either deletes the connection or makes it fail", async () => {
    const resources = await Promise.all(Array.from({ length: 4 }, () => makeId("resource", client)));
    const stays = await makeGateway();
    const outcomes = new Set<number>();
    for (let round = 0; round < 6; round += 1) {
      const { id } = await makeGateway();
      const connecting = (resource: string) =>
        client.post(`/tenants/resources/${resource}/loadBalancing`, {
          loadBalancingMode: "AUTOMATIC",
          gateways: [stays.id, id],
        });
      const [early = "", ...late] = resources;
      const first = connecting(early);
      if (round % 2 === 0) await first;
      const [deleted, ...connected] = await Promise.all([
        client.delete(`/tenants/gateways/${id}`),
        first,
        ...late.map(connecting),
      ]);
      expect(deleted.status).toBe(204);
      for (const { status, body } of connected) {
        outcomes.add(status);
        if (status !== 204) expect(body).toMatchObject({ status: 422, errors: [{ pointer: "/gateways/1" }] });
      }
      for (const { body } of await Promise.all(
        resources.map((resource) => client.get(`/tenants/resources/${resource}`)),
      )) {
        expect([[], [stays.id]]).toContainEqual(body.gateways.map((gateway: { id: string }) => gateway.id));
      }
    }
    expect([...outcomes]).toContain(204);
  });

  test("concurrent with its update causes no server error", async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id } = await makeGateway();
      const [deleted, updated] = await Promise.all([
        client.delete(`/tenants/gateways/${id}`),
        client.put(`/tenants/gateways/${id}`, { description: "Late" }),
      ]);
      expect(deleted.status).toBe(204);
      expect([200, 404]).toContain(updated.status);
    }
  });
});
