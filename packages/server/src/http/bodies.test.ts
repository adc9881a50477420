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
  test.each([101, 500_000])("nested %i levels deep is refused before it is parsed", async (levels) => {
    const reply = await tenant.client.post("/tenants/users", deep(levels));
    expect(reply).toMatchObject({ status: 400, body: { code: "invalid_json" } });
    expect(reply.body.detail).toContain("100 levels");
  });

  test("nested less deeply is judged by its form", async () => {
    const reply = await tenant.client.post("/tenants/users", deep(100));
    expect(reply).toMatchObject({ status: 400, body: { code: "invalid_body" } });
  });

  test("whose texts hold many brackets is not nested", async () => {
    const made = await tenant.client.post("/tenants/groups", {
      name: '[{"'.repeat(40),
      description: "\\[".repeat(400),
    });
    expect(made.status).toBe(201);
  });

  test("of ordinary size is told all that is wrong with it", async () => {
    const reply = await tenant.client.post("/tenants/users", [{}, {}, 1]);
    expect(reply.body.errors).toHaveLength(3);
  });

  test("of a size that makes looking for everything expensive is told the first", async () => {
    const addresses = Array.from({ length: 40_000 }, () => ({}));
    const reply = await tenant.client.post("/tenants/resources", { name: "Many", type: "PRIVATE", addresses });
    expect(reply).toMatchObject({ status: 400, body: { code: "invalid_body", errors: [{ pointer: "/addresses" }] } });
    expect(reply.body.errors).toHaveLength(1);
  });

  test.each([
    ["ends too early", '{"name": ', "The body is not valid JSON: it ends before its value does."],
    ["ends in a text", '{"name": "Ann', "The body is not valid JSON: it ends before its value does."],
    ["has a comma too many", '{"name": "Sales",\n }', "The body is not valid JSON: see line 2, column 2."],
    ["has names without quotes", "{name: 1}", "The body is not valid JSON: see line 1, column 2."],
    ["goes on after its end", "{} {}", "The body is not valid JSON: see line 1, column 4."],
    [
      "has a word that is none",
      '{"name": nothing}',
      'The body is not valid JSON: "o" is not expected where it stands.',
    ],
    [
      "has a field that no record can have",
      '{"__proto__": {}}',
      "The body names __proto__, or a constructor's prototype",
    ],
  ])("that %s is told where", async (_what, body, detail) => {
    const reply = await tenant.client.post("/tenants/groups", body);
    expect(reply).toMatchObject({ status: 400, body: { code: "invalid_json" } });
    expect(reply.body.detail).toContain(detail);
  });

  test("that is empty is none, whatever its type claims", async () => {
    const [user] = (await tenant.client.get("/tenants/users")).body.data;
    const reply = await tenant.client.send("PATCH", `/tenants/users/${user.id}/deactivate`, "", {
      "content-type": "text/plain",
    });
    expect(reply.status).toBe(200);
  });
});
