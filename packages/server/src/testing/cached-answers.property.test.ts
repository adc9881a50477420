/**
 * Every answer that a replica caches, against the answer of a replica that caches nothing. Commands run on either
 * replica, gateways and devices are heard, and time passes.
 */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { budgeted } from "../../../../test/budget.ts";
import {
  touchConnectedDevices,
  touchConnectedUsers,
  touchHeardGateways,
} from "../agents/gateways/link-state.queries.ts";
import type { TenantTx } from "../platform/tenancy/tenant-tx.ts";
import { makeId } from "./operations/test-records.ts";
import { changesOf, createWorld, type Draw, draw, type World } from "./random-changes.ts";
import { TestClock } from "./test-clock.ts";
import { startTestServer, type TestReply, type TestServer } from "./test-server.ts";

const clock = new TestClock();
/** Two replicas with a cache, and one without. */
let replicas: readonly [TestServer, TestServer];
let uncached: TestServer;

/** Whole orders are cached after the first page, and after the first search. */
const settings = { orderThresholds: { rows: 0, searches: 1 } };

beforeAll(async () => {
  replicas = [await startTestServer({ clock, settings }), await startTestServer({ clock, settings })];
  uncached = await startTestServer({ clock, settings: { cacheMebibytes: 0 } });
});
afterAll(async () => {
  for (const server of [...replicas, uncached]) await server.close();
});

interface Place {
  readonly world: World;
  readonly gateway: string;
  readonly device: string;
  /** Keys that see different parts of the tenant. */
  readonly keys: readonly string[];
  readonly questions: readonly string[];
}

async function createPlace(): Promise<Place> {
  const world = await createWorld(replicas[0]);
  const { client, tenant, records } = world;
  const gateway = await makeId("gateway", client);
  const device = await makeId("device", client);
  for (const id of records.resources) await client.must.put(`/tenants/resources/${id}/gateways/${gateway}`);
  const reads = ["resources:read", "users:read", "groups:read", "policies:read", "devices:read"] as const;
  const questions = [
    "/tenants/resources",
    "/tenants/resources?limit=1&sort=-name",
    "/tenants/resources?filter[type]=PRIVATE&filter[name][ilike]=name%25",
    "/tenants/resources?sort=name&offset=1&limit=2",
    "/tenants/resources?sort=name&filter[name][ilike]=%25ame%201%25",
    "/tenants/resources?sort=-name&filter[type]=PRIVATE&filter[name][ilike]=%25NAME%25&limit=2",
    `/tenants/resources?filter[gateways.id]=${gateway}&sort=-id`,
    `/tenants/resources?sort=name&limit=1&page[after]=${records.resources[0]}`,
    `/tenants/resources/${records.resources[0]}`,
    "/tenants/users",
    "/tenants/users?sort=-lastConnection&limit=2",
    `/tenants/users/${records.users[0]}`,
    "/tenants/groups",
    `/tenants/groups/${records.groups[0]}`,
    "/tenants/policies",
    `/tenants/policies/${records.policies[0]}`,
    "/tenants/devices",
    `/tenants/devices/${device}`,
  ];
  const keys = [tenant.key, await tenant.keyWith(...reads), await tenant.keyWith(...reads, "gateways:token")];
  keys.push(await tenant.keyWith("resources:read"));
  return { world, gateway, device, keys, questions };
}

/** A write outside of commands, as the links of agents make it. */
function observe(server: TestServer, { world, gateway, device }: Place): Promise<void> {
  const tenantId = world.tenant.id;
  const now = clock.now();
  const at = now.toISOString();
  return server.database.transaction({ kind: "tenant", tenantId }, async ({ query }) => {
    const tx: TenantTx = { tenantId, query };
    await touchHeardGateways(tx, [{ id: gateway, at }], now);
    const users = await touchConnectedDevices(tx, [{ device_id: device, gateway_id: gateway, at }]);
    await touchConnectedUsers(tx, users);
  });
}

async function compare({ questions, keys }: Place, from: number, count: number): Promise<void> {
  for (let index = from; index < from + count; index += 1) {
    const path = questions[index % questions.length] ?? "";
    const key = keys[Math.floor(index / questions.length) % keys.length];
    const expected = shownBy(await uncached.client(key).get(path));
    for (const server of replicas) {
      // Requests in one turn of the event loop share the check, the records that are read, and decrypted secrets.
      const replies = await Promise.all([1, 2].map(() => server.client(key).get(path)));
      for (const reply of replies) expect({ path, ...shownBy(reply) }).toEqual({ path, ...expected });
      await server.runner.pages?.settled();
    }
  }
}

/** Errors contain the id of their request. */
function shownBy({ status, text, body, headers }: TestReply): object {
  return { status, content: status === 200 ? text : body.code, etag: headers.etag };
}

type Step =
  | { readonly kind: "change"; readonly draw: Draw; readonly replica: number }
  | { readonly kind: "observe"; readonly replica: number }
  | { readonly kind: "rotate"; readonly replica: number }
  | { readonly kind: "pass"; readonly ms: number }
  | { readonly kind: "compare"; readonly from: number };

const replica = fc.nat(1);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("change" as const), draw, replica }),
  fc.record({ kind: fc.constant("observe" as const), replica }),
  fc.record({ kind: fc.constant("rotate" as const), replica }),
  // Devices are online for three minutes; an invitation expires after days.
  fc.record({ kind: fc.constant("pass" as const), ms: fc.constantFrom(1_000, 181_000, 15 * 86_400_000) }),
  fc.record({ kind: fc.constant("compare" as const), from: fc.nat(100) }),
);

test("a cached answer equals the answer that is assembled for the request", { timeout: 600_000 }, async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
    const place = await createPlace();
    const { world, keys, gateway } = place;
    await compare(place, 0, place.questions.length * keys.length);
    const [owner] = keys;
    for (const [index, taken] of steps.entries()) {
      if (taken.kind === "pass") clock.advance(taken.ms);
      else if (taken.kind === "compare") await compare(place, taken.from, 5);
      else {
        const server = replicas[taken.replica] ?? uncached;
        if (taken.kind === "observe") await observe(server, place);
        else if (taken.kind === "rotate") {
          await server.client(owner).must.post(`/tenants/gateways/${gateway}/rotate-token`);
        } else {
          const [change] = changesOf([taken.draw], world.records);
          // Some changes are refused, because their names are taken or their records are gone.
          if (change !== undefined) await server.client(owner).send(change.method, change.path, change.body);
        }
      }
      await compare(place, index * 7, 4);
    }
    await compare(place, 0, place.questions.length * keys.length);
  });
  await fc.assert(property, { numRuns: budgeted(100, 3) });
  const { answers, pages } = replicas[0].runner;
  expect(answers.state.hits).toBeGreaterThan(0);
  expect(pages?.state.joined).toBeGreaterThan(0);
});

test("an answer contains every change that was acknowledged before the request, on any replica", {
  timeout: 120_000,
}, async () => {
  const { world, gateway } = await createPlace();
  const [id] = world.records.resources;
  const path = `/tenants/resources/${id}`;
  const last = budgeted(400, 40);
  let acknowledged = 0;
  let done = false;
  const write = async () => {
    for (let number = 1; number <= last; number += 1) {
      const writer = replicas[number % 2] ?? uncached;
      const { status } = await writer.client(world.tenant.key).patch(path, { name: `Name ${number}` });
      expect(status).toBe(204);
      acknowledged = number;
    }
    done = true;
  };
  const observeAlways = async () => {
    while (!done) await observe(replicas[1], { world, gateway, device: gateway, keys: [], questions: [] });
  };
  const numberIn = (text: string) => Number(/"name":"Name (\d+)"/.exec(text)?.[1] ?? 0);
  let read = 0;
  const reader = async (server: TestServer, question: string) => {
    while (!done) {
      const least = acknowledged;
      const { text } = await server.client(world.tenant.key).get(question);
      expect(numberIn(text)).toBeGreaterThanOrEqual(least);
      read += 1;
    }
  };
  const pages = ["/tenants/resources?limit=1", "/tenants/resources?limit=2", "/tenants/resources?sort=-id"];
  const readers = replicas.flatMap((server) => [path, path, ...pages].map((asked) => reader(server, asked)));
  await Promise.all([write(), observeAlways(), ...readers]);
  expect(read).toBeGreaterThan(last);
});
