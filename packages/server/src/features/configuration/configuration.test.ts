import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type ConfigurationCalls,
  configurationCalls,
  configurationPath,
  defaultGroup,
  owner,
  whole,
} from "../../testing/example-configuration.ts";
import { eventsOf, generationOf } from "../../testing/operations/recorded.queries.ts";
import { make } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestClient, type TestServer, type TestTenant } from "../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;
let client: TestClient;
let calls: ConfigurationCalls;

beforeAll(async () => {
  server = await sharedTestServer();
});
beforeEach(async () => {
  tenant = await server.newTenant();
  ({ client } = tenant);
  calls = configurationCalls(client);
});

describe("readConfiguration", () => {
  test("exports the default records of a new tenant, without built-in ones", async () => {
    const { status, body, headers } = await client.get(configurationPath);
    expect(status).toBe(200);
    expect(headers.etag).toBe(`"${await generationOf(server.database, tenant.id)}"`);
    expect(body).toEqual({
      version: 1,
      groups: [defaultGroup],
      users: [owner],
      protocols: [],
      gateways: [],
      resources: [],
      admissionRules: [],
      policies: { PRIVATE: [], SAAS: [], INTERNET: [], SITETOSITE: [] },
      defaultInternetPolicy: {
        mode: "LOCAL",
        description: "What happens to internet traffic that no other policy decides.",
      },
      identityProviders: [],
      settings: {},
    });
  });

  test("omits sections that the key may not read", async () => {
    const key = await tenant.keyWith("configuration:read", "resources:read", "policies:read");
    const body = await configurationCalls(server.client(key)).exported();
    expect(Object.keys(body)).toEqual(["version", "resources", "policies", "defaultInternetPolicy"]);
  });

  test("names devices of policies by public key, with the name for people", async () => {
    const device = await make("device", client);
    const policy = { name: "For one", type: "PRIVATE", action: true, devices: [device.id] };
    await client.must.post("/tenants/policies", policy);
    const { policies } = await calls.exported();
    expect(policies.PRIVATE).toEqual([
      { name: "For one", action: true, devices: [{ publicKey: device.publicKey, name: device.name }] },
    ]);
    expect((await calls.plan({ policies })).body.changes).toEqual([]);
  });
});

describe("applyConfiguration", () => {
  test("creates one record of each kind, and exports the applied document", async () => {
    const { status, body, headers, text } = await calls.apply(whole);
    expect(status, text).toBe(200);
    expect(body.summary).toEqual({ created: 16, updated: 2, deleted: 0 });
    expect(headers.etag).toBe(`"${body.generation}"`);
    expect(body.generation).toBe(await generationOf(server.database, tenant.id));
    expect(await calls.exported()).toEqual(whole);
    // The records equal those that single operations would have created.
    const { body: users } = await client.get("/tenants/users?filter[email]=ann@example.com");
    expect(users.data[0]).toMatchObject({ status: "pending", firstName: "Ann", maxDevices: 0, isOwner: false });
    const { body: gateways } = await client.get("/tenants/gateways");
    for (const gateway of gateways)
      expect(gateway).toMatchObject({ status: "PENDING", token: expect.stringMatching(/^gatehouse_gw_/) });
  });

  test("changes nothing the second time: no audit entry, no generation, no version", async () => {
    await calls.applied(whole);
    const generation = await generationOf(server.database, tenant.id);
    const reply = await calls.apply(whole);
    expect(reply.body).toEqual({ generation, summary: { created: 0, updated: 0, deleted: 0 }, changes: [] });
    expect(await generationOf(server.database, tenant.id)).toBe(generation);
    expect(await eventsOf(server.database, tenant.id, reply.headers["x-request-id"] ?? "")).toEqual([]);
  });

  test("deletes everything again, except for default records", async () => {
    const empty = await calls.exported();
    await calls.applied(whole);
    await calls.applied(empty);
    expect(await calls.exported()).toEqual(empty);
    const { body } = await client.get("/tenants/protocols");
    expect(body).toHaveLength(11);
  });

  test("does not change sections that are missing in the document", async () => {
    await calls.applied(whole);
    const generation = await generationOf(server.database, tenant.id);
    await calls.applied({});
    await calls.applied({ policies: {} });
    expect(await generationOf(server.database, tenant.id)).toBe(generation);
    await calls.applied({ policies: { SAAS: [] } });
    expect(await calls.exported()).toEqual({ ...whole, policies: { ...whole.policies, SAAS: [] } });
  });

  test("writes an audit entry for each changed record, with fields and set differences", async () => {
    await calls.applied(whole);
    const [engineering] = whole.groups.slice(1);
    const changed = { ...engineering, maxDevices: 8, roles: ["BASIC"] };
    const reply = await calls.apply({ groups: [defaultGroup, changed, { name: "Sales" }] });
    expect(reply.body.changes).toEqual([
      {
        action: "update",
        kind: "group",
        name: "Engineering",
        fields: [
          { field: "roles", added: ["BASIC"], removed: ["SUPPORT"] },
          { field: "maxDevices", before: 7, after: 8 },
        ],
      },
      { action: "create", kind: "group", name: "Sales", fields: [] },
    ]);
    const events = await eventsOf(server.database, tenant.id, reply.headers["x-request-id"] ?? "");
    const id = expect.any(String);
    expect(events).toMatchObject([
      {
        operation: "applyConfiguration",
        before: { id, name: "Engineering", roles: ["SUPPORT"], maxDevices: 7 },
        after: { id, name: "Engineering", roles: ["BASIC"], maxDevices: 8 },
      },
      { before: null, after: { id, name: "Sales" } },
    ]);
  });

  test.each([
    ["groups", { groups: [defaultGroup, { ...whole.groups[1], description: "New", idpMapping: [] }] }],
    [
      "the SAML default group",
      {
        groups: [
          { ...defaultGroup, isSamlDefaultGroup: undefined },
          { ...whole.groups[1], isSamlDefaultGroup: true },
        ],
      },
    ],
    [
      "users",
      {
        users: [
          { ...whole.users[0], groups: ["Default", "Engineering"], roles: ["BASIC"], attributes: {} },
          ...whole.users.slice(1),
        ],
      },
    ],
    ["protocols", { protocols: [{ name: "Build", networkProtocols: [{ protocol: "TCP", port: 9443 }] }] }],
    [
      "gateways",
      { gateways: [{ ...whole.gateways[0], endpoint: "192.0.2.1", relayEnabled: undefined }, whole.gateways[1]] },
    ],
    [
      "resources",
      {
        resources: [
          {
            ...whole.resources[0],
            loadBalancingMode: undefined,
            gateways: ["Cloud"],
            addresses: [
              { address: "10.0.0.0/24", protocols: ["SSH", "Build"] },
              { address: "10.1.0.1", protocols: [] },
            ],
          },
          { ...whole.resources[1], gateways: ["Cloud", "Office"] },
        ],
      },
    ],
    ["admission rules", { admissionRules: [whole.admissionRules[0], { name: "Linux", rule: "device.os == 'linux'" }] }],
    [
      "policies",
      {
        policies: {
          ...whole.policies,
          PRIVATE: [
            { ...whole.policies.PRIVATE[1], gateways: ["Cloud"], users: [], active: undefined, rule: undefined },
            whole.policies.PRIVATE[0],
          ],
        },
      },
    ],
    ["the default policy", { defaultInternetPolicy: { mode: "LOCAL" } }],
  ])("changes %s, and their exports say so", async (_what, change) => {
    await calls.applied(whole);
    // Converted to JSON, without undefined fields and without empty ones, which an export omits.
    const wanted = JSON.parse(JSON.stringify({ ...whole, ...change }), (key, value) =>
      key === "sourceIps" || !(Array.isArray(value) && value.length === 0 && key !== "PRIVATE") ? value : undefined,
    );
    const planned = await calls.plan(change);
    const done = await calls.apply(change);
    expect(done.status, done.text).toBe(200);
    expect(done.body.summary.updated).toBeGreaterThan(0);
    expect(planned.body.changes).toEqual(done.body.changes);
    const after = await calls.exported();
    expect({ ...after, users: after.users.map(withoutEmpty) }).toEqual({
      ...wanted,
      users: wanted.users.map(withoutEmpty),
    });
    expect((await calls.plan(change)).body.changes).toEqual([]);
  });

  function withoutEmpty(user: object): object {
    return Object.fromEntries(Object.entries(user).filter(([, value]) => JSON.stringify(value) !== "{}"));
  }

  test("raises the versions of the records that it changes, and of no other", async () => {
    await calls.applied(whole);
    const tags = async () => {
      const ids = (await client.get("/tenants/resources?sort=name")).body.data.map(({ id }: { id: string }) => id);
      return Promise.all(ids.map(async (id: string) => (await client.get(`/tenants/resources/${id}`)).headers.etag));
    };
    expect(await tags()).toEqual(['"1"', '"1"']);
    await calls.applied({ resources: [{ ...whole.resources[0], description: "Other" }, whole.resources[1]] });
    expect(await tags()).toEqual(['"2"', '"1"']);
  });

  test("moves the minimal number of policies, and increments their versions", async () => {
    const named = (...names: string[]) => ({ policies: { INTERNET: names.map((name) => ({ name, action: true })) } });
    await calls.applied(named("A", "B", "C", "D"));
    const { body } = await calls.apply(named("D", "A", "New", "B", "C"));
    const moved = body.changes.filter(({ action }: { action: string }) => action === "update");
    expect(moved.map(({ name }: { name: string }) => name).sort()).toEqual(["D"]);
    const { body: page } = await client.get("/tenants/policies?filter[type]=INTERNET&sort=order");
    expect(page.data.map(({ name, order }: { name: string; order: number }) => [name, order])).toEqual([
      ["D", 1],
      ["A", 2],
      ["New", 3],
      ["B", 4],
      ["C", 5],
      ["Default internet policy", 6],
    ]);
    expect(page.data.at(-1)).toMatchObject({ isDefault: true });
    await calls.applied(named("A"));
    expect((await calls.exported()).policies.INTERNET).toEqual([{ name: "A", action: true }]);
    const { body: last } = await client.get("/tenants/policies?filter[type]=INTERNET&sort=order");
    expect(last.data.map(({ order }: { order: number }) => order)).toEqual([1, 2]);
  });

  test("makes a policy of another type another policy, also under the same name", async () => {
    await calls.applied({ policies: { PRIVATE: [{ name: "P", action: true }], SAAS: [] } });
    const { body } = await calls.apply({ policies: { PRIVATE: [], SAAS: [{ name: "P", action: true }] } });
    expect(body.summary).toEqual({ created: 1, updated: 0, deleted: 1 });
    expect((await calls.exported()).policies).toMatchObject({ PRIVATE: [], SAAS: [{ name: "P", action: true }] });
  });

  test("finds users whatever the letter case of their addresses", async () => {
    await calls.applied({ users: [owner, { email: "Ann@Example.com", firstName: "Ann" }] });
    const reply = await calls.apply({
      users: [{ email: "OWNER@example.com" }, { email: "ann@example.com", firstName: "Ann" }],
      policies: { SAAS: [{ name: "P", action: true, users: ["ANN@EXAMPLE.COM"] }] },
    });
    expect(reply.body.summary).toEqual({ created: 1, updated: 0, deleted: 0 });
    expect((await calls.exported()).users[0].email).toBe("Ann@Example.com");
  });

  test("removes deleted records from records outside the document, like single deletions", async () => {
    const { user, ...device } = await make("device", client);
    const email: string = user.email;
    const userPolicy = {
      name: "For one",
      action: true,
      users: [email, owner.email],
      devices: [{ publicKey: device.publicKey }],
    };
    await calls.applied({ policies: { PRIVATE: [userPolicy] } });
    const reply = await calls.apply({ users: [owner] });
    expect(reply.body.changes).toEqual([
      { action: "delete", kind: "user", name: email, fields: [] },
      {
        action: "update",
        kind: "policy",
        name: "For one",
        policyType: "PRIVATE",
        implied: true,
        fields: [{ field: "users", added: [], removed: [email] }],
      },
    ]);
    const events = await eventsOf(server.database, tenant.id, reply.headers["x-request-id"] ?? "");
    expect(events).toHaveLength(3);
    const { body } = await client.get(`/tenants/devices/${device.id}`);
    expect(body).toMatchObject({ active: false, status: "Deactivated" });
    const { body: page } = await client.get("/tenants/policies?filter[name]=For one");
    expect(page.data[0].users).toHaveLength(1);
    expect((await calls.plan({ users: [owner] })).body.changes).toEqual([]);
  });
});
