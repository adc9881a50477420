import { configurationLimitBytes } from "@gatehouse/contract/records/configuration";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { eventsOf, generationOf } from "../../testing/operations/recorded.queries.ts";
import { make, publicKey } from "../../testing/operations/test-records.ts";
import { startTestServer, type TestClient, type TestServer, type TestTenant } from "../../testing/test-server.ts";

const path = "/tenants/configuration";

let server: TestServer;
let tenant: TestTenant;
let client: TestClient;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());
beforeEach(async () => {
  tenant = await server.newTenant();
  ({ client } = tenant);
});

type Headers = Readonly<Record<string, string>>;

const exported = async (from = client) => (await from.get(path)).body;
const plan = (document: object, from = client) => from.post(`${path}/plan`, { version: 1, ...document });
const apply = (document: object, headers: Headers = {}, from = client) =>
  from.post(`${path}/apply`, { version: 1, ...document }, headers);

async function applied(document: object): Promise<void> {
  const { status, text } = await apply(document);
  expect(status, text).toBe(200);
}

const defaultGroup = {
  name: "Default",
  description: "Every user whom nobody put into another group.",
  roles: ["DEFAULT"],
  isSamlDefaultGroup: true,
};
const owner = { email: "owner@example.com" };

/** One of everything, in the form and order in which exports have it. */
const whole = {
  version: 1,
  groups: [defaultGroup, { name: "Engineering", roles: ["SUPPORT"], maxDevices: 7, idpMapping: ["eng", "build"] }],
  users: [
    {
      email: "ann@example.com",
      firstName: "Ann",
      lastName: "Example",
      groups: ["Engineering"],
      roles: ["AUDITOR", "BASIC"],
      maxDevices: 0,
      attributes: { contractor: false, country: "DE", level: 3 },
    },
    { email: "ben@example.com" },
    owner,
  ],
  protocols: [
    {
      name: "Build",
      networkProtocols: [{ protocol: "TCP", port: 8443 }, { protocol: "UDP", port: "5000-5100" }, { protocol: "ICMP" }],
    },
  ],
  gateways: [
    { name: "Cloud", wireguardPort: 51820, description: "Far away", endpoint: "vpn.example.com", relayEnabled: true },
    { name: "Office", wireguardPort: 51821 },
  ],
  resources: [
    {
      name: "Build server",
      type: "PRIVATE",
      description: "Builds",
      loadBalancingMode: "AUTOMATIC",
      gateways: ["Office", "Cloud"],
      addresses: [
        { address: "10.0.0.0/24", protocols: ["Build", "SSH"] },
        { address: "build.example.com", protocols: ["HTTPS"] },
      ],
    },
    { name: "Wiki", type: "SAAS" },
  ],
  admissionRules: [
    { name: "Hours", rule: "now.getHours() > 7", hasTimeConstraint: true },
    { name: "Linux", rule: "device.os == 'Linux'" },
  ],
  policies: {
    PRIVATE: [
      { name: "Second by name", action: false, allUsers: true, resources: ["Build server"] },
      {
        name: "First by name",
        description: "For builders",
        action: true,
        active: false,
        groups: ["Default", "Engineering"],
        users: ["ann@example.com"],
        resources: ["Build server"],
        gateways: ["Office", "Cloud"],
        sourceIps: ["192.0.2.0/24", "2001:db8::1"],
        rule: "Linux",
      },
    ],
    SAAS: [{ name: "Wiki for all", action: true, allGroups: true, allResources: true }],
    INTERNET: [{ name: "Through the office", action: true, mode: "INTERNET_ACCESS_POINT", allDevices: true }],
    SITETOSITE: [{ name: "Sites", action: true, allResources: true }],
  },
  defaultInternetPolicy: { mode: "RESTRICTED", gateways: ["Cloud"], description: "The rest" },
};

describe("readConfiguration", () => {
  test("says of a new tenant what every tenant has, without what is built in", async () => {
    const { status, body, headers } = await client.get(path);
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
    });
  });

  test("leaves out what the key may not read", async () => {
    const key = await tenant.keyWith("configuration:read", "resources:read", "policies:read");
    const body = await exported(server.client(key));
    expect(Object.keys(body)).toEqual(["version", "resources", "policies", "defaultInternetPolicy"]);
  });

  test("names devices of policies by public key, with the name for people", async () => {
    const device = await make("device", client);
    const policy = { name: "For one", type: "PRIVATE", action: true, devices: [device.id] };
    await client.post("/tenants/policies", policy);
    const { policies } = await exported();
    expect(policies.PRIVATE).toEqual([
      { name: "For one", action: true, devices: [{ publicKey: device.publicKey, name: device.name }] },
    ]);
    expect((await plan({ policies })).body.changes).toEqual([]);
  });
});

describe("applyConfiguration", () => {
  test("makes one of everything, and the export is what was applied", async () => {
    const { status, body, headers, text } = await apply(whole);
    expect(status, text).toBe(200);
    expect(body.summary).toEqual({ created: 15, updated: 1, deleted: 0 });
    expect(headers.etag).toBe(`"${body.generation}"`);
    expect(body.generation).toBe(await generationOf(server.database, tenant.id));
    expect(await exported()).toEqual(whole);
    // What the single operations show is what they would have made.
    const { body: users } = await client.get("/tenants/users?filter[email]=ann@example.com");
    expect(users.data[0]).toMatchObject({ status: "pending", firstName: "Ann", maxDevices: 0, isOwner: false });
    const { body: gateways } = await client.get("/tenants/gateways");
    for (const gateway of gateways)
      expect(gateway).toMatchObject({ status: "PENDING", token: /^gatehouse_gw_/ as never });
  });

  test("changes nothing the second time: no audit entry, no generation, no version", async () => {
    await applied(whole);
    const generation = await generationOf(server.database, tenant.id);
    const reply = await apply(whole);
    expect(reply.body).toEqual({ generation, summary: { created: 0, updated: 0, deleted: 0 }, changes: [] });
    expect(await generationOf(server.database, tenant.id)).toBe(generation);
    expect(await eventsOf(server.database, tenant.id, reply.headers["x-request-id"] ?? "")).toEqual([]);
  });

  test("takes everything away again, but for what every tenant has", async () => {
    const empty = await exported();
    await applied(whole);
    await applied(empty);
    expect(await exported()).toEqual(empty);
    const { body } = await client.get("/tenants/protocols");
    expect(body).toHaveLength(11);
  });

  test("leaves sections alone that the document does not have", async () => {
    await applied(whole);
    const generation = await generationOf(server.database, tenant.id);
    await applied({});
    await applied({ policies: {} });
    expect(await generationOf(server.database, tenant.id)).toBe(generation);
    await applied({ policies: { SAAS: [] } });
    expect(await exported()).toEqual({ ...whole, policies: { ...whole.policies, SAAS: [] } });
  });

  test("writes an audit entry for each record that changes: the fields, of sets what they lose and gain", async () => {
    await applied(whole);
    const [engineering] = whole.groups.slice(1);
    const changed = { ...engineering, maxDevices: 8, roles: ["BASIC"] };
    const reply = await apply({ groups: [defaultGroup, changed, { name: "Sales" }] });
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
    await applied(whole);
    // As JSON has it: without what is undefined, or empty as an export leaves it out.
    const wanted = JSON.parse(JSON.stringify({ ...whole, ...change }), (key, value) =>
      key === "sourceIps" || !(Array.isArray(value) && value.length === 0 && key !== "PRIVATE") ? value : undefined,
    );
    const planned = await plan(change);
    const done = await apply(change);
    expect(done.status, done.text).toBe(200);
    expect(done.body.summary.updated).toBeGreaterThan(0);
    expect(planned.body.changes).toEqual(done.body.changes);
    const after = await exported();
    expect({ ...after, users: after.users.map(withoutEmpty) }).toEqual({
      ...wanted,
      users: wanted.users.map(withoutEmpty),
    });
    expect((await plan(change)).body.changes).toEqual([]);
  });

  function withoutEmpty(user: object): object {
    return Object.fromEntries(Object.entries(user).filter(([, value]) => JSON.stringify(value) !== "{}"));
  }

  test("raises the versions of the records that it changes, and of no other", async () => {
    await applied(whole);
    const tags = async () => {
      const ids = (await client.get("/tenants/resources?sort=name")).body.data.map(({ id }: { id: string }) => id);
      return Promise.all(ids.map(async (id: string) => (await client.get(`/tenants/resources/${id}`)).headers.etag));
    };
    expect(await tags()).toEqual(['"1"', '"1"']);
    await applied({ resources: [{ ...whole.resources[0], description: "Other" }, whole.resources[1]] });
    expect(await tags()).toEqual(['"2"', '"1"']);
  });

  test("moves as few policies as it takes, and raises the versions of those", async () => {
    const named = (...names: string[]) => ({ policies: { INTERNET: names.map((name) => ({ name, action: true })) } });
    await applied(named("A", "B", "C", "D"));
    const { body } = await apply(named("D", "A", "New", "B", "C"));
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
    await applied(named("A"));
    expect((await exported()).policies.INTERNET).toEqual([{ name: "A", action: true }]);
    const { body: last } = await client.get("/tenants/policies?filter[type]=INTERNET&sort=order");
    expect(last.data.map(({ order }: { order: number }) => order)).toEqual([1, 2]);
  });

  test("makes a policy of another type another policy, also under the same name", async () => {
    await applied({ policies: { PRIVATE: [{ name: "P", action: true }], SAAS: [] } });
    const { body } = await apply({ policies: { PRIVATE: [], SAAS: [{ name: "P", action: true }] } });
    expect(body.summary).toEqual({ created: 1, updated: 0, deleted: 1 });
    expect((await exported()).policies).toMatchObject({ PRIVATE: [], SAAS: [{ name: "P", action: true }] });
  });

  test("finds users whatever the letter case of their addresses", async () => {
    await applied({ users: [owner, { email: "Ann@Example.com", firstName: "Ann" }] });
    const reply = await apply({
      users: [{ email: "OWNER@example.com" }, { email: "ann@example.com", firstName: "Ann" }],
      policies: { SAAS: [{ name: "P", action: true, users: ["ANN@EXAMPLE.COM"] }] },
    });
    expect(reply.body.summary).toEqual({ created: 1, updated: 0, deleted: 0 });
    expect((await exported()).users[0].email).toBe("Ann@Example.com");
  });

  test("takes what it deletes off records that it does not speak of, as deleting it alone would", async () => {
    const { user, ...device } = await make("device", client);
    const email: string = user.email;
    const userPolicy = {
      name: "For one",
      action: true,
      users: [email, owner.email],
      devices: [{ publicKey: device.publicKey }],
    };
    await applied({ policies: { PRIVATE: [userPolicy] } });
    const reply = await apply({ users: [owner] });
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
    expect((await plan({ users: [owner] })).body.changes).toEqual([]);
  });
});

describe("a document that cannot be applied", () => {
  const refused = async (document: object) => {
    const generation = await generationOf(server.database, tenant.id);
    const replies = [await plan(document), await apply(document)];
    for (const { status, body, text } of replies) {
      expect({ status, code: body.code }, text).toEqual({ status: 422, code: "invalid_configuration" });
    }
    const [planned, done] = replies.map(({ body }) => body.errors);
    expect(done).toEqual(planned);
    expect(await generationOf(server.database, tenant.id)).toBe(generation);
    return planned as { readonly pointer: string; readonly message: string }[];
  };
  const pointersOf = async (document: object) => (await refused(document)).map(({ pointer }) => pointer);

  test("changes nothing, even when only its last entry is wrong", async () => {
    const before = await exported();
    expect(await pointersOf({ ...whole, defaultInternetPolicy: { mode: "LOCAL", gateways: ["Clouds"] } })).toEqual([
      "/defaultInternetPolicy/gateways/0",
    ]);
    expect(await exported()).toEqual(before);
  });

  test("is told every name that nothing has, and the nearest one", async () => {
    await applied(whole);
    const errors = await refused({
      users: [owner, { email: "ann@example.com", groups: ["Engineerin", "Default"] }],
      resources: [
        {
          name: "R",
          type: "SAAS",
          gateways: ["Offices"],
          addresses: [{ address: "a.example.com", protocols: ["SHS"] }],
        },
      ],
      policies: {
        PRIVATE: [],
        SAAS: [
          {
            name: "P",
            action: true,
            groups: ["Nowhere at all"],
            users: ["ben@example.com"],
            devices: [{ publicKey: publicKey() }],
            resources: ["Wiki"],
            gateways: ["Cloud", "Closed"],
            rule: "linux",
          },
        ],
      },
    });
    expect(errors.map(({ pointer }) => pointer)).toEqual([
      "/users/1/groups/0",
      "/resources/0/gateways/0",
      "/resources/0/addresses/0/protocols/0",
      "/policies/SAAS/0/groups/0",
      "/policies/SAAS/0/users/0",
      "/policies/SAAS/0/devices/0/publicKey",
      "/policies/SAAS/0/resources/0",
      "/policies/SAAS/0/gateways/1",
      "/policies/SAAS/0/rule",
    ]);
    expect(errors[0]?.message).toContain('is "Engineering" meant?');
    expect(errors[6]?.message).toContain("in resources of the document");
  });

  test("is told of entries that break the rules of single records", async () => {
    expect(
      await pointersOf({
        protocols: [
          { name: "P", networkProtocols: [{ protocol: "ICMP", port: 7 }] },
          { name: "SSH", networkProtocols: [{ protocol: "TCP" }] },
        ],
        gateways: [{ name: "G", wireguardPort: 1, endpoint: "10.0.0.0/8" }],
        resources: [
          {
            name: "R",
            type: "PRIVATE",
            addresses: [{ address: "8.8.8.8" }, { address: "a.example.com" }, { address: "A.example.com" }],
          },
        ],
        admissionRules: [
          { name: "No admission", rule: "true" },
          { name: "A", rule: "nobody.knows" },
          { name: "B", rule: "now.getHours() > 3" },
        ],
        policies: {
          PRIVATE: [
            { name: "Default internet policy", action: true },
            { name: "M", action: true, mode: "LOCAL" },
          ],
          SITETOSITE: [
            { name: "S", action: true, allUsers: true, sourceIps: ["x"] },
            { name: "D", action: false, rule: "A" },
          ],
        },
      }),
    ).toEqual([
      "/protocols/0/networkProtocols/0/port",
      "/gateways/0/endpoint",
      "/resources/0/addresses/0/address",
      "/resources/0/addresses/2/address",
      "/policies/SITETOSITE/0/sourceIps/0",
      "/protocols/1/name",
      "/admissionRules/0/name",
      "/policies/PRIVATE/0/name",
      "/policies/PRIVATE/1/mode",
      "/policies/SITETOSITE/0/allUsers",
      "/policies/SITETOSITE/1/rule",
      "/admissionRules/1/rule",
      "/admissionRules/2/hasTimeConstraint",
    ]);
  });

  test("may name each record once; letter case tells names from each other, but not addresses of users", async () => {
    await applied({ groups: [defaultGroup, { name: "sales" }, { name: "Sales" }] });
    expect(
      await pointersOf({
        groups: [defaultGroup, { name: "Sales" }, { name: " Sales " }],
        users: [owner, { email: "Owner@Example.com" }],
        policies: { PRIVATE: [{ name: "P", action: true }], SAAS: [{ name: "P", action: true }] },
      }),
    ).toEqual(["/groups/2/name", "/users/1/email", "/policies/SAAS/0/name"]);
  });

  test("may not take a policy's name from a type that it does not speak of", async () => {
    await applied({ policies: { PRIVATE: [{ name: "P", action: true }] } });
    expect(await pointersOf({ policies: { SAAS: [{ name: "P", action: true }] } })).toEqual(["/policies/SAAS/0/name"]);
  });

  test("may not change the type of a resource", async () => {
    await applied({ resources: [{ name: "R", type: "SAAS" }] });
    expect(await pointersOf({ resources: [{ name: "R", type: "INTERNET" }] })).toEqual(["/resources/0/type"]);
  });

  test("may not delete what has to stay", async () => {
    await applied(whole);
    expect(await pointersOf({ groups: [{ name: "Engineering" }] })).toEqual(["/groups", "/groups"]);
    expect(
      await pointersOf({ groups: [{ ...defaultGroup }, { name: "Engineering", isSamlDefaultGroup: true }] }),
    ).toEqual(["/groups/1/isSamlDefaultGroup"]);
    const errors = await refused({ groups: [defaultGroup] });
    expect(errors).toEqual([
      { pointer: "/groups", message: '"Engineering" cannot be deleted: ann@example.com would be left without a group' },
    ]);
    expect(await pointersOf({ users: [] })).toEqual(["/users"]);
    expect(await pointersOf({ protocols: [] })).toEqual(["/protocols"]);
    expect(await pointersOf({ gateways: [] })).toEqual(["/gateways", "/gateways", "/gateways"]);
    expect(await pointersOf({ resources: [] })).toEqual(["/resources"]);
    expect(await pointersOf({ admissionRules: [] })).toEqual(["/admissionRules"]);
    expect(await exported()).toEqual(whole);
  });

  test("may delete what only records name that go with it", async () => {
    await applied(whole);
    await applied({
      groups: [defaultGroup],
      users: [owner],
      protocols: [],
      gateways: [],
      resources: [],
      admissionRules: [],
      policies: { PRIVATE: [], SAAS: [], INTERNET: [], SITETOSITE: [] },
      defaultInternetPolicy: { mode: "LOCAL" },
    });
    expect((await exported()).resources).toEqual([]);
  });

  test("has its problems counted, and the first 50 listed", async () => {
    const gateways = Array.from({ length: 80 }, (_, index) => ({
      name: `G${index}`,
      wireguardPort: 1,
      endpoint: "*.x",
    }));
    const { body } = await plan({ gateways });
    expect(body.errors).toHaveLength(50);
    expect(body.detail).toMatch(/^The document has 80 problems; the first 50 are listed\./);
  });

  test.each([
    ["another version", { version: 2 }],
    ["a port out of range", { gateways: [{ name: "G", wireguardPort: 65_536 }] }],
    ["a port that is a text", { gateways: [{ name: "G", wireguardPort: "51820" }] }],
    ["a limit too large", { groups: [{ ...defaultGroup, maxDevices: 1e300 }] }],
    ["the owner's role", { users: [{ ...owner, roles: ["OWNER"] }] }],
    ["a token", { gateways: [{ name: "G", wireguardPort: 1, token: "x" }] }],
    ["null for a section", { groups: null }],
    ["a list of groups that is empty", { users: [{ ...owner, groups: [] }] }],
  ])("is malformed with %s", async (_what, document) => {
    const { status, body } = await plan(document);
    expect({ status, code: body.code }).toEqual({ status: 400, code: "invalid_body" });
  });

  test("may be larger than other bodies, but not without bounds", async () => {
    const description = "x".repeat(1000);
    const resources = Array.from({ length: 2_000 }, (_, index) => ({ name: `R${index}`, type: "SAAS", description }));
    expect((await plan({ resources })).status).toBe(200);
    const { status } = await client.post(`${path}/plan`, `"${"x".repeat(configurationLimitBytes)}"`);
    expect(status).toBe(413);
  });
});

describe("permissions", () => {
  const reading = ["configuration:read", "configuration:write", "groups:read", "users:read", "policies:read"] as const;

  test("each section needs the right to read its kind, also to be applied", async () => {
    const narrow = server.client(await tenant.keyWith(...reading));
    for (const reply of [await plan({ resources: [] }, narrow), await apply({ resources: [] }, {}, narrow)]) {
      expect(reply).toMatchObject({ status: 403, body: { code: "permission_denied" } });
      expect(reply.body.detail).toContain("resources:read");
    }
    expect((await plan({ groups: [defaultGroup], defaultInternetPolicy: { mode: "LOCAL" } }, narrow)).status).toBe(200);
  });

  test("each change needs the right to write its kind; none of the others is made", async () => {
    const narrow = server.client(await tenant.keyWith(...reading, "groups:write", "users:write"));
    const before = await exported();
    const document = { groups: [defaultGroup, { name: "New" }], policies: { SAAS: [{ name: "P", action: true }] } };
    expect((await plan(document, narrow)).status).toBe(200);
    const reply = await apply(document, {}, narrow);
    expect(reply).toMatchObject({ status: 403, body: { code: "permission_denied" } });
    expect(reply.body.detail).toContain("policies:write");
    expect(await exported()).toEqual(before);
    expect((await apply({ ...document, policies: { SAAS: [] } }, {}, narrow)).status).toBe(200);
  });

  test("nobody gives roles that grant more than they hold, by themselves or by groups", async () => {
    await applied({ groups: [defaultGroup, { name: "Administrators", roles: ["ADMIN"] }] });
    const narrow = server.client(await tenant.keyWith(...reading, "groups:write", "users:write"));
    const groups = [defaultGroup, { name: "Administrators", roles: ["ADMIN"] }];
    for (const document of [
      { groups: [...groups, { name: "More", roles: ["ADMIN"] }] },
      { users: [owner, { email: "ann@example.com", roles: ["ADMIN"] }] },
      { users: [owner, { email: "ann@example.com", groups: ["Administrators"] }] },
      { users: [{ ...owner, groups: ["Administrators", "Default"] }] },
      { groups: [defaultGroup, { ...groups[1], idpMapping: ["everybody"] }] },
      {
        groups: [
          { ...defaultGroup, isSamlDefaultGroup: false },
          { ...groups[1], isSamlDefaultGroup: true },
        ],
      },
    ]) {
      const reply = await apply(document, {}, narrow);
      expect(reply, reply.text).toMatchObject({ status: 403, body: { code: "grants_exceed_caller" } });
      expect(reply.body.detail).toContain("ADMIN");
    }
    // What is there already is nobody's gift.
    expect((await apply({ groups: [...groups, { name: "Sales" }] }, {}, narrow)).status).toBe(200);
  });
});

describe("side by side", () => {
  test("what was shown is what is applied: 412 once anything has changed", async () => {
    const { body } = await plan(whole);
    expect((await client.get(path)).headers.etag).toBe(`"${body.generation}"`);
    await make("protocol", client);
    const stale = await apply(whole, { "if-match": `"${body.generation}"` });
    expect(stale).toMatchObject({ status: 412, body: { code: "precondition_failed" } });
    const { headers: now } = await client.get(path);
    expect((await apply(whole, { "if-match": now.etag ?? "" })).status).toBe(200);
    expect((await apply(whole, { "if-match": "*" })).status).toBe(200);
  });

  test("of two that apply one after the other, the second finds what the first made", async () => {
    const replies = await Promise.all([apply(whole), apply(whole), apply(whole)]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    const created = replies.map(({ body }) => body.summary.created).sort();
    expect(created).toEqual([0, 0, 15]);
    expect(await exported()).toEqual(whole);
  });

  test("applying neither deadlocks with single commands nor is disturbed by them", async () => {
    await applied(whole);
    const { body: page } = await client.get("/tenants/policies?filter[type]=PRIVATE&sort=order");
    const ids: string[] = page.data.map(({ id }: { id: string }) => id);
    const { body: resources } = await client.get("/tenants/resources?sort=name");
    const [resource] = resources.data;
    const gatewayIds = resource.gateways.map(({ id }: { id: string }) => id);
    const [{ id: ann }] = (await client.get("/tenants/users?filter[email]=ann@example.com")).body.data;
    const other = { ...whole, policies: { ...whole.policies, PRIVATE: whole.policies.PRIVATE.toReversed() } };
    const calls = Array.from({ length: 6 }, (_, round) => [
      apply(round % 2 === 0 ? other : whole),
      client.post("/tenants/policies/reorder", { type: "PRIVATE", policies: ids.toReversed() }),
      client.patch(`/tenants/policies/${ids[0]}`, { description: `Round ${round}` }),
      client.post(`/tenants/resources/${resource.id}/loadBalancing`, {
        loadBalancingMode: "MANUAL",
        gateways: gatewayIds.toReversed(),
      }),
      client.patch(`/tenants/users/${ann}`, { maxDevices: round }),
      client.post("/tenants/groups", { name: `Group ${round}` }),
      client.delete(`/tenants/gateways/${gatewayIds[0]}`),
    ]).flat();
    const replies = await Promise.all(calls);
    for (const { status, text } of replies) expect([200, 201, 204, 409, 422], text).toContain(status);
    await applied(whole);
    expect(await exported()).toEqual(whole);
  });

  test("another tenant's names are names of nothing", async () => {
    const { client: theirs } = await server.newTenant();
    await theirs.post(`${path}/apply`, whole);
    const { status, body } = await plan({
      policies: { PRIVATE: [{ name: "P", action: true, groups: ["Engineering"] }] },
    });
    expect(status).toBe(422);
    expect(body.errors).toEqual([
      { pointer: "/policies/PRIVATE/0/groups/0", message: 'no group is called "Engineering"' },
    ]);
    expect(await exported(theirs)).toEqual(whole);
  });
});
