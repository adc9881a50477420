/** Tasks of administrators over HTTP with the client. */
import { GatehouseError } from "@gatehouse/client/errors";
import type { Gatehouse } from "@gatehouse/client/gatehouse";
import { countedPaths, pagedPaths } from "@gatehouse/client/generated/api";
import { until } from "@gatehouse/server/testing/until";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { allOf, type ListeningServer, startListeningServer } from "./listening-server.ts";

let server: ListeningServer;
let gatehouse: Gatehouse;

beforeAll(async () => {
  server = await startListeningServer();
});
afterAll(() => server.close());
beforeEach(async () => {
  ({ gatehouse } = await server.newTenant());
});

/** Returns the error of a call. */
async function refusal(call: Promise<unknown>): Promise<GatehouseError> {
  const error = await call.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  if (!(error instanceof GatehouseError)) throw new Error("the call did not fail", { cause: error });
  return error;
}

async function failsWith401(client: Gatehouse): Promise<boolean> {
  return client.get("/tenants/resources").then(
    () => false,
    (error: unknown) => error instanceof GatehouseError && error.status === 401,
  );
}

/** Creates a gateway and a resource that it serves. */
async function setUpNetwork() {
  const gateway = await gatehouse.post("/tenants/gateways", { body: { name: "Office", wireguardPort: "51820" } });
  const protocol = await gatehouse.post("/tenants/protocols", {
    body: { networkProtocols: [{ protocol: "TCP", port: 8443 }] },
  });
  const resource = await gatehouse.post("/tenants/resources", {
    body: {
      name: "Build server",
      type: "PRIVATE",
      addresses: [{ address: "build.example.com", protocols: [protocol.id] }],
    },
  });
  await gatehouse.post("/tenants/resources/{id}/loadBalancing", {
    path: { id: resource.id },
    body: { loadBalancingMode: "AUTOMATIC", gateways: [gateway.id] },
  });
  return { gateway, protocol, resource };
}

test("an administrator sets up users, network and policy, and finds all changes in the audit record", async () => {
  const group = await gatehouse.post("/tenants/groups", { body: { name: "Engineering", roles: [] } });
  const people = await gatehouse.postMany("/tenants/users", {
    body: [1, 2, 3].map((number) => ({ email: `engineer-${number}@example.com`, groups: [group.id] })),
  });
  const { gateway, protocol, resource } = await setUpNetwork();
  const rule = await gatehouse.post("/tenants/admission-rules", {
    body: { name: "Linux only", rule: "device.os == 'Linux'", hasTimeConstraint: false },
  });
  const policy = await gatehouse.post("/tenants/policies", {
    body: {
      name: "Engineers build",
      type: "PRIVATE",
      action: true,
      groups: [group.id],
      resources: [resource.id],
      rule: rule.id,
    },
  });
  expect(policy).toMatchObject({ groups: [{ name: "Engineering" }], resources: [{ name: "Build server" }] });

  const found = await gatehouse.get("/tenants/resources/{id}", { path: { id: resource.id } });
  expect(found).toMatchObject({ loadBalancingMode: "AUTOMATIC", gateways: [{ name: "Office" }] });
  const members = gatehouse.list("/tenants/users", { query: { "filter[groups.id]": group.id, sort: ["-email"] } });
  expect((await allOf(members)).map(({ email }) => email)).toEqual(people.map(({ email }) => email).reverse());

  const operations = (await allOf(gatehouse.list("/tenants/events"))).map(({ operation }) => operation);
  expect(operations).toEqual(
    expect.arrayContaining([
      "createGroup",
      "createUsers",
      "createGateway",
      "createProtocol",
      "createResource",
      "configureLoadBalancing",
      "createAdmissionRule",
      "createPolicy",
    ]),
  );
  const ofProtocol = await gatehouse.get("/tenants/events", { query: { "filter[target.id]": protocol.id } });
  expect(ofProtocol.data).toMatchObject([{ operation: "createProtocol", target: { name: "TCP/8443" } }]);
  expect(gateway.status).toBe("PENDING");
});

test("a user joins, enrols a device, is deactivated, returns and leaves", async () => {
  const invited = await gatehouse.post("/tenants/users", { body: { email: "joining@example.com" } });
  expect(invited.status).toBe("pending");
  const path = { id: invited.id };
  const device = await gatehouse.post("/tenants/devices", {
    body: {
      name: "Laptop",
      userId: invited.id,
      hardwareId: "C02XK0AAJGH5",
      publicKey: Buffer.from(invited.id.replaceAll("-", "")).toString("base64"),
    },
  });
  expect(await gatehouse.get("/tenants/users/{id}", { path })).toMatchObject({
    status: "active",
    devices: [{ id: device.id }],
  });

  await gatehouse.patch("/tenants/users/{id}/deactivate", { path });
  const cutOff = await gatehouse.get("/tenants/devices/{id}", { path: { id: device.id } });
  expect(cutOff.status).toBe("Deactivated");
  expect(await gatehouse.post("/tenants/users/{id}/reactivate", { path })).toMatchObject({ status: "active" });
  expect((await refusal(gatehouse.post("/tenants/users/{id}/reactivate", { path }))).code).toBe("user_not_deactivated");

  expect(await gatehouse.delete("/tenants/users/{id}", { path })).toBeUndefined();
  expect((await refusal(gatehouse.get("/tenants/users/{id}", { path }))).code).toBe("not_found");
});

test("two administrators change the same resource: the second one fails, reads again, and succeeds", async () => {
  const { resource } = await setUpNetwork();
  const path = { id: resource.id };
  const rename = (name: string, ifMatch: string) =>
    gatehouse.patch("/tenants/resources/{id}", { path, body: { name }, ifMatch });
  const { record, etag } = await gatehouse.read("/tenants/resources/{id}", { path });
  expect(record.name).toBe("Build server");
  await rename("Build farm", etag);

  const refused = await refusal(rename("Build cluster", etag));
  expect(refused).toMatchObject({ code: "precondition_failed", status: 412 });
  expect(refused.requestId).not.toBe("");
  const again = await gatehouse.read("/tenants/resources/{id}", { path });
  expect(again.record.name).toBe("Build farm");
  await rename("Build cluster", again.etag);
  expect(await gatehouse.get("/tenants/resources/{id}", { path })).toMatchObject({ name: "Build cluster" });
});

test("a record in use is not deleted, and the error names its users", async () => {
  const { resource } = await setUpNetwork();
  await gatehouse.post("/tenants/policies", {
    body: { name: "Everyone builds", type: "PRIVATE", action: true, allUsers: true, resources: [resource.id] },
  });
  const refused = await refusal(gatehouse.delete("/tenants/resources/{id}", { path: { id: resource.id } }));
  expect(refused.code).toBe("resource_in_use");
  expect(refused.errors).toMatchObject([{ message: "Everyone builds" }]);
});

test("an interrupted program repeats its request with its key and creates nothing twice", async () => {
  const options = { body: { name: "Engineering" }, idempotencyKey: "import of 2030-01-31, line 1" };
  const first = await gatehouse.post("/tenants/groups", options);
  expect(await gatehouse.post("/tenants/groups", options)).toEqual(first);
  const other = gatehouse.post("/tenants/groups", { ...options, body: { name: "Sales" } });
  expect((await refusal(other)).code).toBe("idempotency_key_reused");
});

test("a restricted key can do only what it allows, and nothing after its revocation", async () => {
  const made = await gatehouse.post("/tenants/api-keys", {
    body: { name: "Dashboard", permissions: ["resources:read"] },
  });
  const dashboard = server.client(made.key);
  expect(await allOf(dashboard.list("/tenants/resources"))).toEqual([]);
  expect((await refusal(dashboard.get("/tenants/users"))).code).toBe("permission_denied");
  await gatehouse.delete("/tenants/api-keys/{id}", { path: { id: made.id } });
  await until("the key has stopped working", () => failsWith401(dashboard));
});

test("one tenant's ids do not exist in another", async () => {
  const { resource } = await setUpNetwork();
  const other = (await server.newTenant()).gatehouse;
  const refused = await refusal(other.get("/tenants/resources/{id}", { path: { id: resource.id } }));
  expect(refused.code).toBe("not_found");
});

test("the operator creates a tenant, finds it, passes on its key, and deletes it", async () => {
  const { tenant, apiKey } = await server.operator.post("/operator/tenants", {
    body: { name: `Example ${crypto.randomUUID()}`, ownerEmail: "owner@example.com" },
  });
  const found = await allOf(server.operator.list("/operator/tenants", { query: { "filter[name]": tenant.name } }));
  expect(found).toEqual([tenant]);
  const owner = server.client(apiKey.key);
  expect(await allOf(owner.list("/tenants/users"))).toMatchObject([{ email: "owner@example.com" }]);
  await server.operator.delete("/operator/tenants/{id}", { path: { id: tenant.id } });
  await until("the tenant's key has stopped working", () => failsWith401(owner));
});

describe("a list longer than its pages", () => {
  beforeEach(async () => {
    for (const hundred of [0, 1]) {
      const emails = Array.from({ length: 100 }, (_, one) => ({ email: `person-${hundred}-${one}@example.com` }));
      await gatehouse.postMany("/tenants/users", { body: emails });
    }
  });

  test("is read to its end, ordered by id or in a custom order", async () => {
    const ids = (await allOf(gatehouse.list("/tenants/users"))).map(({ id }) => id);
    expect(new Set(ids).size).toBe(201);
    expect(ids).toEqual([...ids].sort());
    const byEmail = await allOf(gatehouse.list("/tenants/users", { query: { sort: ["-email"] } }));
    expect(byEmail.map(({ email }) => email)).toEqual(
      byEmail
        .map(({ email }) => email)
        .sort()
        .reverse(),
    );
    expect(byEmail).toHaveLength(201);
  });

  test("skips no item if items that were read are deleted meanwhile", async () => {
    const invited = gatehouse.list("/tenants/users", { query: { "filter[email][ilike]": "person-%" } });
    for await (const { id } of invited) await gatehouse.delete("/tenants/users/{id}", { path: { id } });
    expect(await allOf(gatehouse.list("/tenants/users"))).toMatchObject([{ email: "owner@example.com" }]);
  });
});

test("a list without pages is read like one with pages", async () => {
  await setUpNetwork();
  expect(await allOf(gatehouse.list("/tenants/gateways"))).toMatchObject([{ name: "Office" }]);
});

test.each(pagedPaths.filter((path) => !countedPaths.includes(path)))(
  "%s can be read by id, as the client does",
  async (path) => {
    const client = path.startsWith("/operator") ? server.operator : gatehouse;
    const query = { "filter[id][gt]": "ffffffff-ffff-ffff-ffff-ffffffffffff", sort: ["id"] };
    const { id } = await gatehouse.post("/tenants/webhooks", { body: { url: "https://hooks.example.com/" } });
    // The table has strings, each the path of a list, some of them of a webhook.
    const all = client.list(path as "/tenants/webhooks/{id}/deliveries", { path: { id }, query });
    expect(await allOf(all)).toEqual([]);
  },
);
