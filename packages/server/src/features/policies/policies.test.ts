import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { make, unique } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestClient, type TestServer, type TestTenant } from "../../testing/test-server.ts";

const policies = "/tenants/policies";
const unknownId = "01890000-0000-7000-8000-000000000000";

let server: TestServer;
let tenant: TestTenant;
let client: TestClient;

beforeAll(async () => {
  server = await sharedTestServer();
});
beforeEach(async () => {
  tenant = await server.newTenant();
  client = tenant.client;
});

const makePolicy = async (fields: object = {}) => {
  const reply = await client.post(policies, { name: unique("Policy"), type: "PRIVATE", action: true, ...fields });
  expect(reply.status, reply.text).toBe(201);
  return reply.body;
};
const makeGateway = () => make("gateway", client);
const makeResource = () => make("resource", client);
const makeRule = () => make("admission-rule", client);
const makeGroup = () => make("group", client);
const makeUser = () => make("user", client);
const makeDevice = () => make("device", client);

async function defaultPolicy() {
  const { body } = await client.get(`${policies}?filter[type]=INTERNET&sort=-order&limit=1`);
  return body.data[0];
}

async function builtInRule(type: "ALLOW" | "DENY") {
  const { body } = await client.get("/tenants/admission-rules");
  return body.find((rule: { type: string }) => rule.type === type);
}

/** The expected refusal, with the fields that it lists. */
const refused = (status: number, code: string, ...pointers: string[]) => ({
  status,
  body: { code, ...(pointers.length === 0 ? {} : { errors: pointers.map((pointer) => ({ pointer })) }) },
});

describe("createPolicy", () => {
  test("answers with the complete record, ordered lists and its location", async () => {
    const [firstUser, secondUser] = [await makeUser(), await makeUser()];
    const [group, resource, rule] = [await makeGroup(), await makeResource(), await makeRule()];
    const device = await makeDevice();
    const gateways = [await makeGateway(), await makeGateway(), await makeGateway()].map(({ id }) => id);
    const [one, two, three] = gateways;
    const reply = await client.post(policies, {
      name: " Build machines ",
      type: "PRIVATE",
      action: true,
      users: [secondUser.id, firstUser.id.toUpperCase()],
      groups: [group.id],
      devices: [device.id],
      resources: [resource.id],
      gateways: [three, one, two],
      sourceIps: ["192.0.2.1", "2001:DB8::/32", "192.0.2.1/32", " 198.51.100.0/24 "],
      rule: rule.id,
      description: "For people who build.",
    });
    expect(reply).toMatchObject({
      status: 201,
      headers: { etag: '"1"', location: `${policies}/${reply.body.id}` },
      body: {
        name: "Build machines",
        type: "PRIVATE",
        action: true,
        order: 1,
        isDefault: false,
        active: true,
        allUsers: false,
        users: [{ id: firstUser.id, email: firstUser.email }, { id: secondUser.id }],
        groups: [{ id: group.id, maxDevices: 5 }],
        devices: [{ id: device.id, status: "Offline" }],
        resources: [{ id: resource.id, type: "PRIVATE", createdAt: resource.createdAt }],
        gateways: [{ id: three }, { id: one }, { id: two }],
        sourceIps: ["192.0.2.1", "2001:db8::/32", "198.51.100.0/24"],
        description: "For people who build.",
      },
    });
    expect(reply.body.rule).toEqual(rule);
    expect(reply.body).not.toHaveProperty("mode");
    const read = await client.get(`${policies}/${reply.body.id}`);
    expect(read).toMatchObject({ status: 200, headers: { etag: '"1"' } });
    expect(read.body).toEqual(reply.body);
  });

  test("without rule, flags and lists has no restrictions, principals or destinations", async () => {
    const policy = await makePolicy();
    expect(policy).toMatchObject({ allGroups: false, allUsers: false, allDevices: false, allResources: false });
    expect(policy).toMatchObject({ groups: [], users: [], devices: [], resources: [], gateways: [], sourceIps: [] });
    expect(policy.rule).toEqual(await builtInRule("ALLOW"));
    expect(policy).not.toHaveProperty("description");
  });

  test("places a policy last in its type, before the default policy", async () => {
    expect(await defaultPolicy()).toMatchObject({ order: 1, isDefault: true, mode: "LOCAL" });
    expect(await makePolicy({ type: "INTERNET" })).toMatchObject({ order: 1 });
    expect(await makePolicy({ type: "SAAS" })).toMatchObject({ order: 1 });
    expect(await makePolicy({ type: "INTERNET" })).toMatchObject({ order: 2 });
    expect(await defaultPolicy()).toMatchObject({ order: 3 });
  });

  test("only INTERNET policies have a mode; LOCAL is the default if they allow", async () => {
    expect(await makePolicy({ type: "INTERNET" })).toMatchObject({ mode: "LOCAL" });
    expect(await makePolicy({ type: "INTERNET", action: false })).not.toHaveProperty("mode");
    expect(await makePolicy({ type: "INTERNET", mode: "RESTRICTED" })).toMatchObject({ mode: "RESTRICTED" });
    expect(await makePolicy({ type: "INTERNET", mode: "REMOTE" })).toMatchObject({ mode: "INTERNET_ACCESS_POINT" });
    for (const type of ["PRIVATE", "SAAS", "SITETOSITE"]) {
      const reply = await client.post(policies, { name: unique("Moded"), type, action: true, mode: "LOCAL" });
      expect(reply).toMatchObject(refused(422, "invalid_combination", "/mode"));
    }
  });

  test("refuses a name that is taken, whatever the type", async () => {
    const { name } = await makePolicy();
    const again = await client.post(policies, { name, type: "SAAS", action: true });
    expect(again).toMatchObject(refused(409, "name_taken", "/name"));
    expect(await makePolicy({ type: "SAAS" })).toMatchObject({ order: 1 });
  });

  test("names every id that does not exist, in every field", async () => {
    const user = await makeUser();
    const foreign = await (await server.newTenant()).client.get("/tenants/admission-rules");
    const reply = await client.post(policies, {
      name: "Lost",
      type: "PRIVATE",
      action: true,
      groups: [unknownId],
      users: [user.id, unknownId],
      devices: [unknownId],
      resources: [unknownId],
      gateways: [unknownId],
      rule: foreign.body[0].id,
    });
    const fields = ["/groups/0", "/users/1", "/devices/0", "/resources/0", "/gateways/0", "/rule"];
    expect(reply).toMatchObject(refused(422, "unknown_reference", ...fields));
  });

  test("refuses source addresses that are invalid, or have bits beyond their prefix", async () => {
    const sourceIps = ["192.0.2.1", "host.example.com", "192.0.2.7/24"];
    const reply = await client.post(policies, { name: "Sources", type: "PRIVATE", action: true, sourceIps });
    expect(reply).toMatchObject(refused(422, "invalid_address", "/sourceIps/1", "/sourceIps/2"));
  });

  test("SITETOSITE has no sources", async () => {
    const [user, group] = [await makeUser(), await makeGroup()];
    const device = await makeDevice();
    const reply = await client.post(policies, {
      name: "Sites",
      type: "SITETOSITE",
      action: true,
      allGroups: true,
      allUsers: true,
      allDevices: true,
      groups: [group.id],
      users: [user.id],
      devices: [device.id],
    });
    const fields = ["/allGroups", "/allUsers", "/allDevices", "/groups", "/users", "/devices"];
    expect(reply).toMatchObject(refused(422, "invalid_combination", ...fields));
    expect(await makePolicy({ type: "SITETOSITE", users: [], allUsers: false })).toMatchObject({ order: 1 });
  });

  test("may list resources of any type, which determines the policy list that is evaluated", async () => {
    const resource = await makeResource();
    for (const type of ["PRIVATE", "SAAS", "INTERNET", "SITETOSITE"]) {
      expect(await makePolicy({ type, resources: [resource.id] })).toMatchObject({ resources: [{ type: "PRIVATE" }] });
    }
  });

  test("a policy that denies carries no rule but the built-in ALLOW", async () => {
    const [allow, deny, custom] = [await builtInRule("ALLOW"), await builtInRule("DENY"), await makeRule()];
    expect(await makePolicy({ action: false, rule: allow.id })).toMatchObject({ rule: { id: allow.id } });
    expect(await makePolicy({ action: true, rule: deny.id })).toMatchObject({ rule: { id: deny.id } });
    for (const { id } of [deny, custom]) {
      const reply = await client.post(policies, { name: "No", type: "PRIVATE", action: false, rule: id });
      expect(reply).toMatchObject(refused(422, "invalid_combination", "/rule"));
    }
  });
});

describe("gateway tokens", () => {
  test("are shown to keys that may see them, and never recorded", async () => {
    const gateway = await makeGateway();
    const policy = await makePolicy({ gateways: [gateway.id] });
    expect(policy.gateways[0].token).not.toBe("<redacted>");
    const reader = server.client(await tenant.keyWith("policies:read"));
    expect((await reader.get(`${policies}/${policy.id}`)).body.gateways[0].token).toBe("<redacted>");
    const page = await reader.get(`${policies}?filter[id]=${policy.id}`);
    expect(page.body.data[0].gateways[0].token).toBe("<redacted>");
    expect((await client.get(`${policies}/${policy.id}`)).body).toEqual(policy);
    expect((await client.get(`${policies}?filter[id]=${policy.id}`)).body.data).toEqual([policy]);
    await client.must.patch(`${policies}/${policy.id}`, { description: "Changed" });
    const events = await client.get("/tenants/events?limit=100");
    expect(events.text).toContain("<redacted>");
    expect(events.text).not.toContain(policy.gateways[0].token);
  });
});

describe("listPolicies", () => {
  test("sorts, filters and counts", async () => {
    const [user, group] = [await makeUser(), await makeGroup()];
    const [resource, rule] = [await makeResource(), await makeRule()];
    const first = await makePolicy({ name: "banana", users: [user.id], resources: [resource.id] });
    const second = await makePolicy({ name: "Apple", groups: [group.id], rule: rule.id });
    const third = await makePolicy({ name: "cherry", action: false, type: "SAAS" });
    await client.must.patch(`${policies}/${third.id}/deactivate`);

    const names = async (query: string) => {
      const { status, body } = await client.get(`${policies}?${query}`);
      expect(status).toBe(200);
      expect(body.total).toBe(body.data.length);
      return body.data.map(({ name }: { name: string }) => name);
    };
    const byDefault = (await defaultPolicy()).name;
    expect(await names("")).toEqual([byDefault, "banana", "Apple", "cherry"]);
    expect(await names("sort=name")).toEqual(["Apple", "banana", "cherry", byDefault]);
    expect(await names("sort=order:desc&filter[type]=PRIVATE")).toEqual(["Apple", "banana"]);
    expect(await names("sort=-createdAt&filter[type][ne]=INTERNET")).toEqual(["cherry", "Apple", "banana"]);
    expect(await names("filter[active]=false")).toEqual(["cherry"]);
    expect(await names("filter[action]=false")).toEqual(["cherry"]);
    expect(await names("filter[name][ilike]=%25AN%25")).toEqual(["banana"]);
    expect(await names(`filter[id]=${second.id}`)).toEqual(["Apple"]);
    expect(await names(`filter[resources.id]=${resource.id}`)).toEqual(["banana"]);
    expect(await names(`filter[users.id]=${user.id}`)).toEqual(["banana"]);
    expect(await names(`filter[groups.id]=${group.id}`)).toEqual(["Apple"]);
    expect(await names(`filter[rule.id]=${rule.id}`)).toEqual(["Apple"]);
    const { body } = await client.get(`${policies}?filter[id]=${first.id}`);
    expect(body.data).toEqual([first]);
  });
});

describe("updatePolicy", () => {
  test("changes given fields, keeps missing ones, and clears empty ones", async () => {
    const [user, other, group] = [await makeUser(), await makeUser(), await makeGroup()];
    const [gateway, spare] = [await makeGateway(), await makeGateway()];
    const policy = await makePolicy({
      users: [user.id],
      groups: [group.id],
      gateways: [gateway.id, spare.id],
      sourceIps: ["192.0.2.0/24"],
      allDevices: true,
      description: "Before",
    });
    const path = `${policies}/${policy.id}`;
    const renamed = await client.patch(path, { name: "Renamed" }, { "if-match": '"1"' });
    expect(renamed).toMatchObject({ status: 200, headers: { etag: '"2"' } });
    expect(renamed.body).toEqual({ ...policy, name: "Renamed", updatedAt: renamed.body.updatedAt });

    const changed = await client.patch(path, {
      users: [other.id],
      gateways: [spare.id, gateway.id],
      sourceIps: [],
      allDevices: false,
      allResources: true,
      description: "",
    });
    expect(changed.body).toMatchObject({
      users: [{ id: other.id }],
      groups: [{ id: group.id }],
      gateways: [{ id: spare.id }, { id: gateway.id }],
      sourceIps: [],
      allDevices: false,
      allResources: true,
    });
    expect(changed.body).not.toHaveProperty("description");
    expect((await client.patch(path, { users: [], groups: [], gateways: [] })).body).toMatchObject({
      users: [],
      groups: [],
      gateways: [],
    });
    expect((await client.get(path)).headers.etag).toBe('"4"');
    expect(await client.patch(path, { name: "Late" }, { "if-match": '"1"' })).toMatchObject({ status: 412 });
    expect(await client.patch(`${policies}/${unknownId}`, {})).toMatchObject({ status: 404 });
  });

  test("a write without changes keeps version and record", async () => {
    const [user, other] = [await makeUser(), await makeUser()];
    const policy = await makePolicy({ users: [user.id, other.id], sourceIps: ["192.0.2.1"] });
    const same = { name: policy.name, type: "PRIVATE", users: [other.id, user.id], sourceIps: ["192.0.2.1"] };
    for (const body of [{}, same]) {
      const reply = await client.patch(`${policies}/${policy.id}`, body);
      expect(reply).toMatchObject({ status: 200, headers: { etag: '"1"' } });
      expect(reply.body).toEqual(policy);
    }
  });

  test("enforces the combination rules, whichever field changes", async () => {
    const custom = await makeRule();
    const ruled = `${policies}/${(await makePolicy({ rule: custom.id })).id}`;
    const denying = `${policies}/${(await makePolicy({ action: false })).id}`;
    const sites = `${policies}/${(await makePolicy({ type: "SITETOSITE" })).id}`;
    const cases: [path: string, body: object, pointer: string][] = [
      [ruled, { action: false }, "/action"],
      [denying, { rule: custom.id }, "/rule"],
      [ruled, { type: "SAAS" }, "/type"],
      [ruled, { mode: "LOCAL" }, "/mode"],
      [sites, { allUsers: true }, "/allUsers"],
    ];
    for (const [path, body, pointer] of cases) {
      expect(await client.patch(path, body)).toMatchObject(refused(422, "invalid_combination", pointer));
    }
    expect(await client.patch(denying, { rule: custom.id, action: true })).toMatchObject({ status: 200 });
    const allow = await builtInRule("ALLOW");
    expect(await client.patch(ruled, { rule: allow.id, action: false })).toMatchObject({ status: 200 });
    expect(await client.patch(ruled, { users: [unknownId] })).toMatchObject(
      refused(422, "unknown_reference", "/users/0"),
    );
    expect(await client.patch(ruled, { sourceIps: ["here"] })).toMatchObject(
      refused(422, "invalid_address", "/sourceIps/0"),
    );
  });

  test("an INTERNET policy that begins to allow gets a mode", async () => {
    const { id } = await makePolicy({ type: "INTERNET", action: false });
    expect((await client.patch(`${policies}/${id}`, { action: true })).body).toMatchObject({ mode: "LOCAL" });
    expect((await client.patch(`${policies}/${id}`, { mode: "REMOTE" })).body.mode).toBe("INTERNET_ACCESS_POINT");
    expect((await client.patch(`${policies}/${id}`, { action: false })).body.mode).toBe("INTERNET_ACCESS_POINT");
  });

  test("refuses a name that is taken", async () => {
    const [first, second] = [await makePolicy(), await makePolicy()];
    const reply = await client.patch(`${policies}/${second.id}`, { name: first.name });
    expect(reply).toMatchObject(refused(409, "name_taken", "/name"));
  });
});

describe("the default policy", () => {
  test("lets its mode, gateways and description be changed", async () => {
    const { id, name } = await defaultPolicy();
    const gateway = await makeGateway();
    const reply = await client.patch(`${policies}/${id}`, {
      name,
      allUsers: true,
      mode: "REMOTE",
      gateways: [gateway.id],
      description: "Through the office.",
    });
    expect(reply).toMatchObject({
      status: 200,
      body: { mode: "INTERNET_ACCESS_POINT", gateways: [{ id: gateway.id }], description: "Through the office." },
    });
  });

  test("stays otherwise: not renamed, narrowed, turned into a denial, deactivated or deleted", async () => {
    const { id } = await defaultPolicy();
    const rule = await makeRule();
    const kept = refused(409, "policy_is_default");
    const changes = [
      { name: "Mine" },
      { action: false },
      { allUsers: false },
      { sourceIps: ["192.0.2.1"] },
      { rule: rule.id },
    ];
    for (const body of changes) expect(await client.patch(`${policies}/${id}`, body)).toMatchObject(kept);
    expect(await client.patch(`${policies}/${id}/deactivate`)).toMatchObject(kept);
    expect(await client.delete(`${policies}/${id}`)).toMatchObject(kept);
    expect(await client.post(`${policies}/${id}/reactivate`)).toMatchObject(refused(409, "policy_not_deactivated"));
    expect(await client.get(`${policies}/${id}`)).toMatchObject({ headers: { etag: '"1"' } });
  });
});

describe("deletePolicy", () => {
  test("closes the gap in the order, without making others' versions stale", async () => {
    const [first, second, third] = [await makePolicy(), await makePolicy(), await makePolicy()];
    expect(await client.delete(`${policies}/${second.id}`, { "if-match": '"2"' })).toMatchObject({ status: 412 });
    expect(await client.delete(`${policies}/${second.id}`, { "if-match": '"1"' })).toMatchObject({ status: 204 });
    expect(await client.get(`${policies}/${second.id}`)).toMatchObject({ status: 404 });
    expect(await client.delete(`${policies}/${second.id}`)).toMatchObject({ status: 404 });
    expect(await client.get(`${policies}/${first.id}`)).toMatchObject({ body: { order: 1 } });
    expect(await client.get(`${policies}/${third.id}`)).toMatchObject({ body: { order: 2 }, headers: { etag: '"1"' } });
  });
});

describe("deactivating and reactivating", () => {
  test("deactivating is idempotent, reactivating an active policy is not allowed", async () => {
    const policy = await makePolicy();
    const path = `${policies}/${policy.id}`;
    const off = { status: 200, headers: { etag: '"2"' }, body: { active: false } };
    expect(await client.patch(`${path}/deactivate`)).toMatchObject(off);
    expect(await client.patch(`${path}/deactivate`)).toMatchObject(off);
    const on = await client.post(`${path}/reactivate`);
    expect(on).toMatchObject({ status: 201, headers: { etag: '"3"' }, body: { active: true } });
    expect(await client.post(`${path}/reactivate`)).toMatchObject(refused(409, "policy_not_deactivated"));
    expect(await client.patch(`${policies}/${unknownId}/deactivate`)).toMatchObject({ status: 404 });
    expect(await client.post(`${policies}/${unknownId}/reactivate`)).toMatchObject({ status: 404 });
  });

  test("an inactive policy does not block deleting its resources; activating it concurrently does", async () => {
    for (let round = 0; round < 10; round += 1) {
      const resource = await makeResource();
      const policy = await makePolicy({ resources: [resource.id] });
      expect(await client.delete(`/tenants/resources/${resource.id}`)).toMatchObject({ status: 409 });
      await client.must.patch(`${policies}/${policy.id}/deactivate`);
      const [deleted, active] = await Promise.all([
        client.delete(`/tenants/resources/${resource.id}`),
        client.post(`${policies}/${policy.id}/reactivate`),
      ]);
      expect(active.status).toBe(201);
      const { body } = await client.get(`${policies}/${policy.id}`);
      expect([deleted.status, body.resources.length]).toEqual(deleted.status === 204 ? [204, 0] : [409, 1]);
    }
  });
});

describe("records that a policy lists", () => {
  test("disappear from it when deleted, which grants nothing; a listed gateway cannot be deleted", async () => {
    const [user, resource, gateway] = [await makeUser(), await makeResource(), await makeGateway()];
    const policy = await makePolicy({ users: [user.id], resources: [resource.id], gateways: [gateway.id] });
    await client.must.patch(`${policies}/${policy.id}/deactivate`);
    for (const path of [`users/${user.id}`, `resources/${resource.id}`]) {
      expect(await client.delete(`/tenants/${path}`)).toMatchObject({ status: 204 });
    }
    expect(await client.delete(`/tenants/gateways/${gateway.id}`)).toMatchObject(refused(409, "gateway_in_use"));
    const { headers, body } = await client.get(`${policies}/${policy.id}`);
    expect(headers.etag).toBe('"2"');
    expect(body).toMatchObject({ users: [], resources: [], gateways: [{ id: gateway.id }] });
    expect(body).toMatchObject({ allGroups: false, allUsers: false, allDevices: false, allResources: false });
  });

  test("does not block the deletion of the tenant", async () => {
    const [gateway, rule] = [await makeGateway(), await makeRule()];
    await makePolicy({ gateways: [gateway.id], rule: rule.id });
    expect(await server.operator.delete(`/operator/tenants/${tenant.id}`)).toMatchObject({ status: 204 });
  });
});
