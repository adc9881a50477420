import { configurationLimitBytes } from "@gatehouse/contract/records/configuration";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type ConfigurationCalls,
  configurationCalls,
  configurationPath,
  defaultGroup,
  owner,
  whole,
} from "../../testing/example-configuration.ts";
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

  test("is told every name that nothing has, and the nearest one", async () => {
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
    await calls.applied({ groups: [defaultGroup, { name: "sales" }, { name: "Sales" }] });
    expect(
      await pointersOf({
        groups: [defaultGroup, { name: "Sales" }, { name: " Sales " }],
        users: [owner, { email: "Owner@Example.com" }],
        policies: { PRIVATE: [{ name: "P", action: true }], SAAS: [{ name: "P", action: true }] },
      }),
    ).toEqual(["/groups/2/name", "/users/1/email", "/policies/SAAS/0/name"]);
  });

  test("may not take a policy's name from a type that it does not speak of", async () => {
    await calls.applied({ policies: { PRIVATE: [{ name: "P", action: true }] } });
    expect(await pointersOf({ policies: { SAAS: [{ name: "P", action: true }] } })).toEqual(["/policies/SAAS/0/name"]);
  });

  test("may not change the type of a resource", async () => {
    await calls.applied({ resources: [{ name: "R", type: "SAAS" }] });
    expect(await pointersOf({ resources: [{ name: "R", type: "INTERNET" }] })).toEqual(["/resources/0/type"]);
  });

  test("may not delete what has to stay", async () => {
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

  test("may delete what only records name that go with it", async () => {
    await calls.applied(whole);
    await calls.applied({
      groups: [defaultGroup],
      users: [owner],
      protocols: [],
      gateways: [],
      resources: [],
      admissionRules: [],
      policies: { PRIVATE: [], SAAS: [], INTERNET: [], SITETOSITE: [] },
      defaultInternetPolicy: { mode: "LOCAL" },
    });
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

  test("may be larger than other bodies, but not without bounds", async () => {
    const description = "x".repeat(1000);
    const resources = Array.from({ length: 2_000 }, (_, index) => ({ name: `R${index}`, type: "SAAS", description }));
    expect((await calls.plan({ resources })).status).toBe(200);
    const { status } = await client.post(`${configurationPath}/plan`, `"${"x".repeat(configurationLimitBytes)}"`);
    expect(status).toBe(413);
  });
});
