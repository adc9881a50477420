import { beforeAll, describe, expect, test } from "vitest";
import { reportStatus } from "../../testing/network-rows.queries.ts";
import { make, makeId } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestClient, type TestReply, type TestServer } from "../../testing/test-server.ts";

const unknownId = "01890000-0000-7000-8000-000000000000";

let server: TestServer;
let client: TestClient;
let gateways: readonly string[];

beforeAll(async () => {
  server = await sharedTestServer();
  client = (await server.newTenant()).client;
  gateways = await Promise.all(Array.from({ length: 4 }, () => makeId("gateway", client)));
});

function balance(resourceId: string, body: object, headers = {}): Promise<TestReply> {
  return client.post(`/tenants/resources/${resourceId}/loadBalancing`, body, headers);
}

async function connected(resourceId: string): Promise<readonly string[]> {
  const { body } = await client.get(`/tenants/resources/${resourceId}`);
  return body.gateways.map(({ id }: { id: string }) => id);
}

describe("configuring load balancing", () => {
  test("connects exactly the gateways given, in that order, and raises the resource's version", async () => {
    const id = await makeId("resource", client);
    const [a = "", b = "", c = "", d = ""] = gateways;
    for (const [step, order] of [[c, a, b], [a, b, c], [d, c], [b, d, c, a], [], [a]].entries()) {
      const reply = await balance(id, { loadBalancingMode: "MANUAL", gateways: order });
      expect(reply).toMatchObject({ status: 204, text: "", headers: { etag: `"${step + 2}"` } });
      expect(await connected(id)).toEqual(order);
    }
  });

  test("that is as wanted already answers the ETag it has, and records nothing", async () => {
    const id = await makeId("resource", client);
    const [a = "", b = ""] = gateways;
    const reply = await balance(id, { loadBalancingMode: "MANUAL", gateways: [] });
    expect(reply).toMatchObject({ status: 204, headers: { etag: '"1"' } });
    await balance(id, { loadBalancingMode: "MANUAL", gateways: [b, a] });
    const same = { loadBalancingMode: "MANUAL", gateways: [b.toUpperCase(), a] };
    expect(await balance(id, same, { "if-match": '"1"' })).toMatchObject({ status: 412 });
    expect(await balance(id, same, { "if-match": '"2"' })).toMatchObject({ status: 204, headers: { etag: '"2"' } });
    expect((await client.get(`/tenants/events?filter[target.id]=${id}`)).body.total).toBe(2);
    expect(await balance(id, { ...same, loadBalancingMode: "AUTOMATIC" })).toMatchObject({ headers: { etag: '"3"' } });
  });

  test("sets the mode, which is required", async () => {
    const id = await makeId("resource", client);
    await balance(id, { loadBalancingMode: "AUTOMATIC", gateways });
    const { body } = await client.get(`/tenants/resources/${id}`);
    expect(body).toMatchObject({ loadBalancingMode: "AUTOMATIC" });
    expect(await balance(id, { gateways })).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: "/loadBalancingMode" }] },
    });
  });

  test("keeps the versions of the gateways", async () => {
    const id = await makeId("resource", client);
    const gateway = await makeId("gateway", client);
    await balance(id, { loadBalancingMode: "MANUAL", gateways: [gateway] });
    expect((await client.get(`/tenants/gateways/${gateway}`)).headers.etag).toBe('"1"');
  });

  test.each([
    ["/gateways", { loadBalancingMode: "MANUAL" }],
    ["/gateways", { loadBalancingMode: "MANUAL", gateways: unknownId }],
    ["/gateways", { loadBalancingMode: "MANUAL", gateways: [unknownId, unknownId] }],
    ["/gateways/0", { loadBalancingMode: "MANUAL", gateways: [7] }],
    ["/gateways/0", { loadBalancingMode: "MANUAL", gateways: ["x".repeat(65)] }],
    ["/loadBalancingMode", { loadBalancingMode: "ROUND_ROBIN", gateways: [] }],
    ["/priority", { loadBalancingMode: "MANUAL", gateways: [], priority: 1 }],
  ])("refuses with 400 at %s: %j", async (pointer, body) => {
    const reply = await balance(await makeId("resource", client), body);
    expect(reply).toMatchObject({ status: 400, body: { code: "invalid_body", errors: [{ pointer }] } });
  });

  test("refuses unknown gateways, another tenant's, and invalid ids, listing each", async () => {
    const id = await makeId("resource", client);
    await balance(id, { loadBalancingMode: "MANUAL", gateways });
    const foreign = await makeId("gateway", (await server.newTenant()).client);
    const [known] = gateways;
    const reply = await balance(id, {
      loadBalancingMode: "AUTOMATIC",
      gateways: [foreign, known, unknownId, "first gateway", ""],
    });
    expect(reply).toMatchObject({ status: 422, body: { code: "unknown_reference" } });
    expect(reply.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      "/gateways/0",
      "/gateways/2",
      "/gateways/3",
      "/gateways/4",
    ]);
    expect(await connected(id)).toEqual(gateways);
  });

  test("accepts a gateway in two letter cases once, at its first position", async () => {
    const id = await makeId("resource", client);
    const [a = "", b = ""] = gateways;
    const reply = await balance(id, { loadBalancingMode: "MANUAL", gateways: [b.toUpperCase(), a, b] });
    expect(reply.status).toBe(204);
    expect(await connected(id)).toEqual([b, a]);
  });

  test("checks If-Match", async () => {
    const id = await makeId("resource", client);
    const body = { loadBalancingMode: "MANUAL", gateways: ["not an id"] };
    expect(await balance(id, body, { "if-match": '"2"' })).toMatchObject({ status: 412 });
    expect(await balance(id, body, { "if-match": '"1"' })).toMatchObject({ status: 422 });
  });

  test("concurrent writes to one resource store one list completely", async () => {
    const id = await makeId("resource", client);
    const [a = "", b = "", c = "", d = ""] = gateways;
    await balance(id, { loadBalancingMode: "MANUAL", gateways: [a] }); // so that each list is a change
    const orders = [[a, b, c], [c, b, a], [d], [b, d], [d, c, b, a], []];
    const replies = await Promise.all(
      orders.map((order) => balance(id, { loadBalancingMode: "MANUAL", gateways: order })),
    );
    expect(replies.map(({ status }) => status)).toEqual(orders.map(() => 204));
    expect(orders).toContainEqual(await connected(id));
    expect((await client.get(`/tenants/resources/${id}`)).headers.etag).toBe('"8"');
  });
});

describe("a resource's status", () => {
  test("is ONLINE while one of its gateways is, without a new version", async () => {
    const tenant = await server.newTenant();
    const own = tenant.client;
    const resource = await make("resource", own);
    const [one, two] = [await makeId("gateway", own), await makeId("gateway", own)];
    await own.must.post(`/tenants/resources/${resource.id}/loadBalancing`, {
      loadBalancingMode: "MANUAL",
      gateways: [one, two],
    });
    const reported = async (status: string) => {
      await reportStatus(server, tenant.id, two, status);
      const { body, headers } = await own.get(`/tenants/resources/${resource.id}`);
      return [body.status, headers.etag];
    };
    for (const status of ["PENDING", "OFFLINE", "MAINTENANCE", "ERROR"]) {
      expect(await reported(status)).toEqual(["OFFLINE", '"2"']);
    }
    expect(await reported("ONLINE")).toEqual(["ONLINE", '"2"']);
  });
});
