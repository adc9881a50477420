import { beforeAll, describe, expect, test } from "vitest";
import { createAccessNetwork, created } from "../../../testing/access-network.ts";
import { unique } from "../../../testing/operations/test-records.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;
let world: Awaited<ReturnType<typeof createAccessNetwork>>;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
  world = await createAccessNetwork(server, tenant);
});

const action = { name: "connect" };

const time = "2026-03-04T10:00:00Z";

/** A question whether Ann can reach Git from her device. */
function question(changes: object = {}) {
  return {
    subject: { type: "user", id: world.ann.email },
    action,
    resource: { type: "resource", id: "Git" },
    context: { deviceId: world.ann.device, time },
    ...changes,
  };
}

describe("a search", () => {
  const search = (what: string, body: object, client = tenant.client) => client.post(`/access/v1/search/${what}`, body);

  test("finds the devices that may", async () => {
    const { body } = await search("subject", question({ subject: { type: "device" }, context: { time } }));
    expect(body.results).toEqual([{ type: "device", id: world.ann.device }]);
    expect(body.page).toEqual({ next_token: "", count: 1 });
    expect(body.context.found).toMatchObject([{ id: world.ann.device, policy: world.allowing }]);
  });

  test("finds users: none without a device, and the owner with a device", async () => {
    const without = await search("subject", question({ subject: { type: "user", id: "ignored" }, context: { time } }));
    expect(without.body.results).toEqual([]);
    const owner = await search("subject", question({ subject: { type: "user", id: "ignored" } }));
    expect(owner.body.results).toEqual([{ type: "user", id: world.ann.id }]);
    expect(owner.body.context.found).toMatchObject([{ name: world.ann.email }]);
  });

  test("finds resources, whatever id is given", async () => {
    const { body } = await search("resource", question({ resource: { type: "resource", id: "ignored" } }));
    expect(body.results).toEqual([{ type: "resource", id: world.git.id }]);
    expect(body.context.found).toMatchObject([{ name: "Git", gateways: world.gateways }]);
  });

  test.each([
    ["subject", "unknown_resource", () => ({ subject: { type: "user" }, resource: { type: "resource", id: "Gti" } })],
    ["subject", "invalid_address", () => ({ subject: { type: "user" }, resource: { type: "address", id: "a b" } })],
    ["subject", "unknown_subject_type", () => ({ subject: { type: "site" } })],
    ["subject", "unknown_action", () => ({ subject: { type: "user" }, action: { name: "fly" } })],
    ["resource", "unknown_user", () => ({ subject: { type: "user", id: "typo@example.com" }, context: { time } })],
    ["resource", "unknown_device", () => ({ subject: { type: "device", id: "typo" } })],
    ["resource", "unknown_resource_type", () => ({ resource: { type: "printer" } })],
  ])("for a %s says why there is nothing to find: %s", async (what, reason, changes) => {
    const { status, body } = await search(what, question(changes()));
    expect({ status, body }).toMatchObject({ status: 200, body: { results: [], context: { found: [], reason } } });
    expect(
      (await search(what, question({ subject: { type: "user", id: world.ann.id } }))).body.context,
    ).not.toHaveProperty("reason");
  });

  test("finds actions", async () => {
    expect((await search("action", question())).body.results).toEqual([{ name: "connect" }]);
    const refused = await search("action", question({ resource: { type: "resource", id: "Wiki" } }));
    expect(refused.body).toEqual({ page: { next_token: "", count: 0 }, results: [] });
  });

  test.each([
    ["subject", { subject: { type: "group" } }],
    ["subject", { subject: { type: "device" }, action: { name: "delete" } }],
    ["subject", { subject: { type: "device" }, resource: { type: "account", id: "1" } }],
    ["resource", { resource: { type: "address" } }],
    ["resource", { subject: { type: "group", id: "x" }, resource: { type: "resource" } }],
  ])("for a %s finds nothing if nothing is known: %j", async (what, changes) => {
    const { status, body } = await search(what, question(changes));
    expect({ status, results: body.results }).toEqual({ status: 200, results: [] });
  });

  test("is read page by page, with the token of the same request only", async () => {
    const own = await server.newTenant();
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      ids.push(
        (await created(own.client, "/tenants/resources", { name: unique("R"), type: "SAAS", addresses: [] })).id,
      );
    }
    const policy = { name: "All", type: "SAAS", action: true, allUsers: true, allResources: true };
    await created(own.client, "/tenants/policies", policy);
    const asked = { subject: { type: "user", id: "owner@example.com" }, action, resource: { type: "resource" } };
    const read = async (page: object, changes: object = {}) =>
      search("resource", { ...asked, ...changes, page }, own.client);

    const found: string[] = [];
    let token = "";
    do {
      // The limit may be repeated or omitted.
      const { body } = await read(token === "" ? { limit: 2 } : { token });
      expect(body.results.length).toBeLessThanOrEqual(2);
      found.push(...body.results.map(({ id }: { id: string }) => id));
      token = body.page.next_token;
    } while (token !== "");
    expect(found).toEqual(ids.sort());

    const first = (await read({ limit: 2 })).body.page.next_token;
    expect((await read({ token: first, limit: 2 })).body.results).toHaveLength(2);
    expect((await read({ limit: 0 })).body).toMatchObject({ results: [], page: { count: 0 } });
    for (const reply of [
      await read({ token: first, limit: 3 }),
      await read({ token: first }, { context: { country: "DE" } }),
      await read({ token: "nonsense" }),
    ]) {
      expect(reply.body).toMatchObject({ status: 400, errors: [{ pointer: "/page/token" }] });
    }
    expect((await read({ limit: -1 })).status).toBe(400);
    // JSON.parse reads this number as infinity.
    const text = JSON.stringify({ ...asked, context: { note: 0 } }).replace('"note":0', '"note":1e999');
    expect((await own.client.send("POST", "/access/v1/search/resource", text)).status).toBe(200);
  });
});
