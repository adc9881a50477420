import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type ConfigurationCalls,
  configurationCalls,
  configurationPath,
  defaultGroup,
  owner,
  whole,
} from "../../testing/example-configuration.ts";
import { make } from "../../testing/operations/test-records.ts";
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

describe("permissions", () => {
  const reading = ["configuration:read", "configuration:write", "groups:read", "users:read", "policies:read"] as const;

  test("each section needs the right to read its kind, even to be applied", async () => {
    const theirs = configurationCalls(server.client(await tenant.keyWith(...reading)));
    for (const reply of [await theirs.plan({ resources: [] }), await theirs.apply({ resources: [] })]) {
      expect(reply).toMatchObject({ status: 403, body: { code: "permission_denied" } });
      expect(reply.body.detail).toContain("resources:read");
    }
    expect((await theirs.plan({ groups: [defaultGroup], defaultInternetPolicy: { mode: "LOCAL" } })).status).toBe(200);
  });

  test("each change needs the right to write its kind; none of the others is made", async () => {
    const theirs = configurationCalls(server.client(await tenant.keyWith(...reading, "groups:write", "users:write")));
    const before = await calls.exported();
    const document = { groups: [defaultGroup, { name: "New" }], policies: { SAAS: [{ name: "P", action: true }] } };
    expect((await theirs.plan(document)).status).toBe(200);
    const reply = await theirs.apply(document);
    expect(reply).toMatchObject({ status: 403, body: { code: "permission_denied" } });
    expect(reply.body.detail).toContain("policies:write");
    expect(await calls.exported()).toEqual(before);
    expect((await theirs.apply({ ...document, policies: { SAAS: [] } })).status).toBe(200);
  });

  test("refuses roles that exceed the caller's permissions, direct or through groups", async () => {
    await calls.applied({ groups: [defaultGroup, { name: "Administrators", roles: ["ADMIN"] }] });
    const theirs = configurationCalls(server.client(await tenant.keyWith(...reading, "groups:write", "users:write")));
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
      const reply = await theirs.apply(document);
      expect(reply, reply.text).toMatchObject({ status: 403, body: { code: "grants_exceed_caller" } });
      expect(reply.body.detail).toMatch(/^(The role ADMIN|Membership in the group Administrators) grants /);
    }
    // Leaving roles unchanged needs no permission. Removing roles of more privileged users is refused.
    const held = { email: "eve@example.com", roles: ["ADMIN"], groups: ["Default"] };
    const member = { email: "max@example.com", groups: ["Administrators", "Default"] };
    await calls.applied({ users: [owner, held, member] });
    for (const users of [
      [owner, member],
      [owner, held],
      [owner, { ...held, roles: [] }, member],
      [owner, held, { ...member, groups: ["Default"] }],
    ]) {
      const reply = await theirs.apply({ users });
      expect(reply, reply.text).toMatchObject({ status: 403, body: { code: "grants_exceed_caller" } });
    }
    for (const changed of [
      [defaultGroup],
      [defaultGroup, { name: "Administrators", roles: [] }],
      [defaultGroup, { name: "Administrators", roles: ["BASIC"] }],
    ]) {
      const reply = await theirs.apply({ groups: changed });
      expect(reply, reply.text).toMatchObject({ status: 403, body: { code: "grants_exceed_caller" } });
      expect(reply.body.detail).toMatch(/^The role ADMIN grants /);
    }
    const mapped = [defaultGroup, { ...groups[1], idpMapping: ["everybody"] }];
    await calls.applied({ groups: mapped });
    expect(await theirs.apply({ groups })).toMatchObject({ status: 403, body: { code: "grants_exceed_caller" } });
    expect((await theirs.apply({ groups: [...mapped, { name: "Sales" }] })).status).toBe(200);
    expect((await theirs.apply({ groups: mapped })).status).toBe(200);
  });
});

describe("side by side", () => {
  test("applies only the planned generation, and answers 412 after any change", async () => {
    const { body } = await calls.plan(whole);
    expect((await client.get(configurationPath)).headers.etag).toBe(`"${body.generation}"`);
    await make("protocol", client);
    const stale = await calls.apply(whole, { "if-match": `"${body.generation}"` });
    expect(stale).toMatchObject({ status: 412, body: { code: "precondition_failed" } });
    const { headers: now } = await client.get(configurationPath);
    expect((await calls.apply(whole, { "if-match": now.etag ?? "" })).status).toBe(200);
    expect((await calls.apply(whole, { "if-match": "*" })).status).toBe(200);
  });

  test("the second of two concurrent applications sees the changes of the first", async () => {
    const replies = await Promise.all([calls.apply(whole), calls.apply(whole), calls.apply(whole)]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    const created = replies.map(({ body }) => body.summary.created).sort();
    expect(created).toEqual([0, 0, 16]);
    expect(await calls.exported()).toEqual(whole);
  });

  test("applying neither deadlocks with single commands nor is disturbed by them", async () => {
    await calls.applied(whole);
    const { body: page } = await client.get("/tenants/policies?filter[type]=PRIVATE&sort=order");
    const ids: string[] = page.data.map(({ id }: { id: string }) => id);
    const { body: resources } = await client.get("/tenants/resources?sort=name");
    const [resource] = resources.data;
    const gatewayIds = resource.gateways.map(({ id }: { id: string }) => id);
    const [{ id: ann }] = (await client.get("/tenants/users?filter[email]=ann@example.com")).body.data;
    const other = { ...whole, policies: { ...whole.policies, PRIVATE: whole.policies.PRIVATE.toReversed() } };
    const sent = Array.from({ length: 6 }, (_, round) => [
      calls.apply(round % 2 === 0 ? other : whole),
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
    const replies = await Promise.all(sent);
    for (const { status, text } of replies) expect([200, 201, 204, 409, 422], text).toContain(status);
    await calls.applied(whole);
    expect(await calls.exported()).toEqual(whole);
  });

  test("another tenant's names are names of nothing", async () => {
    const { client: theirs } = await server.newTenant();
    await theirs.post(`${configurationPath}/apply`, whole);
    const { status, body } = await calls.plan({
      policies: { PRIVATE: [{ name: "P", action: true, groups: ["Engineering"] }] },
    });
    expect(status).toBe(422);
    expect(body.errors).toEqual([
      { pointer: "/policies/PRIVATE/0/groups/0", message: 'no group has the name "Engineering"' },
    ]);
    expect(await configurationCalls(theirs).exported()).toEqual(whole);
  });
});
