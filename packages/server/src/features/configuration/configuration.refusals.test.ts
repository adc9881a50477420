import { configurationLimitBytes } from "@gatehouse/contract/records/configuration";
import pg from "pg";
import { beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import {
  type ConfigurationCalls,
  configurationCalls,
  configurationPath,
  defaultGroup,
  emptied,
  owner,
  whole,
} from "../../testing/example-configuration.ts";
import { storeIpAddress } from "../../testing/network-rows.queries.ts";
import { generationOf } from "../../testing/operations/recorded.queries.ts";
import { publicKey } from "../../testing/operations/test-records.ts";
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

describe("a document that cannot be applied", () => {
  const refused = async (document: object) => {
    const generation = await generationOf(server.database, tenant.id);
    const replies = [await calls.plan(document), await calls.apply(document)];
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
    const before = await calls.exported();
    expect(await pointersOf({ ...whole, defaultInternetPolicy: { mode: "LOCAL", gateways: ["Clouds"] } })).toEqual([
      "/defaultInternetPolicy/gateways/0",
    ]);
    expect(await calls.exported()).toEqual(before);
  });

  test("lists new private addresses in blocked ranges, but accepts stored ones", async () => {
    const resource = (addresses: readonly string[], type = "PRIVATE") => ({
      resources: [{ name: "R", type, addresses: addresses.map((address) => ({ address })) }],
    });
    const bad = ["z.example.com", "127.0.0.1/32", "::ffff:169.254.169.254", "10.0.0.1"];
    const expected = ["/resources/0/addresses/1/address", "/resources/0/addresses/2/address"];
    expect((await pointersOf(resource(bad))).sort()).toEqual(expected);
    await calls.applied(resource(["router.example.com"]));
    const { body } = await client.get("/tenants/addresses");
    await storeIpAddress(server, tenant.id, body[0].id, "169.254.1.1");
    await calls.applied(await calls.exported());
    await calls.applied(resource(["10.0.0.1", "169.254.1.1"]));
    expect(await pointersOf(resource(["169.254.1.2", "169.254.1.1"]))).toEqual(["/resources/0/addresses/0/address"]);
  });

  test("lists every reference to a missing name, with the nearest name", async () => {
    await calls.applied(whole);
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
    expect(errors[0]?.message).toContain('did you mean "Engineering"?');
    expect(errors[6]?.message).toMatch(/^the document has no resource "/);
  });

  test("lists entries that break the rules of single records", async () => {
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

  test("refuses repeated names, which are case-sensitive, and repeated addresses of users, which are not", async () => {
    await calls.applied({ groups: [defaultGroup, { name: "sales" }, { name: "Sales" }] });
    expect(
      await pointersOf({
        groups: [defaultGroup, { name: "Sales" }, { name: " Sales " }],
        users: [owner, { email: "Owner@Example.com" }],
        policies: { PRIVATE: [{ name: "P", action: true }], SAAS: [{ name: "P", action: true }] },
      }),
    ).toEqual(["/groups/2/name", "/users/1/email", "/policies/SAAS/0/name"]);
  });

  test("refuses the name of a policy in a type outside the document", async () => {
    await calls.applied({ policies: { PRIVATE: [{ name: "P", action: true }] } });
    expect(await pointersOf({ policies: { SAAS: [{ name: "P", action: true }] } })).toEqual(["/policies/SAAS/0/name"]);
  });

  test("may not change the type of a resource", async () => {
    await calls.applied({ resources: [{ name: "R", type: "SAAS" }] });
    expect(await pointersOf({ resources: [{ name: "R", type: "INTERNET" }] })).toEqual(["/resources/0/type"]);
  });

  test("refuses to delete required records", async () => {
    await calls.applied(whole);
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
    expect(await calls.exported()).toEqual(whole);
  });

  test("deletes a record if all records that refer to it are deleted too", async () => {
    await calls.applied(whole);
    await calls.applied(emptied);
    expect((await calls.exported()).resources).toEqual([]);
  });

  test("has its problems counted, and the first 50 listed", async () => {
    const gateways = Array.from({ length: 80 }, (_, index) => ({
      name: `G${index}`,
      wireguardPort: 1,
      endpoint: "*.x",
    }));
    const { body } = await calls.plan({ gateways });
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
    const { status, body } = await calls.plan(document);
    expect({ status, code: body.code }).toEqual({ status: 400, code: "invalid_body" });
  });

  test("names the only value that a field can have", async () => {
    const { body } = await calls.plan({ version: 2 });
    expect(body.errors).toEqual([{ pointer: "/version", message: "must be 1" }]);
  });

  test("may be larger than other bodies, but not without bounds", async () => {
    const description = "x".repeat(1000);
    const resources = Array.from({ length: 2_000 }, (_, index) => ({ name: `R${index}`, type: "SAAS", description }));
    expect((await calls.plan({ resources })).status).toBe(200);
    const { status } = await client.post(`${configurationPath}/plan`, `"${"x".repeat(configurationLimitBytes)}"`);
    expect(status).toBe(413);
  });
});

describe("a rule that is more expensive than rules may be now", () => {
  const rule = "user.groups.exists(a, user.groups.exists(b, user.groups.exists(c, a == b && b == c)))";
  const named = (name: string, text = rule) => ({ name, rule: text });

  test("stays in the document that can be applied, and is refused only as a new rule", async () => {
    await calls.applied({ version: 1, admissionRules: [named("Stored", "true")] });
    const owning = new pg.Client(inject("database"));
    await owning.connect();
    try {
      const text = "UPDATE admission_rules SET rule = $2 WHERE tenant_id = $1 AND name = 'Stored'";
      await owning.query(text, [tenant.id, rule]);
    } finally {
      await owning.end();
    }
    const document = await calls.exported();
    expect(document.admissionRules).toEqual([named("Stored")]);
    expect((await calls.apply(document)).body).toMatchObject({ changes: [] });
    const more = { ...document, groups: [...document.groups, { name: "More" }] };
    expect((await calls.apply(more)).status).toBe(200);
    const timed = { ...named("Stored"), hasTimeConstraint: true };
    expect((await calls.apply({ ...more, admissionRules: [timed] })).status).toBe(200);
    expect((await calls.apply({ ...more, admissionRules: [named("Renamed")] })).status).toBe(200);

    const { status, body } = await calls.apply({ ...more, admissionRules: [named("Renamed"), named("Another")] });
    expect({ status, code: body.code }).toEqual({ status: 422, code: "invalid_configuration" });
    expect(body.errors).toMatchObject([{ pointer: "/admissionRules/1/rule" }]);
    expect(body.errors[0].message).toContain("could take too long");
  });
});
