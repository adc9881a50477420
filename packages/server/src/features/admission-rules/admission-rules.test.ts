import { beforeAll, describe, expect, test } from "vitest";
import { sharedTestServer, type TestClient, type TestServer } from "../../testing/test-server.ts";

const rules = "/tenants/admission-rules";

let server: TestServer;
let client: TestClient;

beforeAll(async () => {
  server = await sharedTestServer();
  ({ client } = await server.newTenant());
});

async function makeRule(fields: Partial<{ name: string; rule: string; hasTimeConstraint: boolean }> = {}) {
  const made = await client.post(rules, {
    name: `Rule ${crypto.randomUUID()}`,
    rule: "user.department == 'Engineering'",
    hasTimeConstraint: false,
    ...fields,
  });
  expect(made.status).toBe(201);
  return made.body;
}

async function builtIn(type: "ALLOW" | "DENY") {
  return (await client.get(rules)).body.find((rule: { type: string }) => rule.type === type);
}

describe("admission rules", () => {
  test("are created, read, listed, changed and deleted", async () => {
    const rule = "user.department == 'Engineering' && device.posture.diskEncrypted";
    const made = await client.post(rules, { name: " Engineers ", rule, hasTimeConstraint: false });
    expect(made).toMatchObject({ status: 201, headers: { etag: '"1"', location: `${rules}/${made.body.id}` } });
    expect(made.body).toMatchObject({ name: "Engineers", type: "CUSTOM", hasTimeConstraint: false, rule });
    const path = `${rules}/${made.body.id}`;
    expect(await client.get(path)).toMatchObject({ status: 200, headers: { etag: '"1"' }, body: made.body });
    expect((await client.get(rules)).body).toContainEqual(made.body);

    const renamed = await client.put(path, { name: "Builders" }, { "if-match": '"1"' });
    expect(renamed).toMatchObject({ status: 200, headers: { etag: '"2"' }, body: { name: "Builders", rule } });
    expect(await client.put(path, { name: "Late" }, { "if-match": '"1"' })).toMatchObject({ status: 412 });

    expect(await client.delete(path, { "if-match": '"2"' })).toMatchObject({ status: 204 });
    expect(await client.get(path)).toMatchObject({ status: 404 });
  });

  test("every tenant has ALLOW and DENY, which show no text", async () => {
    expect(await builtIn("ALLOW")).toMatchObject({ name: "Admission without restrictions", hasTimeConstraint: false });
    expect(await builtIn("ALLOW")).not.toHaveProperty("rule");
    expect(await builtIn("DENY")).not.toHaveProperty("rule");
  });

  test("built-in rules cannot be changed or deleted", async () => {
    for (const type of ["ALLOW", "DENY"] as const) {
      const { id } = await builtIn(type);
      const refused = { status: 409, body: { code: "predefined_record" } };
      expect(await client.put(`${rules}/${id}`, { name: "Mine" })).toMatchObject(refused);
      expect(await client.delete(`${rules}/${id}`)).toMatchObject(refused);
    }
  });

  test("names are unique in the tenant", async () => {
    const first = await makeRule();
    const second = await makeRule();
    const taken = { status: 409, body: { code: "name_taken", errors: [{ pointer: "/name" }] } };
    const again = { name: first.name, rule: "true", hasTimeConstraint: false };
    expect(await client.post(rules, again)).toMatchObject(taken);
    expect(await client.put(`${rules}/${second.id}`, { name: first.name })).toMatchObject(taken);
  });

  test("refuses an invalid rule with line and column", async () => {
    const invalid = (message: unknown) => ({
      status: 422,
      body: { code: "invalid_rule", errors: [{ pointer: "/rule", message }] },
    });
    const body = { name: "Broken", rule: "true &&\n 1 == 'a'", hasTimeConstraint: false };
    expect(await client.post(rules, body)).toMatchObject(invalid(expect.stringMatching(/^line 2, column 4: /)));
    const { id } = await makeRule();
    const changed = await client.put(`${rules}/${id}`, { rule: "device.wheels" });
    expect(changed).toMatchObject(invalid(expect.stringMatching(/^line 1, column \d+: /)));
  });

  test("accepts a text of up to 4,096 characters, whatever their size in code units", async () => {
    const ofLength = (characters: number) => `'${"😀".repeat(characters - 8)}' == ''`;
    const body = { name: "Long", rule: ofLength(4096), hasTimeConstraint: false };
    expect(await client.post(rules, body)).toMatchObject({ status: 201 });
    const longer = { ...body, name: "Longer", rule: ofLength(4097) };
    expect(await client.post(rules, longer)).toMatchObject({ status: 400, body: { code: "invalid_body" } });
  });

  test("a rule that reads the time must say so", async () => {
    const rule = "now.getHours('UTC') < 18";
    const refused = {
      status: 422,
      body: { code: "invalid_combination", errors: [{ pointer: "/hasTimeConstraint" }] },
    };
    expect(await client.post(rules, { name: "Office hours", rule, hasTimeConstraint: false })).toMatchObject(refused);

    const timed = await makeRule({ rule, hasTimeConstraint: true });
    expect(await client.put(`${rules}/${timed.id}`, { hasTimeConstraint: false })).toMatchObject(refused);
    const untimed = await makeRule();
    expect(await client.put(`${rules}/${untimed.id}`, { rule })).toMatchObject(refused);
    const both = await client.put(`${rules}/${untimed.id}`, { rule, hasTimeConstraint: true });
    expect(both).toMatchObject({ status: 200, body: { rule, hasTimeConstraint: true } });
  });

  test("a write without changes keeps version and record", async () => {
    const made = await makeRule();
    for (const body of [{}, { name: made.name, rule: made.rule }]) {
      const same = await client.put(`${rules}/${made.id}`, body);
      expect(same).toMatchObject({ status: 200, headers: { etag: '"1"' } });
      expect(same.body).toEqual(made);
    }
  });

  test("a rule that policies use is not deleted, and they are named", async () => {
    const made = await makeRule();
    const policy = await client.post("/tenants/policies", {
      name: "Uses a rule",
      type: "PRIVATE",
      action: true,
      rule: made.id,
    });
    expect(await client.delete(`${rules}/${made.id}`)).toMatchObject({
      status: 409,
      body: {
        code: "admission_rule_in_use",
        errors: [{ pointer: `/tenants/policies/${policy.body.id}`, message: "Uses a rule" }],
      },
    });
    expect(await client.delete(`/tenants/policies/${policy.body.id}`)).toMatchObject({ status: 204 });
    expect(await client.delete(`${rules}/${made.id}`)).toMatchObject({ status: 204 });
  });

  test("deleting a rule while a policy starts to use it: one of the two is refused", async () => {
    for (let round = 0; round < 10; round += 1) {
      const made = await makeRule();
      const policy = { name: `Race ${round}`, type: "PRIVATE", action: true, rule: made.id };
      const [deleted, created] = await Promise.all([
        client.delete(`${rules}/${made.id}`),
        client.post("/tenants/policies", policy),
      ]);
      expect([
        [204, 422],
        [409, 201],
      ]).toContainEqual([deleted.status, created.status]);
    }
  });
});
