import { beforeAll, describe, expect, test } from "vitest";
import { insertGateways } from "../../testing/network-rows.queries.ts";
import { make, makeId, unique } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestClient, type TestReply, type TestServer } from "../../testing/test-server.ts";

const unknownId = "01890000-0000-7000-8000-000000000000";

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

describe("creating a gateway", () => {
  test("answers with the complete record and its location", async () => {
    const name = unique("Gateway");
    const made = await client.post("/tenants/gateways", {
      name: `  ${name}\t`,
      wireguardPort: "51820",
      description: "In the data centre.",
      endpoint: "Gateway.Example.com",
    });
    expect(made).toMatchObject({
      status: 201,
      headers: { etag: '"1"', location: `/tenants/gateways/${made.body.id}` },
    });
    expect(made.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      createdAt: expect.any(String),
      updatedAt: made.body.createdAt,
      deployedOn: null,
      name,
      description: "In the data centre.",
      wireguardPort: "51820",
      status: "PENDING",
      token: expect.stringMatching(/^gatehouse_gw_[0-9A-Za-z]{49}$/),
      relayEnabled: false,
      endpoint: "gateway.example.com",
      autoDiscoverEndpoint: false,
      resources: [],
    });
    const read = await client.get(`/tenants/gateways/${made.body.id}`);
    expect(read).toMatchObject({ status: 200, headers: { etag: '"1"' }, body: made.body });
  });

  test.each([[{}], [{ endpoint: "" }]])("discovers the endpoint if %j contains none", async (fields) => {
    const made = await makeGateway(fields);
    expect(made).toMatchObject({ autoDiscoverEndpoint: true });
    expect(made).not.toHaveProperty("endpoint");
  });

  test("omits optional fields without a value", async () => {
    const made = await makeGateway({ description: "" });
    for (const field of ["description", "endpoint", "error", "lastOnline"]) expect(made).not.toHaveProperty(field);
  });

  test("generates a different token for each gateway", async () => {
    const [one, two] = await Promise.all([makeGateway(), makeGateway()]);
    expect(one.token).not.toBe(two.token);
  });

  test.each(["192.0.2.0/24", "*.example.com", "gateway.example.com:51820", "not a host"])(
    "refuses the endpoint %j",
    async (endpoint) => {
      const reply = await client.post("/tenants/gateways", { name: unique("Gateway"), wireguardPort: "1", endpoint });
      expect(reply).toMatchObject({ status: 422, body: { code: "invalid_address" } });
      expect(reply.body.errors).toEqual([{ pointer: "/endpoint", message: expect.any(String) }]);
    },
  );

  test("refuses a name that another gateway has, even for two at once", async () => {
    const { name } = await makeGateway();
    const reply = await client.post("/tenants/gateways", { name, wireguardPort: "51820" });
    expect(reply).toMatchObject({ status: 409, body: { code: "name_taken", errors: [{ pointer: "/name" }] } });
    const contested = unique("Contested");
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => client.post("/tenants/gateways", { name: contested, wireguardPort: "51820" })),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409]);
  });

  test("allows the same name in two tenants", async () => {
    const { name } = await makeGateway();
    const other = await server.newTenant();
    expect(await other.client.post("/tenants/gateways", { name, wireguardPort: "51820" })).toMatchObject({
      status: 201,
    });
  });

  test.each([
    ["/name", { name: "" }],
    ["/name", { name: "   " }],
    ["/name", { name: "x".repeat(121) }],
    ["/name", { name: "line\nbreak" }],
    ["/name", { name: undefined }],
    ["/name", { name: 7 }],
    ["/wireguardPort", { wireguardPort: "0" }],
    ["/wireguardPort", { wireguardPort: "65536" }],
    ["/wireguardPort", { wireguardPort: "051820" }],
    ["/wireguardPort", { wireguardPort: 51820 }],
    ["/wireguardPort", { wireguardPort: "51820 " }],
    ["/wireguardPort", { wireguardPort: undefined }],
    ["/description", { description: "x".repeat(1001) }],
    ["/endpoint", { endpoint: "x".repeat(256) }],
    ["/endpoint", { endpoint: null }],
    ["/token", { token: "gatehouse_gw_mine" }],
    ["/status", { status: "ONLINE" }],
  ])("refuses with 400 at %s: %j", async (pointer, fields) => {
    const body = { name: unique("Gateway"), wireguardPort: "51820", ...fields };
    const reply = await client.post("/tenants/gateways", body);
    expect(reply).toMatchObject({ status: 400, body: { code: "invalid_body", errors: [{ pointer }] } });
  });

  test.each(["1", "65535"])("takes port %s", async (wireguardPort) => {
    expect(await makeGateway({ wireguardPort })).toMatchObject({ wireguardPort });
  });
});

describe("reading gateways", () => {
  test("lists all of them in order of creation, with their resources sorted by name", async () => {
    const { client: own } = await server.newTenant();
    expect((await own.get("/tenants/gateways")).body).toEqual([]);
    const made = [await make("gateway", own), await make("gateway", own), await make("gateway", own)];
    const resources = [];
    for (const name of ["zeta", "Alpha", "beta"]) {
      const { body } = await own.post("/tenants/resources", { name, type: "PRIVATE", addresses: [] });
      await own.must.post(`/tenants/resources/${body.id}/loadBalancing`, {
        loadBalancingMode: "MANUAL",
        gateways: [made[1].id],
      });
      resources.push({ id: body.id, name });
    }
    const list = await own.get("/tenants/gateways");
    expect(list.status).toBe(200);
    expect(list.headers.etag).toMatch(/^W\//);
    const [zeta, alpha, beta] = resources;
    expect(list.body).toEqual([made[0], { ...made[1], resources: [alpha, beta, zeta] }, made[2]]);
    expect((await own.get(`/tenants/gateways/${made[1].id}`)).body).toEqual(list.body[1]);
  });

  test("lists more gateways than one batch holds, each once", async () => {
    const { client: own, id: tenantId } = await server.newTenant();
    await insertGateways(server, tenantId, 501);
    const key = server.client(await keyOf(own, "gateways:read"));
    const { body } = await key.get("/tenants/gateways");
    expect(new Set(body.map(({ id }: { id: string }) => id)).size).toBe(501);
  });

  test("omits the resources of gateways that a resource embeds", async () => {
    const gateway = await makeGateway();
    const resource = await make("resource", client);
    await connect(resource.id, [gateway.id]);
    const { body } = await client.get(`/tenants/resources/${resource.id}`);
    const { resources: _, ...embedded } = gateway;
    expect(body.gateways).toEqual([embedded]);
  });

  test("answers 404 for an unknown id or another tenant's, and 400 for an invalid id", async () => {
    const foreign = await makeId("gateway", (await server.newTenant()).client);
    for (const id of [unknownId, foreign]) {
      expect(await client.get(`/tenants/gateways/${id}`)).toMatchObject({ status: 404, body: { code: "not_found" } });
    }
    expect(await client.get("/tenants/gateways/7")).toMatchObject({ status: 400, body: { code: "invalid_parameter" } });
  });

  test("refuses to sort, because the list has one order", async () => {
    expect(await client.get("/tenants/gateways?sort=name")).toMatchObject({ status: 400 });
  });
});

async function keyOf(owner: TestClient, ...permissions: string[]): Promise<string> {
  const { status, body } = await owner.post("/tenants/api-keys", { name: unique("Key"), permissions });
  expect(status).toBe(201);
  return body.key;
}

describe("updating a gateway", () => {
  test("changes given fields and keeps the rest, including its token", async () => {
    const made = await makeGateway({ description: "Rack 4", endpoint: "gateway.example.com" });
    const reply = await client.put(`/tenants/gateways/${made.id}`, { wireguardPort: "443" });
    expect(reply).toMatchObject({ status: 200, headers: { etag: '"2"' } });
    expect(reply.body).toEqual({ ...made, wireguardPort: "443", updatedAt: reply.body.updatedAt });
    const name = unique("Renamed");
    const renamed = await client.put(`/tenants/gateways/${made.id}`, { name });
    expect(renamed.body).toMatchObject({ name, wireguardPort: "443", description: "Rack 4" });
    expect((await client.get(`/tenants/gateways/${made.id}`)).body).toEqual(renamed.body);
  });

  test('clears optional fields with ""', async () => {
    const made = await makeGateway({ description: "Rack 4", endpoint: "gateway.example.com" });
    const { body } = await client.put(`/tenants/gateways/${made.id}`, { description: "", endpoint: "" });
    expect(body.autoDiscoverEndpoint).toBe(true);
    expect(body).not.toHaveProperty("description");
    expect(body).not.toHaveProperty("endpoint");
  });

  test("sets an endpoint in canonical form", async () => {
    const { id } = await makeGateway();
    const { body } = await client.put(`/tenants/gateways/${id}`, { endpoint: "2001:DB8::0:1" });
    expect(body).toMatchObject({ endpoint: "2001:db8::1", autoDiscoverEndpoint: false });
  });

  test("keeps its resources, and shows them in the answer", async () => {
    const { id } = await makeGateway();
    const resource = await make("resource", client);
    await connect(resource.id, [id]);
    const { body } = await client.put(`/tenants/gateways/${id}`, { description: "Busy" });
    expect(body.resources).toEqual([{ id: resource.id, name: resource.name }]);
  });

  test("without a difference returns the record, and records nothing", async () => {
    const made = await makeGateway({ description: "Rack 4", endpoint: "gateway.example.com" });
    const path = `/tenants/gateways/${made.id}`;
    const same = {
      name: made.name,
      description: "Rack 4",
      wireguardPort: "51820",
      endpoint: "Gateway.Example.com",
    };
    expect(await client.put(path, same, { "if-match": '"2"' })).toMatchObject({ status: 412 });
    for (const body of [same, {}]) {
      const reply = await client.put(path, body, { "if-match": '"1"' });
      expect(reply).toMatchObject({ status: 200, headers: { etag: '"1"' } });
      expect(reply.body).toEqual(made);
    }
    expect((await client.get(`/tenants/events?filter[target.id]=${made.id}`)).body.total).toBe(1);
  });

  test("accepts its own name again, and refuses another gateway's", async () => {
    const [one, two] = [await makeGateway(), await makeGateway()];
    expect(await client.put(`/tenants/gateways/${one.id}`, { name: one.name })).toMatchObject({ status: 200 });
    const reply = await client.put(`/tenants/gateways/${one.id}`, { name: two.name });
    expect(reply).toMatchObject({ status: 409, body: { code: "name_taken" } });
  });

  test("refuses an endpoint that is not a single host", async () => {
    const { id } = await makeGateway();
    const reply = await client.put(`/tenants/gateways/${id}`, { endpoint: "192.0.2.0/24" });
    expect(reply).toMatchObject({ status: 422, body: { code: "invalid_address", errors: [{ pointer: "/endpoint" }] } });
  });

  test("checks 404, then 412, then the fields", async () => {
    const { id } = await makeGateway();
    const bad = { endpoint: "192.0.2.0/24" };
    expect(await client.put(`/tenants/gateways/${unknownId}`, bad)).toMatchObject({ status: 404 });
    const stale = await client.put(`/tenants/gateways/${id}`, bad, { "if-match": '"7"' });
    expect(stale).toMatchObject({ status: 412, body: { code: "precondition_failed" } });
    expect(await client.put(`/tenants/gateways/${id}`, {}, { "if-match": "*" })).toMatchObject({ status: 200 });
    expect(await client.put(`/tenants/gateways/${id}`, {}, { "if-match": 'W/"1"' })).toMatchObject({ status: 412 });
    expect(await client.put(`/tenants/gateways/${id}`, {}, { "if-match": '"9", "1"' })).toMatchObject({ status: 200 });
  });

  test("accepts exactly one of several concurrent writes with the same ETag", async () => {
    const { id } = await makeGateway();
    const replies = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        client.put(`/tenants/gateways/${id}`, { description: `Writer ${index}` }, { "if-match": '"1"' }),
      ),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412, 412, 412]);
  });
});
