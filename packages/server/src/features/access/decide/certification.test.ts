/**
 * The scenarios of the AuthZEN certification (openid/authzen, certification/authorization-api-1_0-scenario.md), in the
 * vocabulary of Gatehouse: each record with an action on it is a resource, and the action is `connect`. The fixture's
 * properties of records and actions are part of the resource's name.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { created } from "../../../testing/access-network.ts";
import { publicKey } from "../../../testing/operations/test-records.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;

const alice = { type: "user", id: "alice@example.com" };
const bob = { type: "user", id: "bob@example.com" };
const admin = { ...bob, properties: { role: "admin" } };
const connect = { name: "connect" };
const on = (record: string, action: string, ...facts: string[]) => ({
  type: "resource",
  id: [record, action, ...facts].join(" "),
});
const read = on("record-1", "read");
const write = on("record-1", "write");
const archived = on("record-2", "write", "archived");
const softDelete = on("record-1", "delete", "soft");
const hardDelete = on("record-1", "delete", "hard");

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
  const { client } = tenant;
  const users = new Map<string, string>();
  for (const { id: email } of [alice, bob]) users.set(email, await activeUser(email));
  const resources = new Map<string, string>();
  for (const { id: name } of [read, write, archived, softDelete, hardDelete, on("record-2", "read")]) {
    resources.set(name, await idOf("/tenants/resources", { name, type: "PRIVATE", addresses: [] }));
  }
  const isAdmin = await idOf("/tenants/admission-rules", {
    name: "Administrators",
    rule: "user.role == 'admin'",
    hasTimeConstraint: false,
  });
  const allow = (name: string, emails: readonly string[], names: readonly string[], ruleId?: string) =>
    idOf("/tenants/policies", {
      name,
      type: "PRIVATE",
      action: true,
      users: emails.map((email) => users.get(email)),
      resources: names.map((resource) => resources.get(resource)),
      ...(ruleId === undefined ? {} : { rule: ruleId }),
    });
  await allow("Readers", [alice.id, bob.id], [read.id]);
  await allow("Writers", [alice.id], [write.id, softDelete.id]);
  await allow("Administrators", [alice.id, bob.id], [archived.id], isAdmin);
  const bobId = users.get(bob.id);
  expect((await client.patch(`/tenants/users/${bobId}`, { attributes: { role: "admin" } })).status).toBe(200);
});

async function idOf(path: string, body: object): Promise<string> {
  return (await created(tenant.client, path, body)).id;
}

/** Users are active after the first enrolment of a device. */
async function activeUser(email: string): Promise<string> {
  const id = await idOf("/tenants/users", { email });
  await idOf("/tenants/devices", {
    name: `Laptop of ${email}`,
    userId: id,
    hardwareId: email,
    publicKey: publicKey(),
  });
  return id;
}

const post = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  tenant.client.post(`/access/v1/${path}`, body, headers);
const fixture = { subject: alice, action: connect, resource: read };
const circumstances = { time: "2025-06-27T18:03-07:00", ip: "192.168.1.1" };

describe("basic", () => {
  test.each([
    ["rule 1: alice reads", alice, read, true],
    ["rule 2: alice writes", alice, write, true],
    ["rule 3: bob reads", bob, read, true],
    ["rule 4: bob does not write", bob, write, false],
    ["rule 5: alice does not write what is archived", alice, archived, false],
    ["rule 6: administrators write what is archived", admin, archived, true],
    ["rule 7: alice deletes softly", alice, softDelete, true],
    ["rule 8: alice does not delete for good", alice, hardDelete, false],
  ])("%s", async (_rule, subject, resource, decision) => {
    for (let repetition = 0; repetition < 3; repetition += 1) {
      const reply = await post("evaluation", { subject, action: connect, resource });
      expect(reply).toMatchObject({ status: 200, body: { decision } });
      expect(reply.headers["content-type"]).toMatch(/^application\/json/);
    }
  });

  test.each<[string, object]>([
    ["a context", { context: circumstances }],
    [
      "more properties",
      {
        subject: { ...alice, properties: { department: "Sales", role: "manager" } },
        action: { ...connect, properties: { method: "GET" } },
        resource: { ...read, properties: { status: "active", owner: "bob" } },
      },
    ],
    ["unknown fields", { foo: "bar", futureField: { nested: true } }],
  ])("accepts %s", async (_what, more) => {
    expect(await post("evaluation", { ...fixture, ...more })).toMatchObject({ status: 200, body: { decision: true } });
  });

  test.each<[string, object]>([
    ["no subject", { subject: undefined }],
    ["no action", { action: undefined }],
    ["no resource", { resource: undefined }],
    ["a subject without type", { subject: { id: alice.id } }],
    ["a subject without id", { subject: { type: "user" } }],
    ["an action without name", { action: {} }],
    ["a resource without type", { resource: { id: read.id } }],
    ["a resource without id", { resource: { type: "resource" } }],
    ["a subject that is text", { subject: "alice" }],
    ["an action whose name is a number", { action: { name: 123 } }],
  ])("answers 400 to %s", async (_what, change) => {
    expect((await post("evaluation", { ...fixture, ...change })).status).toBe(400);
  });

  test.each(["text/plain", "application/xml", "application/x-www-form-urlencoded"])(
    "answers 400 to a body of type %s, and the rest of the API answers 415",
    async (type) => {
      const headers = { "content-type": type };
      const text = JSON.stringify(fixture);
      for (const path of ["evaluation", "evaluations", "search/subject"]) {
        expect(await post(path, text, headers)).toMatchObject({ status: 400, body: { code: "invalid_json" } });
      }
      expect((await tenant.client.post("/tenants/groups", text, headers)).status).toBe(415);
    },
  );

  test.each(["", "{", '{"subject":', "[]", "null", '"text"'])("answers 400 to the body %j", async (body) => {
    expect((await post("evaluation", body)).status).toBe(400);
  });
});

describe("request ids", () => {
  test.each([
    "bfe9eb29-ab87-4ca3-be83-a1d5d8305716",
    "a/b+c==",
    "foo bar",
    "x".repeat(200),
    "{}",
    "#1",
    "x".repeat(2_000),
  ])("%j is returned as it was sent", async (id) => {
    const reply = await post("evaluation", fixture, { "x-request-id": id });
    expect(reply).toMatchObject({ status: 200, headers: { "x-request-id": id } });
    const refused = await post("evaluation", {}, { "x-request-id": id });
    expect(refused).toMatchObject({ status: 400, headers: { "x-request-id": id } });
    if (id.length <= 256) expect(refused.body.requestId).toBe(id);
  });

  test("are made if none is sent", async () => {
    expect((await post("evaluation", fixture)).headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe("batch", () => {
  const decisions = ({
    body,
  }: {
    readonly body: { readonly evaluations: readonly { readonly decision: boolean }[] };
  }) => body.evaluations.map(({ decision }) => decision);

  test.each<[string, object, readonly boolean[]]>([
    [
      "defaults",
      { subject: bob, action: connect, evaluations: [{ resource: read }, { resource: write }] },
      [true, false],
    ],
    [
      "resources with properties",
      { subject: alice, action: connect, evaluations: [{ resource: write }, { resource: archived }] },
      [true, false],
    ],
    [
      "subjects with properties",
      { action: connect, resource: archived, evaluations: [{ subject: alice }, { subject: admin }] },
      [false, true],
    ],
    ["no defaults", { evaluations: [fixture, { subject: bob, action: connect, resource: write }] }, [true, false]],
    [
      "a context that an evaluation replaces",
      {
        subject: alice,
        action: connect,
        context: { time: circumstances.time },
        evaluations: [
          { resource: read },
          { resource: write, context: { time: "2025-06-27T19:00-07:00", source: "own" } },
        ],
      },
      [true, true],
    ],
    [
      "an empty evaluation, which takes every default",
      { subject: alice, action: connect, resource: write, evaluations: [{}, { resource: archived }] },
      [true, false],
    ],
  ])("%s", async (_what, body, expected) => {
    const reply = await post("evaluations", body);
    expect(reply.status, reply.text).toBe(200);
    expect(decisions(reply)).toEqual(expected);
    expect(reply.body.decision).toBeUndefined();
  });

  test.each<[string, unknown]>([
    ["lacks a resource", {}],
    ["is a number", 5],
    ["is null", null],
    ["is text", "evaluation"],
    ["has a subject that is text", { subject: "alice", resource: read }],
    ["has a resource without id", { resource: { type: "resource" } }],
    ["has an action whose name is a number", { action: { name: 123 }, resource: read }],
    ["has an invalid time", { resource: read, context: { time: "yesterday" } }],
    [
      "has an invalid port",
      { resource: { type: "address", id: "192.0.2.1", properties: { protocol: "TCP", port: 0 } } },
    ],
  ])("an evaluation that %s is denied by itself", async (_what, evaluation) => {
    const batch = { subject: alice, action: connect, options: { evaluations_semantic: "execute_all" } };
    const reply = await post("evaluations", {
      ...batch,
      evaluations: [{ resource: read }, evaluation, { resource: write }],
    });
    expect(reply.status, reply.text).toBe(200);
    expect(decisions(reply)).toEqual([true, false, true]);
    expect(reply.body.evaluations[1].context).toMatchObject({
      reason: "invalid_evaluation",
      error: expect.any(String),
    });
  });

  test.each([
    ["deny_on_first_deny", [true, false]],
    ["permit_on_first_permit", [true]],
  ])("%s ends with an invalid evaluation as with a denial", async (semantic, expected) => {
    const batch = { subject: alice, action: connect, options: { evaluations_semantic: semantic } };
    const reply = await post("evaluations", { ...batch, evaluations: [{ resource: read }, {}, { resource: write }] });
    expect(decisions(reply)).toEqual(expected);
  });

  test.each([{}, { evaluations: [] }])("without evaluations, decides one request: %j", async (more) => {
    expect(await post("evaluations", { ...fixture, ...more })).toMatchObject({ status: 200, body: { decision: true } });
  });

  test.each<[string, object]>([
    ["an unknown semantic", { ...fixture, evaluations: [{}], options: { evaluations_semantic: "guess" } }],
    ["evaluations that are not a list", { ...fixture, evaluations: {} }],
    ["invalid defaults", { ...fixture, subject: "alice", evaluations: [{}] }],
    ["an invalid time for all", { ...fixture, context: { time: "yesterday" }, evaluations: [{}] }],
    ["one request without its resource", { subject: alice, action: connect }],
  ])("answers 400 to %s", async (_what, body) => {
    expect((await post("evaluations", body)).status).toBe(400);
  });
});

describe("search", () => {
  const foundIn = async (path: string, body: object) => {
    const reply = await post(`search/${path}`, body);
    expect(reply.status, reply.text).toBe(200);
    return reply.body.results as readonly { readonly type: string; readonly id: string; readonly name: string }[]; // as declared
  };
  const emails = async (body: object) => {
    const { body: all } = await tenant.client.get("/tenants/users?limit=100");
    const found = await foundIn("subject", body);
    expect(found.every(({ type }) => type === "user")).toBe(true);
    return all.data
      .filter(({ id }: { id: string }) => found.some((result) => result.id === id))
      .map(({ email }: { email: string }) => email);
  };
  const resourceNames = async (body: object) => {
    const { body: all } = await tenant.client.get("/tenants/resources?limit=100");
    const found = await foundIn("resource", body);
    expect(found.every(({ type }) => type === "resource")).toBe(true);
    return all.data
      .filter(({ id }: { id: string }) => found.some((result) => result.id === id))
      .map(({ name }: { name: string }) => name);
  };

  test.each<[string, object]>([
    ["by type", {}],
    ["with a context", { context: circumstances }],
    ["with an id, which is ignored", { subject: alice }],
  ])("S1: subjects %s", async (_what, more) => {
    const found = await emails({ subject: { type: "user" }, action: connect, resource: read, ...more });
    expect(found.sort()).toEqual([alice.id, bob.id]);
  });

  test.each<[string, object]>([
    ["by type", {}],
    ["with a context", { context: circumstances }],
    ["with an id, which is ignored", { resource: write }],
  ])("S2: resources %s", async (_what, more) => {
    const found = await resourceNames({ subject: alice, action: connect, resource: { type: "resource" }, ...more });
    expect(found.sort()).toEqual([read.id, softDelete.id, write.id].sort());
  });

  test.each<[string, object]>([
    ["S3", { subject: alice, resource: read }],
    ["S3 with a context", { subject: alice, resource: write, context: circumstances }],
    ["S6", { subject: admin, resource: archived }],
  ])("%s: actions", async (_what, body) => {
    expect(await foundIn("action", body)).toEqual([{ name: "connect" }]);
  });

  test("S4 and S5: administrators and what is archived", async () => {
    expect(await emails({ subject: { type: "user" }, action: connect, resource: archived })).toEqual([bob.id]);
    const found = await resourceNames({ subject: admin, action: connect, resource: { type: "resource" } });
    expect(found).toContain(archived.id);
  });

  test("pages end with an empty token", async () => {
    const search = { subject: { type: "user" }, action: connect, resource: read };
    const first = await post("search/subject", { ...search, page: { limit: 1 } });
    expect(first.body).toMatchObject({ page: { count: 1 }, results: [expect.anything()] });
    const token = first.body.page.next_token;
    expect(token).not.toBe("");
    const second = await post("search/subject", { ...search, page: { token } });
    expect(second.body).toMatchObject({ page: { next_token: "" }, results: [expect.anything()] });
    expect(second.body.results).not.toEqual(first.body.results);
  });

  test.each<[string, string, object]>([
    ["an unknown subject", "action", { subject: { type: "user", id: "nobody" }, resource: read }],
    [
      "an unknown subject",
      "resource",
      { subject: { type: "user", id: "nobody" }, action: connect, resource: { type: "resource" } },
    ],
    [
      "an unknown resource",
      "subject",
      { subject: { type: "user" }, action: connect, resource: on("record-9", "read") },
    ],
    ["an unknown type of subject", "subject", { subject: { type: "spaceship" }, action: connect, resource: read }],
    ["an unknown type of resource", "resource", { subject: alice, action: connect, resource: { type: "spaceship" } }],
    ["an unknown type of subject", "action", { subject: { type: "spaceship", id: "1" }, resource: read }],
  ])("finds nothing for %s (%s)", async (_what, path, body) => {
    expect(await foundIn(path, body)).toEqual([]);
  });

  test.each<[string, string, object]>([
    ["no action", "subject", { subject: { type: "user" }, resource: read }],
    ["no subject", "resource", { action: connect, resource: { type: "resource" } }],
    ["no resource", "action", { subject: alice }],
    [
      "a resource without id",
      "subject",
      { subject: { type: "user" }, action: connect, resource: { type: "resource" } },
    ],
    [
      "a subject without id",
      "resource",
      { subject: { type: "user" }, action: connect, resource: { type: "resource" } },
    ],
    ["a subject without id", "action", { subject: { type: "user" }, resource: read }],
  ])("answers 400 to %s (%s)", async (_what, path, body) => {
    expect((await post(`search/${path}`, body)).status).toBe(400);
  });
});

test("discovery names the endpoints at the requested host, over TLS behind a trusted proxy", async () => {
  const reply = await server.client(undefined).get("/.well-known/authzen-configuration", { host: "pdp.example.com" });
  expect(reply).toMatchObject({ status: 200, body: { policy_decision_point: "http://pdp.example.com" } });
  const endpoints = Object.entries(reply.body).filter(([name]) => name.endsWith("_endpoint"));
  expect(endpoints).toHaveLength(5);
  for (const [, url] of endpoints) expect(url).toMatch(/^http:\/\/pdp\.example\.com\/access\/v1\//);
});
