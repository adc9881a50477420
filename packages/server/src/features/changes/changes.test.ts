import { beforeAll, describe, expect, test } from "vitest";
import { make, makeId, unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestClient, type TestServer, type TestTenant } from "../../testing/test-server.ts";

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
