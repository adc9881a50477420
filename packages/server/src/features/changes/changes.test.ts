import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../platform/clock.ts";
import { createAccessNetwork } from "../../testing/access-network.ts";
import { make, makeId, unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import {
  sharedTestServer,
  startTestServer,
  type TestClient,
  type TestServer,
  type TestTenant,
} from "../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;
let client: TestClient;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
  client = tenant.client;
});

const path = "/tenants/changes";

interface Change {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  readonly ifMatch?: string;
  readonly as?: string;
}

const apply = (changes: readonly Change[], by = client) => by.post(path, { changes });

describe("a set", () => {
  test("creates records that refer to each other in one generation", async () => {
    const name = unique("Group");
    const reply = await apply([
      { method: "POST", path: "/tenants/groups", body: { name, roles: [] }, as: "staff" },
      { method: "POST", path: "/tenants/users", body: { email: uniqueEmail() }, as: "ada" },
      { method: "POST", path: "/tenants/users/@ada/groups", body: { groupId: "@staff" } },
      {
        method: "POST",
        path: "/tenants/policies",
        body: {
          name: unique("Policy"),
          description: "@staff",
          type: "PRIVATE",
          action: true,
          groups: ["@staff"],
          allResources: true,
        },
      },
    ]);
    expect(reply.status, reply.text).toBe(200);
    const [group, user, membership, policy] = reply.body.changes;
    expect(group).toMatchObject({ status: 201, etag: '"1"', location: `/tenants/groups/${group.body.id}` });
    expect(policy.body).toMatchObject({ description: "@staff", groups: [{ id: group.body.id }] });
    expect((await client.get(`/tenants/users/${user.body.id}`)).body.groups).toContainEqual(
      expect.objectContaining({ id: group.body.id }),
    );
    const ids = [group, user, membership, policy].flatMap(({ events }) => events);
    expect(reply.headers["gatehouse-event"]).toBe(ids[0]);
    const { data: items } = (await client.get("/tenants/events?limit=4&sort=-position")).body;
    const events = items.toReversed();
    expect(events.map(({ id }: { id: string }) => id)).toEqual(ids);
    expect(events.map(({ operation }: { operation: string }) => operation)).toEqual([
      "createGroup",
      "createUsers",
      "addUserToGroup",
      "createPolicy",
    ]);
    expect(new Set(events.map(({ generation }: { generation: number }) => generation))).toEqual(
      new Set([reply.body.generation]),
    );
  });

  test("changes nothing if one change is refused", async () => {
    const taken = await make("group", client);
    const name = unique("Group");
    const reply = await apply([
      { method: "POST", path: "/tenants/groups", body: { name, roles: [] } },
      { method: "POST", path: "/tenants/groups", body: { name: taken.name, roles: [] } },
    ]);
    expect(reply).toMatchObject({ status: 409, body: { code: "name_taken" } });
    expect(reply.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      "/changes/1",
      "/changes/1/body/name",
    ]);
    expect(reply.body.detail).toContain("POST /tenants/groups");
    expect((await client.get(`/tenants/groups?filter[name]=${encodeURIComponent(name)}`)).body.total).toBe(0);
  });

  test("compares If-Match of each change", async () => {
    const { id } = await make("group", client);
    const change = (ifMatch: string): Change => ({
      method: "PUT",
      path: `/tenants/groups/${id}`,
      body: { name: unique("Group") },
      ifMatch,
    });
    expect(await apply([change('"1"'), change('"1"')])).toMatchObject({
      status: 412,
      body: { code: "precondition_failed", errors: [{ pointer: "/changes/1" }] },
    });
    expect((await apply([change('"1"'), change('"2"')])).body.changes).toMatchObject([
      { etag: '"2"' },
      { etag: '"3"' },
    ]);
  });

  test("includes protocols", async () => {
    const reply = await apply([{ method: "DELETE", path: `/tenants/protocols/${await makeId("protocol", client)}` }]);
    expect(reply).toMatchObject({ status: 200, body: { changes: [{ status: 204 }] } });
    expect(reply.headers["gatehouse-event"]).toBeUndefined();
  });
});

describe("a name", () => {
  const invitation = (as?: string) => ({
    method: "POST" as const,
    path: "/tenants/users",
    body: { email: uniqueEmail() },
    ...(as === undefined ? {} : { as }),
  });
  const joining = (user: string, group: string) => ({
    method: "POST" as const,
    path: `/tenants/users/${user}/groups`,
    body: { groupId: group },
  });
  const nobody = "00000000-0000-7000-8000-000000000000";

  test.each<[string, () => readonly Change[], string[]]>([
    ["that no change has", () => [joining("@ada", nobody)], ["/changes/0/path"]],
    [
      "that a later change has",
      () => [joining("@ada", "@staff"), invitation("ada")],
      ["/changes/0/path", "/changes/0/body/groupId"],
    ],
    [
      "that the same change has",
      () => [{ ...joining("@ada", nobody), as: "ada" }],
      ["/changes/0/path", "/changes/0/as"],
    ],
    ["that two changes have", () => [invitation("ada"), invitation("ada")], ["/changes/1/as"]],
    [
      "of a change that creates nothing",
      () => [{ ...invitation(), path: "/tenants/policies/reorder", body: { type: "PRIVATE", policies: [] }, as: "x" }],
      ["/changes/0/as"],
    ],
    [
      "of a change that creates several records",
      () => [{ ...invitation("ada"), body: [{ email: uniqueEmail() }, { email: uniqueEmail() }] }],
      ["/changes/0/as"],
    ],
  ])("%s is refused", async (_what, changes, pointers) => {
    const reply = await apply(changes());
    expect(reply).toMatchObject({ status: 422, body: { code: "invalid_change_reference" } });
    expect(reply.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(pointers);
  });

  test.each(["", "1a", "a b", "@ada", "a".repeat(65)])("of the form %j is refused", async (name) => {
    expect(await apply([invitation(name)])).toMatchObject({
      status: 400,
      body: { code: "invalid_body", errors: [{ pointer: "/changes/0/as" }] },
    });
  });

  test("stands for ids only, and is text in every other field", async () => {
    const reply = await apply([
      {
        method: "POST",
        path: "/tenants/groups",
        body: { name: "@staff", description: "@staff", roles: [] },
        as: "staff",
      },
      { ...invitation("ada"), body: { email: uniqueEmail(), groups: ["@staff"] } },
      { method: "PATCH", path: "/tenants/users/%40ada", body: { attributes: { note: "@staff" } } },
      {
        method: "POST",
        path: "/tenants/access-tests",
        body: {
          name: unique("Test"),
          subject: { type: "group", id: "@staff" },
          resource: { type: "address", id: "git.example.com" },
          expected: "denied",
        },
      },
    ]);
    expect(reply.status, reply.text).toBe(200);
    const [group, invited, user, accessTest] = reply.body.changes.map(({ body }: { body: unknown }) => body);
    expect(group).toMatchObject({ name: "@staff", description: "@staff" });
    expect(invited.groups).toContainEqual(expect.objectContaining({ id: group.id }));
    expect(user).toMatchObject({ id: invited.id, attributes: { note: "@staff" } });
    expect(accessTest.subject).toMatchObject({ type: "group", id: group.id });
  });

  test("stands for nothing in a field that also takes names, unless an earlier change has it", async () => {
    const group = await client.post("/tenants/groups", { name: "@everyone", roles: [] });
    const reply = await apply([
      {
        method: "POST",
        path: "/tenants/access-tests",
        body: {
          name: unique("Test"),
          subject: { type: "group", id: "@everyone" },
          resource: { type: "address", id: "git.example.com" },
          expected: "denied",
        },
      },
    ]);
    expect(reply.body.changes[0].body.subject.id).toBe(group.body.id);
  });

  test("is taken by previews too", async () => {
    const changes = [
      invitation("ada"),
      { method: "POST", path: "/tenants/groups", body: { name: unique("Group"), roles: [] }, as: "staff" },
      joining("@ada", "@staff"),
    ];
    const reply = await client.post("/tenants/policies/preview", { changes });
    expect(reply.status, reply.text).toBe(200);
    const stale = { ...joining("@ada", "@staff"), ifMatch: '"7"' };
    expect(await client.post("/tenants/policies/preview", { changes: [...changes, stale] })).toMatchObject({
      status: 412,
      body: { errors: [{ pointer: "/changes/3" }] },
    });
  });
});

describe("a set is refused", () => {
  test("for missing permissions first, then for invalid forms, then for operations that it cannot include", async () => {
    const key = server.client(await tenant.keyWith("groups:write"));
    const forbidden: Change = { method: "POST", path: "/tenants/users", body: { nothing: 1 } };
    const malformed: Change = { method: "POST", path: "/tenants/groups", body: { nothing: 1 } };
    const none: Change = { method: "POST", path: "/tenants/nothing" };
    expect(await apply([none, malformed, forbidden], key)).toMatchObject({
      status: 403,
      body: { code: "permission_denied", errors: [{ pointer: "/changes/2" }] },
    });
    expect(await apply([none, malformed], key)).toMatchObject({
      status: 400,
      body: { code: "invalid_body" },
    });
    expect(await apply([none], key)).toMatchObject({ status: 422, body: { code: "not_allowed_in_set" } });
  });

  test.each([path, "/tenants/policies/preview"])("if it is too large for %s", async (to) => {
    const body = { name: unique("Group"), roles: [], idpMapping: ["x".repeat(1_048_576)] };
    const changes = Array.from({ length: 5 }, () => ({ method: "POST", path: "/tenants/groups", body }));
    expect(await client.post(to, { changes })).toMatchObject({ status: 413, body: { code: "payload_too_large" } });
  });

  test("for If-Match on a creation", async () => {
    const change: Change = { method: "POST", path: "/tenants/groups", body: { name: "A", roles: [] }, ifMatch: '"1"' };
    expect(await apply([change])).toMatchObject({
      status: 400,
      body: { code: "invalid_body", errors: [{ pointer: "/changes/0" }, { pointer: "/changes/0/ifMatch" }] },
    });
  });

  test("as a whole if If-Match names another generation", async () => {
    const change: Change = { method: "POST", path: "/tenants/groups", body: { name: unique("Group"), roles: [] } };
    const preview = await client.post("/tenants/policies/preview", { changes: [change] });
    const send = (ifMatch: string) => client.post(path, { changes: [change] }, { "if-match": ifMatch });
    const etag = `"${preview.body.generation}"`;
    const done = await send(etag);
    expect(done.status, done.text).toBe(200);
    expect(done.headers.etag).toBe(`"${preview.body.generation + 1}"`);
    expect(await send(etag)).toMatchObject({ status: 412, body: { code: "precondition_failed" } });
  });
});

test("a set that changes nothing makes no generation", async () => {
  const { id, name } = await make("group", client);
  const set = () => apply([{ method: "PUT", path: `/tenants/groups/${id}`, body: { name } }]);
  const [first, second] = [await set(), await set()];
  expect(first.body.changes).toMatchObject([{ status: 200, events: [] }]);
  expect(second.body.generation).toBe(first.body.generation);
  expect(first.headers["gatehouse-event"]).toBeUndefined();
});

describe("enforced access tests", () => {
  let network: Awaited<ReturnType<typeof createAccessNetwork>>;
  let ours: TestClient;

  beforeEach(async () => {
    const other = await server.newTenant();
    ours = other.client;
    network = await createAccessNetwork(server, other);
  });

  const expectation = (expected: "allowed" | "denied", as?: string): Change => ({
    method: "POST",
    path: "/tenants/access-tests",
    body: {
      name: unique("Test"),
      enforced: true,
      subject: { type: "user", id: network.bob.id },
      resource: { type: "resource", id: network.git.id },
      context: { time: "2026-01-31T12:00:00Z" },
      expected,
    },
    ...(as === undefined ? {} : { as }),
  });
  const granting = (): Change => ({ method: "PATCH", path: `/tenants/policies/${network.denying.id}/deactivate` });
  const denying = (): Change => ({ method: "POST", path: `/tenants/policies/${network.denying.id}/reactivate` });

  test("are decided once, after the last change", async () => {
    expect((await apply([expectation("denied")], ours)).status).toBe(200);
    expect(await apply([granting()], ours)).toMatchObject({ status: 409, body: { code: "access_tests_broken" } });
    // The test would fail between the two changes.
    expect((await apply([granting(), denying()], ours)).status).toBe(200);
  });

  test("that a set stores must hold after its last change", async () => {
    expect(await apply([expectation("allowed")], ours)).toMatchObject({
      status: 409,
      body: {
        code: "access_tests_broken",
        errors: [{ pointer: "/changes/0" }, { pointer: "/changes/0/body/enforced" }],
      },
    });
    expect((await apply([expectation("allowed"), granting()], ours)).status).toBe(200);
    expect((await apply([expectation("denied"), denying()], ours)).status).toBe(200);
  });

  test("that a set stores and deletes again need not hold", async () => {
    const deletion: Change = { method: "DELETE", path: "/tenants/access-tests/@test" };
    expect((await apply([expectation("allowed", "test"), deletion], ours)).status).toBe(200);
  });

  test("are overridden with a reason, which only entries of changes of access have", async () => {
    expect((await apply([expectation("denied")], ours)).status).toBe(200);
    const changes = [
      {
        method: "POST",
        path: "/tenants/protocols",
        body: { name: unique("Protocol"), networkProtocols: [{ protocol: "TCP", port: "8443" }] },
      },
      granting(),
    ];
    const reply = await ours.post(path, { changes }, { "gatehouse-override-reason": "An incident" });
    expect(reply.status, reply.text).toBe(200);
    const { data } = (await ours.get("/tenants/events?limit=2&sort=-position")).body;
    expect(data.map(({ operation, reason }: { operation: string; reason?: string }) => [operation, reason])).toEqual([
      ["deactivatePolicy", "An incident"],
      ["createProtocol", undefined],
    ]);
    for (const { id } of data) {
      const effect = await ours.get(`/tenants/events/${id}/effect`);
      expect(effect.body).toMatchObject({ gained: { pairs: 1 }, brokenTests: [{}] });
    }
  });
});

test("a set is refused before its next change if it has locked the tenant for too long", async () => {
  let passedMs = 0;
  let stepMs = 0;
  const clock = {
    ...systemClock,
    elapsedMs: () => {
      passedMs += stepMs;
      return passedMs;
    },
  };
  const slow = await startTestServer({ clock });
  try {
    const { client: theirs } = await slow.newTenant();
    const invitations = (): readonly Change[] =>
      Array.from({ length: 20 }, () => ({ method: "POST", path: "/tenants/users", body: { email: uniqueEmail() } }));
    expect((await apply(invitations(), theirs)).status).toBe(200);
    const { total } = (await theirs.get("/tenants/users?limit=1")).body;
    stepMs = 1_000;
    const reply = await apply(invitations(), theirs);
    expect(reply).toMatchObject({ status: 422, body: { code: "change_set_too_long" } });
    expect(reply.body.errors[0].pointer).toMatch(/^\/changes\/[1-9]$/);
    stepMs = 0;
    expect((await theirs.get("/tenants/users?limit=1")).body.total).toBe(total);
  } finally {
    await slow.close();
  }
});

test("a body has the limit of its operation, and the errors of the set name its own limits", async () => {
  const { client } = await server.newTenant();
  const group = (description: string) => ({
    method: "POST",
    path: "/tenants/groups",
    body: { name: "Big", description },
  });
  const large = await client.post("/tenants/changes", { changes: [group("x".repeat(1_048_576))] });
  expect(large).toMatchObject({
    status: 413,
    body: { code: "payload_too_large", errors: [{ pointer: "/changes/0" }] },
  });
  expect(large.body.detail).toContain("createGroup takes at most 1048576");
  const whole = await client.post("/tenants/changes", { changes: [group("x".repeat(4 * 1_048_576))] });
  expect(whole).toMatchObject({ status: 413, body: { detail: "The body of applyChanges can have at most 4 MiB." } });
  const stale = await client.post("/tenants/changes", { changes: [group("")] }, { "if-match": '"0"' });
  expect(stale.status).toBe(412);
  expect(stale.body.detail).toContain("the tenant's generation is now");
});
