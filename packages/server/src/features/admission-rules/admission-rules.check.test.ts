import { beforeAll, expect, test } from "vitest";
import { sharedTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
});

const check = (rule: string) => tenant.client.post("/tenants/admission-rules/check", { rule });

test.each([
  ["user.department == 'Engineering'", false],
  ["device.posture.diskEncrypted && source.country in ['DE', 'FR']", false],
  ["now.getHours('Europe/Berlin') < 20", true],
  ["[1, 2].exists(now, now > 1)", false],
])("%s is valid, and whether it reads the clock is %s", async (rule, readsNow) => {
  const reply = await check(rule);
  expect(reply).toMatchObject({ status: 200, body: { valid: true, readsNow, errors: [] } });
  expect(reply.headers).not.toHaveProperty("etag");
  const stored = { name: rule, rule, hasTimeConstraint: readsNow };
  expect((await tenant.client.post("/tenants/admission-rules", stored)).status).toBe(201);
});

test.each([
  ["user.email ==", 1, 14],
  ["device.os == 'Linux' &&\n  user.email > 3", 2, undefined],
  ["nobody.name == 'x'", 1, 1],
  ["user.email", 1, 1],
])("%j is reported with line %i and its column, as storing it would be", async (rule, line, column) => {
  const { status, body } = await check(rule);
  expect(status).toBe(200);
  expect(body).toMatchObject({ valid: false, errors: [{ line, message: expect.any(String) }] });
  expect(body).not.toHaveProperty("readsNow");
  const [first] = body.errors;
  if (column !== undefined) expect(first.column).toBe(column);
  const stored = { name: "Refused", rule, hasTimeConstraint: false };
  expect((await tenant.client.post("/tenants/admission-rules", stored)).body).toMatchObject({
    code: "invalid_rule",
    errors: body.errors.map((error: { line: number; column: number; message: string }) => ({
      pointer: "/rule",
      message: `line ${error.line}, column ${error.column}: ${error.message}`,
    })),
  });
});

test("a rule that is no text, empty, or too long is refused as any body is", async () => {
  for (const body of [{}, { rule: "" }, { rule: "x".repeat(4097) }, { rule: 1 }]) {
    expect(await tenant.client.post("/tenants/admission-rules/check", body)).toMatchObject({ status: 400 });
  }
});

test("whoever may read rules may check one", async () => {
  const reader = server.client(await tenant.keyWith("admission-rules:read"));
  expect(await reader.post("/tenants/admission-rules/check", { rule: "true" })).toMatchObject({ status: 200 });
});
