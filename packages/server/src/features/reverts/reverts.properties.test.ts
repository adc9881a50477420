/** A revert restores the previous state, and the revert of a revert the state after the event. */
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { budgeted } from "../../../../../test/budget.ts";
import { createAccessNetwork } from "../../testing/access-network.ts";
import { sharedTestServer, type TestClient, type TestServer } from "../../testing/test-server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await sharedTestServer();
});

interface Step {
  readonly verb: "PUT" | "PATCH" | "POST" | "DELETE";
  readonly path: string;
  readonly body?: object;
}

type Named = { readonly id: string; readonly name: string };

/** The records that random steps change. */
async function createWorld() {
  const tenant = await server.newTenant();
  const { client } = tenant;
  const { ann, bob, engineers, gateways, git, wiki, denying, allowing } = await createAccessNetwork(server, tenant);
  return {
    client,
    users: [ann.id, bob.id],
    groups: [engineers],
    gateways,
    resources: [git, wiki],
    policies: [denying, allowing],
  };
}

type World = Awaited<ReturnType<typeof createWorld>>;

const pick = <T>(items: readonly T[], index: number): T => items[index % items.length] as T; // the lists are not empty

/** Steps by kind. Each changes one record of the world. */
const steps: readonly ((world: World, index: number, flag: boolean) => Step)[] = [
  ({ groups }, index) => ({
    verb: "PUT",
    path: `/tenants/groups/${pick(groups, index).id}`,
    body: { maxDevices: index },
  }),
  ({ groups }, index) => ({
    verb: "PUT",
    path: `/tenants/groups/${pick(groups, index).id}`,
    body: { description: `${index}` },
  }),
  ({ users }, index) => ({
    verb: "PUT",
    path: `/tenants/users/${pick(users, index)}`,
    body: { firstName: `Name ${index}` },
  }),
  ({ users }, index) => ({
    verb: "PATCH",
    path: `/tenants/users/${pick(users, index)}`,
    body: { attributes: { index } },
  }),
  ({ users }, index) => ({ verb: "PATCH", path: `/tenants/users/${pick(users, index)}/deactivate` }),
  ({ policies }, index, flag) => ({
    verb: "PATCH",
    path: `/tenants/policies/${pick(policies, index).id}`,
    body: flag ? { resources: [] } : { sourceIps: [`192.0.2.${index}`], description: `${index}` },
  }),
  ({ policies }, index) => ({ verb: "PATCH", path: `/tenants/policies/${pick(policies, index).id}/deactivate` }),
  ({ policies }, _index, flag) => ({
    verb: "POST",
    path: "/tenants/policies/reorder",
    body: { type: "PRIVATE", policies: (flag ? policies : policies.toReversed()).map(({ id }) => id) },
  }),
  ({ policies }, index) => ({ verb: "DELETE", path: `/tenants/policies/${pick(policies, index).id}` }),
  ({ gateways }, index, flag) => ({
    verb: "POST",
    path: `/tenants/gateways/${pick(gateways, index).id}/${flag ? "enable-relay" : "enter-maintenance"}`,
  }),
  ({ resources, gateways }, index, flag) => ({
    verb: "POST",
    path: `/tenants/resources/${pick(resources, index).id}/loadBalancing`,
    body: {
      loadBalancingMode: flag ? "AUTOMATIC" : "MANUAL",
      gateways: (flag ? gateways.toReversed() : gateways.slice(1)).map(({ id }) => id),
    },
  }),
  ({ resources }, index) => ({ verb: "DELETE", path: `/tenants/resources/${pick(resources, 1 + 2 * index).id}` }),
  ({ groups }, index) => ({
    verb: "POST",
    path: "/tenants/groups",
    body: { name: `Group ${index} of ${groups.length}` },
  }),
];

/** All settings by name, without ids, versions and times. */
async function stateOf(client: TestClient): Promise<unknown> {
  const [{ body: document }, { body: users }] = await Promise.all([
    client.get("/tenants/configuration"),
    client.get("/tenants/users?sort=email&limit=100"),
  ]);
  return {
    document,
    statuses: users.data.map(({ email, status }: { email: string; status: string }) => [email, status]),
  };
}

async function newEvents(client: TestClient, count: number): Promise<readonly string[]> {
  const { total } = (await client.get("/tenants/events?limit=1")).body;
  if (total === count) return [];
  const { data } = (await client.get(`/tenants/events?sort=-position&limit=${total - count}`)).body;
  return data.map(({ id }: Named) => id);
}

test("reverting an event restores the previous state, and reverting that revert the state after the event", async () => {
  let reverts = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat({ max: steps.length - 1 }), fc.nat({ max: 50 }), fc.boolean()), {
        minLength: 3,
        maxLength: 6,
      }),
      async (chosen) => {
        const world = await createWorld();
        const { client } = world;
        for (const [kind, index, flag] of chosen) {
          const before = await stateOf(client);
          const { total } = (await client.get("/tenants/events?limit=1")).body;
          const { verb, path, body } = pick(steps, kind)(world, index, flag);
          const reply = await client.send(verb, path, body);
          const [event] = await newEvents(client, total);
          // A step may change nothing, or fail because an earlier step has deleted its record.
          if (reply.status >= 300 || event === undefined) continue;
          const after = await stateOf(client);
          const preview = await client.post(`/tenants/events/${event}/revert?preview=true`);
          expect(preview.status, preview.text).toBe(200);
          if (preview.body.cannot.length > 0 || preview.body.refused !== undefined) continue;
          const done = await client.post(`/tenants/events/${event}/revert`);
          expect(done.status, done.text).toBe(200);
          expect(await stateOf(client)).toEqual(before);
          reverts += 1;
          const [first] = done.body.results[0].events;
          const promised = await client.post(`/tenants/events/${first}/revert?scope=request&preview=true`);
          expect(promised.status, promised.text).toBe(200);
          expect(promised.body).toMatchObject({ cannot: [] });
          expect(promised.body.refused).toBeUndefined();
          const again = await client.post(`/tenants/events/${first}/revert?scope=request`);
          expect(again.status, again.text).toBe(200);
          expect(await stateOf(client)).toEqual(after);
        }
      },
    ),
    { numRuns: budgeted(160, 8) },
  );
  expect(reverts).toBeGreaterThan(8);
});
