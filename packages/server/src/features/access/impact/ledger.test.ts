import type { EffectSummary } from "@gatehouse/contract/records/effect";
import { accessLevel } from "@gatehouse/policy/effects/access-level";
import type { TenantFacts } from "@gatehouse/policy/model/facts";
import { compile, type Model } from "@gatehouse/policy/model/model";
import { finish } from "@gatehouse/policy/work";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AppError } from "../../../platform/app-error.ts";
import { grantedToSystem } from "../../../platform/authorization/granted.ts";
import { systemClock } from "../../../platform/clock.ts";
import { runCommand } from "../../../platform/command.ts";
import { newId } from "../../../platform/ids.ts";
import { empty } from "../../../platform/outcome.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { createAccessNetwork } from "../../../testing/access-network.ts";
import { Administrator, administeredKinds, administratorStep } from "../../../testing/administrator.ts";
import { unique, uniqueEmail } from "../../../testing/operations/test-records.ts";
import { readEffects } from "../../../testing/stored-effects.queries.ts";
import { testLog } from "../../../testing/test-log.ts";
import { sharedTestServer, startTestServer, type TestServer, type TestTenant } from "../../../testing/test-server.ts";
import { accessTestGuard } from "../../access-tests/access-tests.api.ts";
import { insertGroups } from "../../groups/groups.api.ts";
import { readHistoryAt } from "../history/history.queries.ts";
import { factsOfHistory } from "../history/history.ts";
import { readAllFacts } from "../models/facts.queries.ts";
import type { ModelStore } from "../models/model-store.ts";
import type { AccessGuard } from "./access-guard.ts";
import { LateEffects } from "./late-effects.ts";
import { Ledger } from "./ledger.ts";

let server: TestServer;
let replica: TestServer;

beforeAll(async () => {
  server = await sharedTestServer();
  replica = await startTestServer();
});
afterAll(() => replica.close());

function read<T>(tenantId: string, work: (tx: TenantTx) => Promise<T>): Promise<T> {
  return server.database.readThrough({ kind: "tenant", tenantId }, ({ query }) => work({ tenantId, query }));
}

const factsAt = async (tenantId: string, generation: number) =>
  finish(factsOfHistory(await read(tenantId, (tx) => readHistoryAt(tx, generation))));

/**
 * Facts in canonical order, without ids of deleted records, which have no effect, and without states of gateways, which
 * reports change outside of commands. Policies keep their order.
 */
function comparable(facts: TenantFacts): object {
  const idsOf = (records: readonly { readonly id: string }[]) => new Set(records.map(({ id }) => id));
  const [groups, users, devices] = [idsOf(facts.groups), idsOf(facts.users), idsOf(facts.devices)];
  const [resources, gateways] = [idsOf(facts.resources), idsOf(facts.gateways)];
  const there = (ids: readonly string[], known: ReadonlySet<string>) => ids.filter((id) => known.has(id));
  const byId = <T extends { readonly id: string }>(records: readonly T[]) =>
    [...records].sort((a, b) => (a.id < b.id ? -1 : 1));
  return {
    users: byId(facts.users).map((user) => ({ ...user, groups: there(user.groups, groups) })),
    groups: byId(facts.groups),
    devices: byId(facts.devices).map((device) => ({ ...device, userId: there([device.userId ?? ""], users)[0] })),
    gateways: byId(facts.gateways).map(({ status: _status, ...gateway }) => gateway),
    resources: byId(facts.resources).map((resource) => ({ ...resource, gateways: there(resource.gateways, gateways) })),
    rules: byId(facts.rules),
    policies: ["PRIVATE", "SAAS", "INTERNET", "SITETOSITE"].map((type) =>
      facts.policies
        .filter((policy) => policy.type === type)
        .map((policy) => ({
          ...policy,
          groups: there(policy.groups, groups),
          users: there(policy.users, users),
          devices: there(policy.devices, devices),
          resources: there(policy.resources, resources),
          gateways: there(policy.gateways, gateways),
        })),
    ),
  };
}

const ranks = { never: 0, sometimes: 1, always: 2 } as const;

/** Counts gained and lost pairs by deciding for every principal and destination. */
function pairsBetween(before: Model, after: Model): { readonly gained: number; readonly lost: number } {
  const both = [before, after];
  const users = new Set(both.flatMap(({ users }) => Array.from(users.values(), ({ facts }) => facts.id)));
  const devices = new Map(
    both.flatMap((model) => Array.from(model.devices.values(), ({ facts }) => [facts.id, facts.userId])),
  );
  const sites = new Set(both.flatMap(({ gateways }) => Array.from(gateways.values(), ({ id }) => id)));
  const resources = new Set(both.flatMap(({ resources: all }) => Array.from(all.values(), ({ facts }) => facts.id)));
  const subjects = [
    ...[...users].map((userId) => ({ kind: "user" as const, userId })),
    ...[...devices].map(([deviceId]) => ({ kind: "device" as const, deviceId })),
    ...[...sites].map((gatewayId) => ({ kind: "site" as const, gatewayId })),
  ];
  const destinations = [
    ...[...resources].map((resourceId) => ({ kind: "resource" as const, resourceId })),
    { kind: "address" as const, address: "nowhere.invalid" },
  ];
  const counts = { gained: 0, lost: 0 };
  for (const subject of subjects) {
    for (const destination of destinations) {
      const [was, is] = both.map((model) => ranks[accessLevel(model, subject, destination, {})]) as [number, number];
      if (is > was) counts.gained += 1;
      if (is < was) counts.lost += 1;
    }
  }
  return counts;
}

test("after any commands on two replicas, the history equals the live state, and effects equal a full comparison", async () => {
  let compared = 0;
  let changed = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(administratorStep, { minLength: 50, maxLength: 60, size: "max" }), async (steps) => {
      const tenant = await server.newTenant();
      const administrators = [
        new Administrator(server, tenant),
        new Administrator(server, tenant, replica.client(tenant.key)),
      ] as const;
      Object.assign(administrators[1].ids, administrators[0].ids);
      const [one, other] = administrators;
      for (const [index, kind] of Array(4).fill(administeredKinds).flat().entries()) {
        await (index % 2 === 0 ? one : other).do({ do: "create", kind, a: index, b: index + 3, c: index });
      }
      // Users are pending until they enrol a device. Give some of them access.
      for (const a of [0, 1, 2, 3]) {
        await one.do({ do: "create", kind: "device", a, b: 3, c: 2 });
        await other.do({ do: "create", kind: "policy", a, b: a * 4 + 5, c: 4 });
      }
      let seen = Math.max(...(await read(tenant.id, (tx) => readEffects(tx, 0))).map(({ generation }) => generation));
      for (const [index, step] of steps.entries()) {
        // Deletions change the lists of ids.
        const [acting, watching] = index % 3 === 0 ? [other, one] : [one, other];
        await acting.do(step);
        Object.assign(watching.ids, acting.ids);
        for (const { generation, summary } of await read(tenant.id, (tx) => readEffects(tx, seen))) {
          const [before, after] = await Promise.all([
            factsAt(tenant.id, generation - 1),
            factsAt(tenant.id, generation),
          ]);
          const pairs = pairsBetween(compile(before), compile(after));
          expect({ gained: summary?.gained.pairs, lost: summary?.lost.pairs }).toEqual(pairs);
          changed += pairs.gained + pairs.lost > 0 ? 1 : 0;
          compared += 1;
          seen = generation;
        }
        const live = await read(tenant.id, readAllFacts);
        expect(comparable(await factsAt(tenant.id, seen))).toEqual(comparable(live.facts));
      }
    }),
    { numRuns: 4, endOnFailure: true },
  );
  expect(compared).toBeGreaterThan(40);
  expect(changed).toBeGreaterThan(10);
});

describe("a write that can change access", () => {
  let tenant: TestTenant;
  let network: Awaited<ReturnType<typeof createAccessNetwork>>;
  beforeAll(async () => {
    tenant = await server.newTenant();
    network = await createAccessNetwork(server, tenant);
  });
  const effectOf = async (event: string | undefined) =>
    (await tenant.client.get(`/tenants/events/${event}/effect`)).body;

  test("names its entry, and the effect of the entry lists gains and losses", async () => {
    const path = `/tenants/policies/${network.allowing.id}/deactivate`;
    const { headers } = await tenant.client.patch(path);
    const effect = await effectOf(headers["gatehouse-event"]);
    const listed = await tenant.client.get(`/tenants/events?filter[id]=${headers["gatehouse-event"]}`);
    expect(listed.body.data).toMatchObject([{ operation: "deactivatePolicy", generation: effect.generation }]);
    expect(effect).toMatchObject({
      event: headers["gatehouse-event"],
      gained: { users: 0, pairs: 0 },
      lost: { users: 1, devices: 1, resources: 1, pairs: 1, internet: false },
      groups: [
        {
          change: "lost",
          before: "sometimes",
          after: "never",
          subjects: [{ kind: "device", user: { name: network.ann.email } }],
          resources: [network.git],
        },
      ],
      brokenTests: [],
    });
    const again = await tenant.client.post(`/tenants/policies/${network.allowing.id}/reactivate`);
    expect(await effectOf(again.headers["gatehouse-event"])).toMatchObject({
      gained: { pairs: 1 },
      lost: { pairs: 0 },
    });
  });

  test("stores an empty effect too, but none without changes", async () => {
    const { headers, body } = await tenant.client.post("/tenants/groups", { name: unique("Group") });
    expect(await effectOf(headers["gatehouse-event"])).toMatchObject({
      gained: { pairs: 0 },
      groupCount: 0,
      groups: [],
    });
    const same = await tenant.client.put(`/tenants/groups/${body.id}`, { name: body.name });
    expect(same.status).toBe(200);
    expect(same.headers["gatehouse-event"]).toBeUndefined();
  });

  test("of a configuration has one effect for all changes", async () => {
    const { text } = await tenant.client.get("/tenants/configuration");
    const document = JSON.parse(text);
    const email = uniqueEmail();
    document.users.push({ email, groups: ["Engineers"] });
    const applied = await tenant.client.post("/tenants/configuration/apply", document);
    expect(applied.status, applied.text).toBe(200);
    const { generation } = applied.body;
    expect(await effectOf(applied.headers["gatehouse-event"])).toMatchObject({ generation, gained: { pairs: 0 } });
    const live = await read(tenant.id, readAllFacts);
    expect(comparable(await factsAt(tenant.id, generation))).toEqual(comparable(live.facts));
  });

  test("of thousands of records is computed in short steps, from the history and from all facts", async () => {
    const other = await server.newTenant();
    const impact = await server.runner.ledger.open(other.id);
    const groups = Array.from({ length: 2_100 }, (_, index) => ({ name: `Group ${index}` }));
    const { body: document } = await other.client.get("/tenants/configuration");
    const applied = { ...document, groups: [...document.groups, ...groups] };
    expect((await other.client.post("/tenants/configuration/apply", applied)).status).toBe(200);
    const created = { type: "tenant", id: other.id, after: {} } as const;
    // The base has none of the groups. A new tenant names no facts, so all of them are compared.
    const scope = { kind: "tenant", tenantId: other.id } as const;
    const tx = (query: TenantTx["query"]) => ({ tenantId: other.id, query });
    const work = await server.database.dryRun(scope, ({ query }) => impact.preview(tx(query), [created]));
    const costs: number[] = [];
    let step = work.next();
    for (; step.done !== true; step = work.next()) costs.push(step.value);
    expect(costs.length).toBeGreaterThan(100);
    expect(Math.max(...costs)).toBeLessThanOrEqual(20_000);
    const { before, after, changes } = step.value;
    expect([before, after].map(({ model }) => model.groups.size)).toEqual([2_101, 2_101]);
    expect(changes).toEqual([]);
  });

  test("of configurations that create and delete everything keeps a history equal to the live state", async () => {
    const other = await server.newTenant();
    const empty = (await other.client.get("/tenants/configuration")).body;
    const full = (await tenant.client.get("/tenants/configuration")).body;
    for (const document of [full, empty]) {
      // Documents cannot create devices, so enrol some.
      const applied = await other.client.post("/tenants/configuration/apply", document);
      expect(applied.status, applied.text).toBe(200);
      const live = await read(other.id, readAllFacts);
      expect(comparable(await factsAt(other.id, applied.body.generation))).toEqual(comparable(live.facts));
    }
    await expectExactEffects(other.id, await read(other.id, (tx) => readEffects(tx, 0)));
  });

  test.each(["an entry of a command that cannot change access", "no entry"])("is absent for %s", async (what) => {
    const hook = { name: unique("Hook"), url: "https://hooks.example.com/" };
    const made = await tenant.client.post("/tenants/webhooks", hook);
    const { body } = await tenant.client.get(`/tenants/events?filter[target.id]=${made.body.id}`);
    const id = what === "no entry" ? network.git.id : body.data[0].id;
    const refused = await tenant.client.get(`/tenants/events/${id}/effect`);
    expect(refused.status).toBe(404);
    expect(refused.body.detail).toMatch(what === "no entry" ? "has no entry with this id" : "cannot change access");
  });
});

describe("Gatehouse-Override-Reason", () => {
  let tenant: TestTenant;
  beforeAll(async () => {
    tenant = await server.newTenant();
  });
  const create = (reason: string) =>
    tenant.client.post("/tenants/groups", { name: unique("Group") }, { "gatehouse-override-reason": reason });

  test("is part of the entry, its seal and its effect", async () => {
    const { headers } = await create("  The auditor asked for it  ");
    const event = headers["gatehouse-event"];
    const { body } = await tenant.client.get(`/tenants/events?filter[id]=${event}`);
    expect(body.data[0].reason).toBe("The auditor asked for it");
    const effect = await tenant.client.get(`/tenants/events/${event}/effect`);
    expect(effect.body.overrideReason).toBe("The auditor asked for it");
    const { text } = await tenant.client.get("/tenants/events/export");
    expect(text).toContain(`"reason":"The auditor asked for it"`);
  });

  test.each([
    ["UTF-8", Buffer.from("Prüfung ✓").toString("latin1"), "Prüfung ✓"],
    ["Latin-1", "Prüfung", "Prüfung"],
  ])("is read as %s", async (_what, sent, read) => {
    const { headers } = await create(sent);
    const { body } = await tenant.client.get(`/tenants/events?filter[id]=${headers["gatehouse-event"]}`);
    expect(body.data[0].reason).toBe(read);
  });

  const inBytes = (text: string) => Buffer.from(text).toString("latin1");
  test.each([
    ["has no character", "   "],
    ["has too many", "x".repeat(501)],
    ["says nothing that can be read", inBytes("\u200b \u2060.")],
    ["has a tabulator", "an\tincident"],
    ["would command a terminal", inBytes("an \u009b31m incident")],
    ["would read in another direction", inBytes("an \u202e incident")],
  ])("is refused if it %s", async (_what, reason) => {
    const { status, body } = await create(reason);
    expect({ status, code: body.code }).toEqual({ status: 400, code: "invalid_parameter" });
    expect(body.errors).toMatchObject([{ pointer: "Gatehouse-Override-Reason" }]);
  });
});

describe("a guard", () => {
  const origin = { actor: { type: "system", name: "Test" }, operation: "test", requestId: "test" } as const;
  /** Creates a group with a guard. */
  const create = (tenantId: string, prepare: AccessGuard["prepare"], reason?: string) => {
    const guard: AccessGuard = { ...accessTestGuard, prepare };
    const { models, evaluator, database } = server.runner;
    const lateEffects = new LateEffects({
      runner: () => server.runner,
      database,
      evaluator,
      clock: systemClock,
      guard,
      log: testLog,
    });
    // The same composition as in the server.
    const ledger = new Ledger({ models: models as ModelStore, clock: systemClock, guard, evaluator, lateEffects });
    const at = new Date();
    const id = newId();
    const command = {
      scope: { kind: "tenant", tenantId },
      tenantId,
      origin: { ...origin, at, reason },
      idempotency: undefined,
      changesAccess: true,
    } as const;
    const made = runCommand({ ...server.runner, ledger }, command, async (tx) => {
      await insertGroups(tx, grantedToSystem(), [{ ...group, id, name: unique("Group") }], at);
      tx.record({ type: "group", id, after: { id } });
      return empty();
    });
    return made.then(({ event }) => event);
  };
  const group = {
    description: "",
    maxDevices: 5,
    deviceSessionLifetime: null,
    isSamlDefaultGroup: false,
    idpMapping: [],
    roleIds: [],
  };

  test("sees the writes of the command, and both models", async () => {
    const tenant = await server.newTenant();
    const seen: object[] = [];
    const prepare: AccessGuard["prepare"] = async (tx) => {
      const { facts } = await readAllFacts(tx);
      return async ({ before, after, overrideReason }) => {
        const counts = [before.model.groups.size, after.model.groups.size, facts.groups.length];
        seen.push({ counts, generations: [before.generation, after.generation], overrideReason });
        return { broken: [{ id: tenant.id, name: "Broken", brokenCount: 3 }] };
      };
    };
    const event = await create(tenant.id, prepare, "Because");
    expect(seen).toEqual([{ counts: [1, 2, 2], generations: [1, 2], overrideReason: "Because" }]);
    const effect = await tenant.client.get(`/tenants/events/${event}/effect`);
    expect(effect.body).toMatchObject({ overrideReason: "Because", brokenTests: [{ name: "Broken", brokenCount: 3 }] });
  });

  test("refuses a command and leaves no trace of it", async () => {
    const tenant = await server.newTenant();
    const refuse = () => {
      throw new AppError("permission_denied");
    };
    await expect(create(tenant.id, async () => refuse)).rejects.toThrow(AppError);
    const { generation, facts } = await read(tenant.id, readAllFacts);
    expect({ generation, groups: facts.groups.length }).toEqual({ generation: 1, groups: 1 });
    expect(await read(tenant.id, (tx) => readEffects(tx, 1))).toEqual([]);
    expect((await server.runner.models.current(tenant.id)).generation).toBe(1);
  });

  test("is not passed by a command that does not say that it can change access", async () => {
    const tenant = await server.newTenant();
    const command = {
      scope: { kind: "tenant", tenantId: tenant.id },
      tenantId: tenant.id,
      origin: { ...origin, at: new Date() },
      idempotency: undefined,
    } as const;
    const undeclared = runCommand(server.runner, command, async (tx) => {
      tx.record({ type: "group", id: newId(), after: {} });
      return empty();
    });
    await expect(undeclared).rejects.toThrow("without declaring changesAccess");
  });
});

describe("a command that announces its changes", () => {
  const announcing = async (announced: number, recorded: number) => {
    const tenant = await server.newTenant();
    const ids = [newId(), newId(), newId()];
    const command = {
      scope: { kind: "tenant", tenantId: tenant.id },
      tenantId: tenant.id,
      origin: { actor: { type: "system", name: "Test" }, operation: "test", requestId: "test", at: new Date() },
      idempotency: undefined,
      changesAccess: true,
    } as const;
    return runCommand(server.runner, command, async (tx) => {
      tx.announce(ids.slice(0, announced).map((id) => ({ type: "group", id })));
      for (const id of ids.slice(0, recorded)) tx.record({ type: "group", id, after: {} });
      return empty();
    });
  };

  test.each([
    [1, 2],
    [2, 1],
  ])("fails if it announces %d and records %d", async (announced, recorded) => {
    await expect(announcing(announced, recorded)).rejects.toThrow("other changes than it announced");
  });

  test("commits if it records what it announced", async () => {
    expect(await announcing(2, 2)).toMatchObject({ kind: "empty", event: expect.any(String) });
  });
});

describe("many writers at once", () => {
  test("lose no history and no effect, for one record or many", async () => {
    const tenant = await server.newTenant();
    const clients = [tenant.client, replica.client(tenant.key)];
    const made = async (path: string, body: object): Promise<string> =>
      (await tenant.client.post(`/tenants/${path}`, body)).body.id;
    const [group, resource] = [
      await made("groups", { name: "Everybody" }),
      await made("resources", { name: "Wiki", type: "PRIVATE", addresses: [] }),
    ];
    const policy = await made("policies", {
      name: "Wiki",
      type: "PRIVATE",
      action: true,
      groups: [group],
      resources: [resource],
    });
    const users = await Promise.all(
      Array.from({ length: 6 }, () => made("users", { email: uniqueEmail(), groups: [group] })),
    );
    const statuses = await Promise.all(
      Array.from({ length: 48 }, async (_, index) => {
        const client = clients[index % 2] as (typeof clients)[0]; // the index is in range
        const user = users[index % users.length];
        switch (index % 4) {
          case 0:
            return (
              await client.must.patch(`/tenants/policies/${policy}`, {
                description: `Round ${index}`,
                allUsers: index % 8 === 0,
              })
            ).status;
          case 1:
            return (await client.patch(`/tenants/users/${user}`, { attributes: { round: index } })).status;
          case 2:
            return (await client.post("/tenants/users", { email: uniqueEmail(), groups: [group] })).status;
          default:
            return (await client.patch(`/tenants/resources/${resource}`, { name: `Wiki ${index}` })).status;
        }
      }),
    );
    expect(statuses.filter((status) => status >= 300)).toEqual([]);
    const effects = await read(tenant.id, (tx) => readEffects(tx, 0));
    const generations = effects.map(({ generation }) => generation);
    // All these operations can change access, so every generation has an effect.
    expect(generations).toEqual(generations.map((_, index) => index + 1));
    expect(generations.length).toBe(1 + 3 + 6 + 48);
    await expectExactEffects(tenant.id, effects);
    const live = await read(tenant.id, readAllFacts);
    expect(comparable(await factsAt(tenant.id, generations.length))).toEqual(comparable(live.facts));
  });
});

async function expectExactEffects(
  tenantId: string,
  effects: readonly { readonly generation: number; readonly summary: EffectSummary | null }[],
): Promise<void> {
  let before = compile(await factsAt(tenantId, 0));
  for (const { generation, summary } of effects) {
    const after = compile(await factsAt(tenantId, generation));
    const pairs = { gained: summary?.gained.pairs, lost: summary?.lost.pairs };
    expect(pairs, `generation ${generation}`).toEqual(pairsBetween(before, after));
    before = after;
  }
}
