/** Random change sets against their changes one by one, with failing changes, and against each other. */
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { budgeted } from "../../../../../test/budget.ts";
import { type Change, changesOf, createWorld, draw, type World } from "../../testing/random-changes.ts";
import { rowCounts } from "../../testing/row-counts.queries.ts";
import { sharedTestServer, type TestServer } from "../../testing/test-server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await sharedTestServer();
});

interface Answer {
  readonly status: number;
  readonly etag?: string | undefined;
  readonly location?: string | undefined;
  readonly body?: unknown;
}

interface Refusal {
  readonly index: number;
  readonly status: number;
  readonly code: string;
}

interface Done {
  readonly answers: readonly Answer[];
  readonly refusal?: Refusal;
}

async function oneByOne({ client }: World, changes: readonly Change[]): Promise<Done> {
  const ids = new Map<string, string>();
  const answers: Answer[] = [];
  for (const [index, { method, path, body, as }] of changes.entries()) {
    const resolved = JSON.stringify({ path, body }).replaceAll(/@n\d+/g, (name) => ids.get(name.slice(1)) ?? name);
    const request = JSON.parse(resolved);
    const reply = await client.send(method, request.path, request.body);
    if (reply.status >= 400) return { answers, refusal: { index, status: reply.status, code: reply.body.code } };
    if (as !== undefined) ids.set(as, reply.body.id);
    const { etag, location } = reply.headers;
    answers.push({ status: reply.status, etag, location, body: reply.text === "" ? undefined : reply.body });
  }
  return { answers };
}

async function together({ client }: World, changes: readonly Change[]): Promise<Done> {
  const { status, body, text } = await client.post("/tenants/changes", { changes });
  if (status >= 400) {
    const index = Number(/^\/changes\/(\d+)/.exec(body.errors?.[0]?.pointer ?? "")?.[1] ?? Number.NaN);
    return { answers: [], refusal: { index, status, code: body.code } };
  }
  expect(status, text).toBe(200);
  return { answers: body.changes.map(({ events: _events, ...answer }: Answer & { events: unknown }) => answer) };
}

/** Everything that a client can see of the tenant, except generations. */
async function stateOf({ client }: World): Promise<unknown> {
  const { status, body: configuration } = await client.get("/tenants/configuration");
  expect(status).toBe(200);
  const lists = [];
  for (const path of ["users", "groups", "policies", "resources"]) {
    lists.push((await client.get(`/tenants/${path}?limit=100`)).body);
  }
  const { data } = (await client.get("/tenants/events?limit=100&sort=position")).body;
  // The names and the key of a new tenant are random.
  const later = data.filter(({ operation }: { operation: string }) => operation !== "createTenant");
  const events = later.map(({ operation, target, before, after, position }: Record<string, unknown>) => ({
    operation,
    target,
    before,
    after,
    position,
  }));
  return { configuration, lists, protocols: (await client.get("/tenants/protocols")).body, events };
}

/** Numbers ids in the order in which they appear, and masks times. */
function masked(value: unknown): unknown {
  const ids = new Map<string, number>();
  const text = JSON.stringify(value)
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
      ids.set(id, ids.get(id) ?? ids.size);
      return `#${ids.get(id)}`;
    })
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME");
  return JSON.parse(text);
}

test("a set equals its changes one by one", async () => {
  let performed = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(draw, { minLength: 1, maxLength: 12 }), async (draws) => {
      const [whole, single] = [await createWorld(server), await createWorld(server)];
      const before = masked(await stateOf(whole));
      expect(masked(await stateOf(single))).toEqual(before);
      // The one preview without another writer returns what the set stores.
      const changes = changesOf(draws, whole.records);
      const preview = await whole.client.post("/tenants/policies/preview", { changes, page: { limit: 1_000 } });
      const { generation } = (await whole.client.get("/tenants/events?limit=1&sort=-position")).body.data[0];
      const set = await together(whole, changes);
      const alone = await oneByOne(single, changesOf(draws, single.records));
      expect(set.refusal).toEqual(alone.refusal);
      if (set.refusal !== undefined) {
        expect(preview.body.code).toBe(set.refusal.code);
        expect(masked(await stateOf(whole))).toEqual(before);
        return;
      }
      performed += 1;
      const [first, second] = [await stateOf(whole), await stateOf(single)];
      expect(masked([set.answers, first])).toEqual(masked([alone.answers, second]));
      await expectEffect(whole, preview.body, generation);
    }),
    // Few random sets are performed whole: the first one always is.
    { numRuns: budgeted(300, 12), examples: [[[{ kind: 0, first: 0, second: 0, text: 0 }]]] },
  );
  expect(performed).toBeGreaterThan(0);
});

/** The last entry of the set has the effect that was previewed. */
async function expectEffect({ client }: World, preview: Record<string, unknown>, before: number): Promise<void> {
  const [event] = (await client.get("/tenants/events?limit=1&sort=-position")).body.data;
  if (event.generation === before) return;
  const effect = await client.get(`/tenants/events/${event.id}/effect`);
  // A set of protocols alone has no effect.
  if (effect.status === 404) return;
  expect(event.generation).toBe(before + 1);
  const { gained, lost, groupCount } = effect.body;
  expect({ gained, lost, groupCount }).toEqual({
    gained: preview.gained,
    lost: preview.lost,
    groupCount: preview.groupCount,
  });
}

test("a failing change leaves no trace of the set", async () => {
  const failing: readonly Change[] = [
    { method: "POST", path: "/tenants/groups", body: { name: "Engineers", roles: [] } },
    { method: "DELETE", path: "/tenants/groups/00000000-0000-7000-8000-000000000000" },
    {
      method: "POST",
      path: "/tenants/policies",
      body: { name: "New", type: "PRIVATE", action: true, users: ["@none"] },
    },
  ];
  await fc.assert(
    fc.asyncProperty(
      fc.array(draw, { maxLength: 8 }),
      fc.nat(),
      fc.constantFrom(...failing),
      async (draws, at, fault) => {
        const world = await createWorld(server);
        const changes = changesOf(draws, world.records).toSpliced(at % (draws.length + 1), 0, fault);
        const { database } = server;
        const before = await rowCounts(database, world.tenant.id);
        const send = (body: object) =>
          world.client.post("/tenants/changes", body, { "idempotency-key": "the same key" });
        const reply = await send({ changes });
        expect(reply.status, reply.text).toBeGreaterThanOrEqual(400);
        expect(reply.status, reply.text).toBeLessThan(500);
        expect(await rowCounts(database, world.tenant.id)).toEqual(before);
        // The key was not used up.
        const valid = { method: "POST", path: "/tenants/groups", body: { name: "Another", roles: [] } };
        expect((await send({ changes: [valid] })).status).toBe(200);
      },
    ),
    { numRuns: budgeted(200, 8) },
  );
});

test("concurrent sets over the same records all end, whatever their order", async () => {
  const { client, records } = await createWorld(server);
  const statuses: number[] = [];
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(draw, { minLength: 2, maxLength: 8 }), { minLength: 4, maxLength: 6 }),
      async (sets) => {
        const replies = await Promise.all(
          sets.map((draws, index) => {
            const changes = changesOf(draws, records).filter(({ method }) => method !== "DELETE");
            const [first] = changes;
            if (first === undefined) return undefined;
            // Single writes lock records in their own order.
            return index === 0 && !/@/.test(JSON.stringify(first))
              ? client.send(first.method, first.path, first.body)
              : client.post("/tenants/changes", {
                  changes: changes.filter((change) => !/@/.test(JSON.stringify(change))),
                });
          }),
        );
        for (const reply of replies) {
          if (reply === undefined) continue;
          statuses.push(reply.status);
          expect(reply.status, reply.text).toBeLessThan(500);
          expect(reply.status, reply.text).not.toBe(429);
        }
      },
    ),
    // Random changes may all be refused: these ones are not.
    {
      numRuns: budgeted(200, 10),
      examples: [[[0, 1, 2, 3].map((first) => [0, 1].map((text) => ({ kind: 0, first, second: 0, text })))]],
    },
  );
  expect(statuses.filter((status) => status < 300).length).toBeGreaterThan(0);
});
