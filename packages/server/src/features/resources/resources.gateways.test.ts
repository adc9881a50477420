import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { insertGateways, prioritiesOf } from "../../testing/network-rows.queries.ts";
import { make, makeId } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestClient, type TestServer } from "../../testing/test-server.ts";

let server: TestServer;
let client: TestClient;
let tenantId: string;

beforeAll(async () => {
  server = await sharedTestServer();
});
beforeEach(async () => {
  const tenant = await server.newTenant();
  client = tenant.client;
  tenantId = tenant.id;
});

const pathOf = (id: string, gatewayId: string) => `/tenants/resources/${id}/gateways/${gatewayId}`;
const connect = (id: string, gatewayId: string, headers = {}) => client.put(pathOf(id, gatewayId), undefined, headers);
const disconnect = (id: string, gatewayId: string, headers = {}) => client.delete(pathOf(id, gatewayId), headers);
const makeGateways = (count: number) => Promise.all(Array.from({ length: count }, () => makeId("gateway", client)));

async function gatewaysOf(id: string): Promise<string[]> {
  const { body } = await client.get(`/tenants/resources/${id}`);
  return body.gateways.map((gateway: { id: string }) => gateway.id);
}

describe("connecting a gateway to a resource", () => {
  test("puts it last in the order of priority, and raises the resource's version alone", async () => {
    const { id, name } = await make("resource", client);
    const [first = "", second = ""] = await makeGateways(2);
    await client.must.post(`/tenants/resources/${id}/loadBalancing`, {
      loadBalancingMode: "AUTOMATIC",
      gateways: [second],
    });
    expect(await connect(id, first)).toMatchObject({ status: 204, text: "", headers: { etag: '"3"' } });
    expect(await gatewaysOf(id)).toEqual([second, first]);
    expect((await client.get(`/tenants/resources/${id}`)).body.loadBalancingMode).toBe("AUTOMATIC");
    const gateway = await client.get(`/tenants/gateways/${first}`);
    expect(gateway).toMatchObject({ headers: { etag: '"1"' }, body: { resources: [{ id, name }] } });
    const { body } = await client.get("/tenants/events?filter[operation]=connectGateway");
    expect(body.data).toMatchObject([
      {
        target: { type: "resource", id, name },
        before: { gateways: [{ id: second }] },
        after: { gateways: [{ id: second }, { id: first, token: "<redacted>" }] },
      },
    ]);
  });

  test("repeated keeps order, version and record, but checks If-Match", async () => {
    const id = await makeId("resource", client);
    const gateways = await makeGateways(2);
    for (const gateway of gateways) await connect(id, gateway);
    const [first = ""] = gateways;
    expect(await connect(id, first.toUpperCase())).toMatchObject({ status: 204, headers: { etag: '"3"' } });
    expect(await gatewaysOf(id)).toEqual(gateways);
    expect(await connect(id, first, { "if-match": '"2"' })).toMatchObject({ status: 412 });
    expect((await client.get("/tenants/events?filter[operation]=connectGateway")).body.total).toBe(2);
  });

  test("many times at once connects each once, without gaps in the order", async () => {
    const id = await makeId("resource", client);
    const gateways = await makeGateways(4);
    const replies = await Promise.all([...gateways, ...gateways, ...gateways].map((gateway) => connect(id, gateway)));
    expect(replies.map(({ status }) => status)).toEqual(Array(12).fill(204));
    expect((await gatewaysOf(id)).sort()).toEqual([...gateways].sort());
    expect(await prioritiesOf(server, tenantId, id)).toEqual([0, 1, 2, 3]);
    expect((await client.get(`/tenants/resources/${id}`)).headers.etag).toBe('"5"');
  });

  test("closes the gaps of disconnected and deleted gateways", async () => {
    const id = await makeId("resource", client);
    const [a = "", b = "", c = "", d = "", e = ""] = await makeGateways(5);
    for (const gateway of [a, b, c, d]) await connect(id, gateway);
    await disconnect(id, a);
    await client.must.delete(`/tenants/gateways/${c}`);
    await connect(id, e);
    await connect(id, a);
    expect(await gatewaysOf(id)).toEqual([b, d, e, a]);
    expect(await prioritiesOf(server, tenantId, id)).toEqual([0, 1, 2, 3]);
  });

  test("is refused beyond 500", async () => {
    const id = await makeId("resource", client);
    await insertGateways(server, tenantId, 501);
    const without = server.client(await keyWithoutTokens());
    const gateways: string[] = (await without.get("/tenants/gateways")).body.map(
      (gateway: { id: string }) => gateway.id,
    );
    const body = { loadBalancingMode: "MANUAL", gateways: gateways.slice(0, 499) };
    expect(await without.post(`/tenants/resources/${id}/loadBalancing`, body)).toMatchObject({ status: 204 });
    const [last = "", beyond = ""] = gateways.slice(499);
    const replies = await Promise.all([last, beyond].map((gateway) => without.put(pathOf(id, gateway))));
    expect(replies.map(({ status }) => status).sort()).toEqual([204, 409]);
    expect(replies.find(({ status }) => status === 409)?.body.code).toBe("resource_full");
    // A connected gateway keeps its connection.
    expect(await without.put(pathOf(id, gateways[0] ?? ""))).toMatchObject({ status: 204 });
  });

  /** Rows without a valid token cannot be shown to callers that may see tokens. */
  async function keyWithoutTokens(): Promise<string> {
    const permissions = ["gateways:read", "resources:read", "resources:write"];
    return (await client.post("/tenants/api-keys", { name: "Without tokens", permissions })).body.key;
  }
});

describe("disconnecting a gateway from a resource", () => {
  test("keeps the order of the others, and answers 404 for a gateway that is not connected", async () => {
    const { id } = await make("resource", client);
    const [a = "", b = "", c = ""] = await makeGateways(3);
    for (const gateway of [a, b, c]) await connect(id, gateway);
    expect(await disconnect(id, b)).toMatchObject({ status: 204, text: "" });
    expect(await gatewaysOf(id)).toEqual([a, c]);
    expect((await client.get(`/tenants/resources/${id}`)).headers.etag).toBe('"5"');
    expect(await disconnect(id, b, { "if-match": '"0"' })).toMatchObject({ status: 404 });
    expect(await disconnect(id, a, { "if-match": '"4"' })).toMatchObject({ status: 412 });
    expect(await client.get(`/tenants/gateways/${b}`)).toMatchObject({ status: 200, body: { resources: [] } });
    const { body } = await client.get("/tenants/events?filter[operation]=disconnectGateway");
    expect(body.data).toMatchObject([{ before: { gateways: [{ id: a }, { id: b }, { id: c }] }, after: { id } }]);
  });

  test("and connecting the same gateway concurrently causes no error", async () => {
    const id = await makeId("resource", client);
    const [stays = "", moves = ""] = await makeGateways(2);
    await connect(id, stays);
    for (let round = 0; round < 6; round += 1) {
      const replies = await Promise.all([
        connect(id, moves),
        disconnect(id, moves),
        connect(id, moves),
        disconnect(id, moves),
      ]);
      const statuses = replies.map(({ status }) => status);
      expect([statuses[0], statuses[2]]).toEqual([204, 204]);
      for (const status of statuses) expect([204, 404]).toContain(status);
      expect([[stays], [stays, moves]]).toContainEqual(await gatewaysOf(id));
    }
  });

  test("and connecting race with deleting gateways and replacing the whole list", async () => {
    const id = await makeId("resource", client);
    for (let round = 0; round < 6; round += 1) {
      const [a = "", b = "", c = ""] = await makeGateways(3);
      await connect(id, a);
      await connect(id, b);
      const replies = await Promise.all([
        connect(id, c),
        disconnect(id, b),
        client.delete(`/tenants/gateways/${a}`),
        client.delete(`/tenants/gateways/${c}`),
        client.post(`/tenants/resources/${id}/loadBalancing`, { loadBalancingMode: "MANUAL", gateways: [b, a] }),
      ]);
      for (const { status } of replies) expect([204, 404, 422]).toContain(status);
      expect(replies.slice(2, 4).map(({ status }) => status)).toEqual([204, 204]);
      expect([[], [b]]).toContainEqual((await gatewaysOf(id)).filter((gateway) => [a, b, c].includes(gateway)));
    }
  });
});
