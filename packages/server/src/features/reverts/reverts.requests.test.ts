/** The revert of a whole request: all events of a change set, or of another revert. */
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { budgeted } from "../../../../../test/budget.ts";
import { created } from "../../testing/access-network.ts";
import { make, unique } from "../../testing/operations/test-records.ts";
import { changesOf, createWorld, draw } from "../../testing/random-changes.ts";
import { type RevertingClient, revertingClient } from "../../testing/reverting-client.ts";
import { sharedTestServer, type TestClient, type TestServer } from "../../testing/test-server.ts";

let server: TestServer;
let client: TestClient;
let by: RevertingClient;

beforeAll(async () => {
  server = await sharedTestServer();
  ({ client } = await server.newTenant());
  by = revertingClient(client);
});

/** All settings by name, without ids, versions and times. */
async function stateOf(reader: TestClient): Promise<unknown> {
  const [{ body: document }, { body: users }] = await Promise.all([
    reader.get("/tenants/configuration"),
    reader.get("/tenants/users?sort=email&limit=100"),
  ]);
  return {
    document,
    users: users.data.map(({ email, status, groups }: Record<string, unknown>) => ({
      email,
      status,
      groups: (groups as readonly { name: string }[]).map(({ name }) => name).sort(),
    })),
  };
}

test("a preview of one event of several names their number, and the whole request is reverted as one", async () => {
  const [one, other] = [await make("group", client), await make("group", client)];
  const before = await stateOf(client);
  const update = ({ id }: { id: string }) => ({
    method: "PUT",
    path: `/tenants/groups/${id}`,
    body: { description: "New" },
  });
  const set = await client.must.post("/tenants/changes", { changes: [update(one), update(other)] });
  const after = await stateOf(client);
  const [event] = set.body.changes[0].events;
  expect((await by.preview(event)).body).toMatchObject({ scope: "event", requestEvents: 2, changes: [{}] });
  const planned = (await by.previewRequest(event)).body;
  expect(planned).toMatchObject({ scope: "request", requestEvents: 2, cannot: [], undoes: [], moreUndone: false });
  // The last change is reverted first.
  expect(planned.changes.map(({ path }: { path: string }) => path)).toEqual([
    `/tenants/groups/${other.id}`,
    `/tenants/groups/${one.id}`,
  ]);
  const done = await by.revertRequest(event);
  expect(done.status, done.text).toBe(200);
  expect(await stateOf(client)).toEqual(before);
  const undone = await by.revertRequest(done.body.results[1].events[0]);
  expect(undone.status, undone.text).toBe(200);
  expect(await stateOf(client)).toEqual(after);
});

test("each entry of a revert names the event that it reverts, and the record can be filtered by it", async () => {
  const { id } = await make("group", client);
  const group = { method: "PUT", path: `/tenants/groups/${id}` };
  const set = await client.must.post("/tenants/changes", {
    changes: [
      { ...group, body: { description: "New" } },
      { ...group, body: { maxDevices: 9 } },
    ],
  });
  const events = set.body.changes.flatMap(({ events: ids }: { events: readonly string[] }) => ids);
  expect((await client.get(`/tenants/events?filter[id]=${events[0]}`)).body.data[0].reverts).toBeUndefined();
  await by.revertRequest(events[0]);
  for (const reverted of events) {
    const { body } = await client.get(`/tenants/events?filter[reverts]=${reverted}`);
    expect(body.data).toMatchObject([{ operation: "updateGroup", target: { id }, reverts: reverted }]);
  }
});

test("records that return refer to each other by their new ids", async () => {
  const staff = await created(client, "/tenants/groups", { name: unique("Staff") });
  const policy = await created(client, "/tenants/policies", {
    name: unique("Policy"),
    type: "PRIVATE",
    action: true,
    groups: [staff.id],
    allResources: true,
  });
  const before = await stateOf(client);
  const set = await client.must.post("/tenants/changes", {
    changes: [
      { method: "DELETE", path: `/tenants/groups/${staff.id}` },
      { method: "DELETE", path: `/tenants/policies/${policy.id}` },
    ],
  });
  const [event] = set.body.changes[1].events;
  const planned = (await by.previewRequest(event)).body;
  expect(planned).toMatchObject({
    recreated: { type: "policy", formerId: policy.id },
    alsoRecreated: [{ type: "group", formerId: staff.id }],
    cannot: [],
  });
  expect(planned.changes).toMatchObject([
    { path: "/tenants/policies", as: "reverted" },
    { path: "/tenants/groups", as: "reverted-2" },
    { path: "/tenants/policies/@reverted", body: { groups: ["@reverted-2"] } },
  ]);
  const done = await by.revertRequest(event);
  expect(done.body).toMatchObject({
    recreated: { id: expect.any(String) },
    alsoRecreated: [{ id: expect.any(String) }],
  });
  expect(await stateOf(client)).toEqual(before);
});

test("reverting a request restores the state before it, and reverting that revert the state after it", async () => {
  let reverts = 0;
  let twice = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(draw, { minLength: 1, maxLength: 8 }), async (draws) => {
      const world = await createWorld(server);
      const reverting = revertingClient(world.client);
      const before = await stateOf(world.client);
      const reply = await world.client.post("/tenants/changes", { changes: changesOf(draws, world.records) });
      if (reply.status !== 200) return;
      const events = reply.body.changes.flatMap(({ events: ids }: { events: readonly string[] }) => ids);
      if (events.length === 0) return;
      const after = await stateOf(world.client);
      const event = events[draws.length % events.length];
      const planned = await reverting.previewRequest(event);
      expect(planned.status, planned.text).toBe(200);
      if (planned.body.cannot.length > 0 || planned.body.refused !== undefined) return;
      const done = await reverting.revertRequest(event);
      expect(done.status, done.text).toBe(200);
      expect(done.body.changes).toEqual(planned.body.changes);
      expect(await stateOf(world.client)).toEqual(before);
      reverts += 1;
      const made = done.body.results.flatMap(({ events: ids }: { events: readonly string[] }) => ids);
      if (made.length === 0) return;
      const again = await reverting.previewRequest(made[0]);
      if (again.body.cannot.length > 0 || again.body.refused !== undefined) return;
      expect((await reverting.revertRequest(made[0])).status).toBe(200);
      expect(await stateOf(world.client)).toEqual(after);
      twice += 1;
    }),
    // Few random sets are performed whole: the first one always is.
    { numRuns: budgeted(300, 10), examples: [[[{ kind: 0, first: 0, second: 0, text: 0 }]]] },
  );
  expect(reverts).toBeGreaterThan(0);
  expect(twice).toBeGreaterThan(0);
});
