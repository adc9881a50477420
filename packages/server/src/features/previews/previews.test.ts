import { randomUUID } from "node:crypto";
import { isPreviewable } from "@gatehouse/contract/operation";
import { operations } from "@gatehouse/contract/operations/all";
import { previewableOperations } from "@gatehouse/contract/operations/change-set-operations";
import { maxPreviewedChanges } from "@gatehouse/contract/records/change-set";
import { beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../platform/clock.ts";
import { createAccessNetwork } from "../../testing/access-network.ts";
import { callerOf, createWorld, pathOf, type TestWorld } from "../../testing/operations/operation-case.ts";
import { namedCases } from "../../testing/operations/operation-cases.ts";
import { make, makeId, publicKey, unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { rowCounts } from "../../testing/row-counts.queries.ts";
import { secretForms } from "../../testing/secret-forms.ts";
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
let network: Awaited<ReturnType<typeof createAccessNetwork>>;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
  client = tenant.client;
  network = await createAccessNetwork(server, tenant);
});

const path = "/tenants/policies/preview";

interface Change {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly as?: string;
  readonly body?: unknown;
}

const preview = (changes: readonly Change[], rest: object = {}, by = client) => by.post(path, { changes, ...rest });

async function previewed(changes: readonly Change[], rest: object = {}) {
  const reply = await preview(changes, rest);
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

const refusedAt = (index: number, status: number, code: string) => ({
  status,
  body: { code, errors: expect.arrayContaining([expect.objectContaining({ pointer: `/changes/${index}` })]) },
});

test("accepts the operations of change sets, and those that can change access in a tenant", () => {
  const wanted = operations.filter(isPreviewable).map(({ id }) => id);
  expect(wanted.length).toBeGreaterThan(40);
  expect(previewableOperations.map(({ id }) => id).sort()).toEqual(wanted.sort());
});

describe("gained and lost access", () => {
  test("lists the effect of one change by name", async () => {
    const { ann, bob, git, denying } = network;
    const body = await previewed([{ method: "PATCH", path: `/tenants/policies/${denying.id}/deactivate` }]);
    const subject = {
      kind: "device",
      id: bob.device,
      name: `Laptop of ${bob.email}`,
      user: { id: bob.id, name: bob.email },
    };
    expect(body).toMatchObject({
      gained: { users: 1, devices: 1, sites: 0, resources: 1, internet: false, pairs: 1 },
      lost: { pairs: 0 },
      groupCount: 1,
      groups: [{ change: "gained", before: "never", after: "sometimes", subjects: [subject], resources: [git] }],
      rows: [{ change: "gained", before: "never", after: "sometimes", subject, resource: git }],
      brokenTests: [],
    });
    expect(JSON.stringify(body)).not.toContain(ann.id);
  });

  test("names the earlier resource at the address of a new one", async () => {
    const address = `${randomUUID()}.internal`;
    const body = {
      name: unique("Wiki"),
      type: "PRIVATE",
      addresses: [{ address, protocols: [await makeId("protocol", client)] }],
    };
    const { body: first } = await client.must.post("/tenants/resources", body);
    const again = { ...body, name: unique("Wiki for all") };
    const { sharedAddresses } = await previewed([{ method: "POST", path: "/tenants/resources", body: again }]);
    const resource = { id: expect.any(String), name: again.name };
    const named = { id: first.id, name: body.name };
    expect(sharedAddresses).toEqual([{ address, resource, resources: [named, resource], enclosing: [] }]);
    expect(await previewed([{ method: "DELETE", path: `/tenants/resources/${first.id}` }])).not.toHaveProperty(
      "sharedAddresses",
    );
  });

  test("applies the given circumstances", async () => {
    const change: Change = { method: "PATCH", path: `/tenants/policies/${network.denying.id}/deactivate` };
    const early = await previewed([change], { context: { time: "2026-01-31T12:00:00Z" } });
    expect(early.rows).toMatchObject([{ before: "never", after: "always" }]);
    const late = await previewed([change], { context: { time: "2031-01-31T12:00:00Z" } });
    expect(late.rows).toEqual([]);
    expect(await preview([change], { context: { sourceIp: "nowhere" } })).toMatchObject({
      status: 422,
      body: { code: "invalid_address", errors: [{ pointer: "/context/sourceIp" }] },
    });
  });

  test("covers all changes together, each of which sees the previous ones", async () => {
    const { ann, bob, engineers } = network;
    const removal: Change = { method: "DELETE", path: `/tenants/users/${ann.id}/groups/${engineers.id}` };
    // The last group of a user cannot be removed, but here it is no longer the last one.
    const other = await makeId("group", client);
    expect(await preview([removal])).toMatchObject(refusedAt(0, 409, "last_group"));
    const addition: Change = { method: "POST", path: `/tenants/users/${ann.id}/groups`, body: { groupId: other } };
    const deactivation: Change = { method: "PATCH", path: `/tenants/policies/${network.denying.id}/deactivate` };
    const body = await previewed([addition, removal, deactivation]);
    expect(body.rows.map((row: { change: string; subject: { id: string } }) => [row.change, row.subject.id])).toEqual([
      ["gained", bob.device],
      ["lost", ann.device],
    ]);
    // A gain by one change and a loss by the other cancel out.
    expect(
      (await previewed([deactivation, { method: "POST", path: `/tenants/policies/${network.denying.id}/reactivate` }]))
        .rows,
    ).toEqual([]);
  });

  test("has pages and exact counts", async () => {
    const policy = { name: unique("Policy"), type: "PRIVATE", action: true, allUsers: true, allResources: true };
    const change: Change = { method: "POST", path: "/tenants/policies", body: policy };
    const whole = await previewed([change], { page: { limit: 1_000 } });
    expect(whole.rows).toHaveLength(whole.gained.pairs + whole.lost.pairs);
    expect(whole.rows.length).toBeGreaterThan(5);
    const pages = [];
    for (let offset = 0; offset < whole.rows.length; offset += 2) {
      pages.push(...(await previewed([change], { page: { limit: 2, offset } })).rows);
    }
    expect(pages).toEqual(whole.rows);
    expect((await previewed([change], { page: { limit: 0 } })).rows).toEqual([]);
  });
});

describe("a change is refused", () => {
  const sound: Change = { method: "PATCH", path: "/tenants/policies/ID/deactivate" };
  const first = (): Change => ({ ...sound, path: `/tenants/policies/${network.denying.id}/deactivate` });

  test.each<[string, () => Change, number, string, string[]]>([
    ["where nothing is", () => ({ method: "POST", path: "/tenants/nothing" }), 422, "not_previewable", []],
    [
      "that shows a secret once",
      () => ({ method: "POST", path: "/tenants/api-keys", body: {} }),
      422,
      "not_previewable",
      [],
    ],
    ["that is a preview", () => ({ method: "POST", path, body: { changes: [] } }), 422, "not_previewable", []],
    [
      "with a query",
      () => ({ method: "DELETE", path: `/tenants/groups/${randomUUID()}?x=1` }),
      400,
      "invalid_parameter",
      ["/changes/1/path"],
    ],
    [
      "with an invalid path",
      () => ({ method: "DELETE", path: "/tenants/groups/%E0%A4%A" }),
      422,
      "not_previewable",
      [],
    ],
    [
      "with an invalid id",
      () => ({ method: "DELETE", path: "/tenants/groups/x" }),
      400,
      "invalid_parameter",
      ["/changes/1/path"],
    ],
    [
      "with an id of nothing",
      () => ({ method: "DELETE", path: `/tenants/groups/${randomUUID()}` }),
      404,
      "not_found",
      [],
    ],
    ["with a text for an id", () => ({ method: "PATCH", path: "/tenants/users/x/deactivate" }), 404, "not_found", []],
    ["without a body", () => ({ method: "POST", path: "/tenants/groups" }), 400, "invalid_json", []],
    [
      "with a body that is not taken",
      () => ({ ...first(), body: { name: "x" } }),
      400,
      "invalid_body",
      ["/changes/1/body/name"],
    ],
    [
      "with a field too many",
      () => ({ method: "POST", path: "/tenants/groups", body: { name: "A", roles: [], extra: 1 } }),
      400,
      "invalid_body",
      ["/changes/1/body/extra"],
    ],
    [
      "with a reference to nothing",
      () => ({ method: "POST", path: `/tenants/users/${network.ann.id}/groups`, body: { groupId: randomUUID() } }),
      422,
      "unknown_reference",
      ["/changes/1/body/groupId"],
    ],
    [
      "by the state of things",
      () => ({ method: "POST", path: "/tenants/groups", body: { name: "Engineers" } }),
      409,
      "name_taken",
      ["/changes/1/body/name"],
    ],
    [
      "by what another record needs",
      () => ({ method: "DELETE", path: `/tenants/resources/${network.git.id}` }),
      409,
      "resource_in_use",
      [`/tenants/policies/${"PLACE"}`],
    ],
  ])("%s, as its own request would be", async (_what, change, status, code, pointers) => {
    const refused = change();
    const reply = await preview([first(), refused]);
    expect(reply).toMatchObject(refusedAt(1, status, code));
    const told = reply.body.errors.map(({ pointer }: { pointer: string }) => pointer);
    for (const pointer of pointers) {
      expect(told).toContainEqual(
        pointer.endsWith("PLACE") ? expect.stringMatching(/^\/tenants\/policies\//) : pointer,
      );
    }
    expect(reply.body.detail).toContain(refused.path);
  });

  test("treats a record of another tenant like a missing one", async () => {
    const other = await server.newTenant();
    const foreign = await makeId("group", other.client);
    const refusal = async (id: string) => {
      const { status, body } = await preview([{ method: "DELETE", path: `/tenants/groups/${id}` }]);
      return JSON.stringify({ status, code: body.code, detail: body.detail, errors: body.errors }).replaceAll(id, "ID");
    };
    expect(await refusal(foreign)).toBe(await refusal(randomUUID()));
    expect((await other.client.get(`/tenants/groups/${foreign}`)).status).toBe(200);
  });

  test("for a missing permission first, then for an invalid form, then for not being previewable", async () => {
    const key = server.client(await tenant.keyWith("decisions:read", "groups:write"));
    const forbidden = first();
    const malformed: Change = { method: "POST", path: "/tenants/groups", body: { nothing: 1 } };
    const none: Change = { method: "POST", path: "/tenants/nothing" };
    const refused = await preview([none, malformed, forbidden], {}, key);
    expect(refused).toMatchObject(refusedAt(2, 403, "permission_denied"));
    expect(refused.body.detail).toContain("policies:write");
    expect(await preview([none, malformed], {}, key)).toMatchObject(refusedAt(1, 400, "invalid_body"));
    expect(await preview([none], {}, key)).toMatchObject(refusedAt(0, 422, "not_previewable"));
    expect(
      (await preview([{ method: "POST", path: "/tenants/groups", body: { name: unique("G"), roles: [] } }], {}, key))
        .status,
    ).toBe(200);
    const writer = server.client(await tenant.keyWith("policies:write"));
    expect((await preview([first()], {}, writer)).status).toBe(403);
  });

  test("refuses to grant more than the caller holds", async () => {
    const key = server.client(await tenant.keyWith("decisions:read", "users:write"));
    const roles = (await client.get("/tenants/roles")).body;
    const admin = roles.find(({ type }: { type: string }) => type === "ADMIN").id;
    const change: Change = {
      method: "PATCH",
      path: `/tenants/users/${network.ann.id}/roles`,
      body: { addedRoles: [admin] },
    };
    expect(await preview([change], {}, key)).toMatchObject(refusedAt(0, 403, "grants_exceed_caller"));
  });

  test("above the maximum number of changes", async () => {
    const many = Array.from({ length: maxPreviewedChanges + 1 }, first);
    expect((await preview(many)).status).toBe(400);
    // A busy machine can need longer than a preview may take.
    const { status, body } = await preview(many.slice(1));
    expect([200, 422]).toContain(status);
    if (status === 422) expect(body.code).toBe("preview_too_long");
    expect((await preview([])).status).toBe(400);
  });

  test("before the next change if the tenant has been locked for too long", async () => {
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
      const invitation = (): Change => ({ method: "POST", path: "/tenants/users", body: { email: uniqueEmail() } });
      const many = Array.from({ length: 20 }, invitation);
      expect((await preview(many, {}, theirs)).status).toBe(200);
      stepMs = 1_000;
      const reply = await preview(many, {}, theirs);
      expect({ status: reply.status, code: reply.body.code }).toEqual({ status: 422, code: "preview_too_long" });
      expect(reply.body.errors[0].pointer).toMatch(/^\/changes\/[1-9]$/);
      stepMs = 7_000;
      const accepting = await preview([invitation()], { invitationsAccepted: true }, theirs);
      expect({ status: accepting.status, code: accepting.body.code }).toEqual({
        status: 422,
        code: "preview_too_long",
      });
      stepMs = 1_000;
      expect((await preview([invitation()], {}, theirs)).status).toBe(200);
    } finally {
      await slow.close();
    }
  });
});

describe("nothing is stored", () => {
  let world: TestWorld;

  beforeAll(async () => {
    world = await createWorld(server);
  });

  test.each(namedCases.filter(({ operation }) => isPreviewable(operation)))(
    "of $id",
    async ({ operation, prepare }) => {
      const { client: ours, id } = world.ours.tenant;
      const request = await prepare(world.ours);
      const change = {
        method: operation.method,
        path: pathOf(operation, request.parameters),
        body: request.body,
      } as Change;
      const before = await rowCounts(server.database, id);
      const events = (await ours.get("/tenants/events?limit=1")).body.total;

      const reply = await preview([change], { page: { limit: 1_000 } }, ours);

      expect(reply.status, reply.text).toBe(200);
      expect(reply.text).not.toMatch(secretForms);
      expect(reply.headers["gatehouse-event"]).toBeUndefined();
      expect(await rowCounts(server.database, id)).toEqual(before);
      expect((await ours.get("/tenants/events?limit=1")).body.total).toBe(events);

      // Performing the changes has the previewed effect.
      const done = await callerOf(operation, world.ours).send(operation.method, change.path, request.body);
      expect(done.status, done.text).toBe(operation.success.status);
      const event = done.headers["gatehouse-event"];
      if (event === undefined) return;
      const { body: effect } = await ours.get(`/tenants/events/${event}/effect`);
      const stored = withoutNewIds(effect);
      expect(withoutNewIds(reply.body)).toEqual(stored);
    },
  );
});

/** The common part of a preview and an effect. Created records have different ids. */
function withoutNewIds({ gained, lost, groupCount, groups }: Record<string, unknown>) {
  return JSON.parse(
    JSON.stringify({ gained, lost, groupCount, groups }).replaceAll(/"id":"[0-9a-f-]{36}"/g, '"id":""'),
  );
}

describe("concurrent writes", () => {
  test("a preview does not see half of a change and does not block writers for long", async () => {
    const other = await server.newTenant();
    const { client: writer } = other;
    const group = await make("group", writer);
    const users = await Promise.all([1, 2, 3, 4].map(() => makeId("user", writer)));
    const policies = await Promise.all([1, 2, 3].map(() => makeId("policy", writer)));
    const work = async (index: number) => {
      const replies = [];
      for (let turn = 0; turn < 6; turn += 1) {
        const user = users[(index + turn) % users.length];
        const policy = policies[(index + turn) % policies.length];
        replies.push(
          index % 2 === 0
            ? await preview(
                [
                  { method: "POST", path: `/tenants/users/${user}/groups`, body: { groupId: group.id } },
                  { method: "PATCH", path: `/tenants/policies/${policy}/deactivate` },
                  { method: "PATCH", path: `/tenants/users/${user}/deactivate` },
                ],
                {},
                writer,
              )
            : turn % 2 === 0
              ? await writer.patch(`/tenants/policies/${policy}`, { name: unique("Policy") })
              : await writer.patch(`/tenants/users/${user}`, { attributes: { turn } }),
        );
      }
      return replies;
    };
    const replies = (await Promise.all([0, 1, 2, 3, 4, 5].map(work))).flat();
    expect(replies.filter(({ status }) => status !== 200).map(({ text }) => text)).toEqual([]);
    for (const user of users) expect((await writer.get(`/tenants/users/${user}`)).body.status).toBe("pending");
  });
});

test("a configuration can be previewed as a whole", async () => {
  const other = await server.newTenant();
  const { ann } = await createAccessNetwork(server, other);
  const document = (await other.client.get("/tenants/configuration")).body;
  const policies = {
    ...document.policies,
    PRIVATE: document.policies.PRIVATE.map((policy: { name: string }) =>
      policy.name === "Engineers use Git" ? { ...policy, groups: [] } : policy,
    ),
  };
  const change: Change = {
    method: "POST",
    path: "/tenants/configuration/apply",
    body: { version: 1, policies },
  };
  const reply = await preview([change], {}, other.client);
  expect(reply.status, reply.text).toBe(200);
  expect(reply.body.rows).toMatchObject([{ change: "lost", subject: { id: ann.device } }]);
  expect((await other.client.get("/tenants/configuration")).body).toEqual(document);
});

test("names new users and devices, although no request can refer to them", async () => {
  const other = await server.newTenant();
  const policy = { name: "All", type: "PRIVATE", action: true, allUsers: true, allResources: true };
  await other.client.must.post("/tenants/policies", policy);
  const user = await make("user", other.client);
  const resource = await make("resource", other.client);
  const device = { name: "New laptop", userId: user.id, hardwareId: "SERIAL-2", publicKey: publicKey() };
  const reply = await preview(
    [
      { method: "POST", path: "/tenants/devices", body: device },
      { method: "POST", path: "/tenants/users", body: { email: uniqueEmail() } },
    ],
    {},
    other.client,
  );
  expect(reply.status, reply.text).toBe(200);
  const onResource = reply.body.rows.filter((row: { resource?: { id: string } }) => row.resource?.id === resource.id);
  expect(onResource.map(({ subject }: { subject: { name: string } }) => subject.name)).toEqual([
    user.email,
    "New laptop",
  ]);
});
