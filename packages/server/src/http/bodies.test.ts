import { beforeAll, describe, expect, test } from "vitest";
import { sharedTestServer, type TestServer, type TestTenant } from "../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
});

const deep = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;

describe("a body", () => {
  test.each([101, 500_000])("nested %i levels deep is rejected before it is parsed", async (levels) => {
    const reply = await tenant.client.post("/tenants/users", deep(levels));
    expect(reply).toMatchObject({ status: 400, body: { code: "invalid_json" } });
    expect(reply.body.detail).toContain("100 levels");
  });

  test("with less nesting is validated against the schema", async () => {
    const reply = await tenant.client.post("/tenants/users", deep(100));
    expect(reply).toMatchObject({ status: 400, body: { code: "invalid_body" } });
  });

  test("with many brackets in its strings is not nested", async () => {
    const made = await tenant.client.post("/tenants/groups", {
      name: '[{"'.repeat(40),
      description: `${"\\[".repeat(150)}${'"[\\"{'.repeat(120)}`,
    });
    expect(made.status).toBe(201);
  });

  test("of ordinary size gets all its errors", async () => {
    const reply = await tenant.client.post("/tenants/users", [{}, {}, 1]);
    expect(reply.body.errors).toHaveLength(3);
  });

  test("of a large size gets only its first error", async () => {
    const addresses = Array.from({ length: 40_000 }, () => ({}));
    const reply = await tenant.client.post("/tenants/resources", { name: "Many", type: "PRIVATE", addresses });
    expect(reply).toMatchObject({ status: 400, body: { code: "invalid_body", errors: [{ pointer: "/addresses" }] } });
    expect(reply.body.errors).toHaveLength(1);
  });

  test.each([
    ["ends prematurely", '{"name": ', "The body is not valid JSON: it ends prematurely."],
    ["ends in a string", '{"name": "Ann', "The body is not valid JSON: it ends prematurely."],
    ["has an extra comma", '{"name": "Sales",\n }', "The body is not valid JSON: see line 2, column 2."],
    ["has names without quotes", "{name: 1}", "The body is not valid JSON: see line 1, column 2."],
    ["continues after its end", "{} {}", "The body is not valid JSON: see line 1, column 4."],
    ["has an unknown word", '{"name": nothing}', 'The body is not valid JSON: unexpected "o".'],
    ["has a forbidden field", '{"__proto__": {}}', "The body contains __proto__ or a constructor's prototype"],
    [
      "escapes a forbidden field",
      '{"\\u005f_proto__": {}}',
      "The body contains __proto__ or a constructor's prototype",
    ],
    [
      "has a forbidden prototype",
      '{"constructor": {"prototype": {}}}',
      "The body contains __proto__ or a constructor's prototype",
    ],
  ])("that %s gets the position of the error", async (_what, body, detail) => {
    const reply = await tenant.client.post("/tenants/groups", body);
    expect(reply).toMatchObject({ status: 400, body: { code: "invalid_json" } });
    expect(reply.body.detail).toContain(detail);
  });

  test("over 256 KiB is parsed and validated like a smaller one", async () => {
    const groups = Array.from({ length: 4_000 }, (_, index) => ({
      name: `Group ${index}`,
      description: "x".repeat(100),
    }));
    const plan = (document: unknown) => tenant.client.post("/tenants/configuration/plan", document);
    const { body: current } = await tenant.client.get("/tenants/configuration");
    const planned = await plan({ version: 1, groups: [...current.groups, ...groups] });
    expect(planned).toMatchObject({ status: 200, body: { summary: { created: 4_000, updated: 0, deleted: 0 } } });
    expect(await plan({ version: 1, groups: [...groups, { name: "A", description: "a\0" }] })).toMatchObject({
      status: 400,
      body: { code: "invalid_body", errors: [{ pointer: "/groups/4000/description" }] },
    });
    expect((await plan(`{"version":1,"groups":[${JSON.stringify(groups).slice(1, -1)},`)).body).toMatchObject({
      code: "invalid_json",
      detail: "The body is not valid JSON: it ends prematurely.",
    });
    const compressed = { "content-type": "application/json", "content-encoding": "gzip" };
    const reply = await tenant.client.send(
      "POST",
      "/tenants/configuration/plan",
      JSON.stringify({ groups }),
      compressed,
    );
    expect(reply.status).toBe(415);
  });

  test("that is empty counts as none, whatever its content type", async () => {
    const [user] = (await tenant.client.get("/tenants/users")).body.data;
    const reply = await tenant.client.send("PATCH", `/tenants/users/${user.id}/deactivate`, "", {
      "content-type": "text/plain",
    });
    expect(reply.status).toBe(200);
  });
});
