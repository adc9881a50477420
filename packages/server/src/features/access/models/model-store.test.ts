import { decide } from "@gatehouse/policy/decisions/decide";
import type { Destination, Subject } from "@gatehouse/policy/decisions/request";
import type { Work } from "@gatehouse/policy/work";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../../platform/clock.ts";
import { Evaluator } from "../../../platform/evaluation/evaluator.ts";
import type { TenantModel } from "../../../platform/tenancy/tenant-models.ts";
import { Administrator, administeredKinds, administratorStep, askedAddresses } from "../../../testing/administrator.ts";
import { reportLoad, reportStatus } from "../../../testing/network-rows.queries.ts";
import { makeId, publicKey, unique, uniqueEmail } from "../../../testing/operations/test-records.ts";
import { TestClock } from "../../../testing/test-clock.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../../../testing/test-server.ts";
import { storeDeviceSession } from "../../devices/devices.api.ts";
import { CachedModel } from "./cached-model.ts";
import { ModelStore } from "./model-store.ts";

let server: TestServer;

beforeAll(async () => {
  server = await sharedTestServer();
});

function newStore(clock = systemClock, evaluator = server.runner.evaluator, pageSize?: number): ModelStore {
  const { database, runner } = server;
  return new ModelStore({ database, generations: runner.generations, clock, evaluator, pageSize });
}

/** An evaluator that can hold the next evaluation before it starts. */
class HoldingEvaluator extends Evaluator {
  #held: ((tenantId: string) => Promise<void>) | undefined;

  /** @returns the tenant of the next evaluation, once it is held, and a function that lets it continue */
  holdNext(): { readonly tenantId: Promise<string>; readonly release: () => void } {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const tenantId = new Promise<string>((resolve) => {
      this.#held = (id) => {
        resolve(id);
        return released;
      };
    });
    return { tenantId, release };
  }

  failNext(error: Error): void {
    this.#held = () => Promise.reject(error);
  }

  override async decide<Result>(tenantId: string, work: Work<Result>): Promise<Result> {
    const held = this.#held;
    this.#held = undefined;
    await held?.(tenantId);
    return super.decide(tenantId, work);
  }
}

/** All decisions about the tenant's principals and resources. */
function allDecisions({ model }: TenantModel, ids: ReadonlySet<string>): ReadonlyMap<string, unknown> {
  const subjects: Subject[] = [...ids].flatMap((id): Subject[] => [
    { kind: "user", userId: id },
    { kind: "device", deviceId: id },
    { kind: "site", gatewayId: id },
  ]);
  const destinations: Destination[] = [
    ...[...ids].map((resourceId): Destination => ({ kind: "resource", resourceId })),
    ...askedAddresses.flatMap((address): Destination[] => [
      { kind: "address", address },
      { kind: "address", address, protocol: "TCP", port: 22 },
      { kind: "address", address, protocol: "TCP", port: 443 },
    ]),
  ];
  const decisions = new Map<string, unknown>();
  for (const subject of subjects) {
    for (const destination of destinations) {
      const request = { subject, destination, sourceIp: "192.0.2.7", now: Date.UTC(2026, 2, 4, 10) };
      decisions.set(JSON.stringify({ subject, destination }), decide(model, request));
    }
  }
  return decisions;
}

test("after any commands, a cached model decides like a freshly loaded one", async () => {
  const loads = { whole: 0, changes: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(administratorStep, { minLength: 1, maxLength: 4 }), {
        minLength: 12,
        maxLength: 20,
        size: "max",
      }),
      async (batches) => {
        const tenant = await server.newTenant();
        const administrator = new Administrator(server, tenant);
        // Initial records.
        for (const kind of [...administeredKinds, ...administeredKinds]) {
          await administrator.do({ do: "create", kind, a: administrator.seen.size, b: 3, c: 2 });
        }
        const store = newStore();
        for (const batch of batches) {
          await store.current(tenant.id);
          for (const each of batch) await administrator.do(each);
          const kept = await store.current(tenant.id);
          // Two records of a kind are a page.
          const reloaded = await newStore(systemClock, server.runner.evaluator, 2).current(tenant.id);
          expect(kept.generation).toBe(reloaded.generation);
          expect(allDecisions(kept, administrator.seen)).toEqual(allDecisions(reloaded, administrator.seen));
          for (const { facts } of reloaded.model.users.values()) {
            expect(kept.userIdOf(facts.email.toUpperCase())).toBe(facts.id);
          }
          for (const { facts } of reloaded.model.resources.values())
            expect(kept.resourceIdOf(facts.name)).toBe(facts.id);
        }
        loads.whole += store.loads.whole;
        loads.changes += store.loads.changes;
      },
    ),
    // Shrinking takes longer than reading the commands.
    { numRuns: 5, endOnFailure: true },
  );
  // Require updates, or the property would prove little.
  expect(loads.changes).toBeGreaterThan(loads.whole);
});

describe("a tenant's model", () => {
  let tenant: TestTenant;
  beforeAll(async () => {
    tenant = await server.newTenant();
  });
  const change = () => tenant.client.post("/tenants/groups", { name: unique("Group") });

  test("is loaded once for concurrent requests, and updated once", async () => {
    const store = newStore();
    await Promise.all(Array.from({ length: 20 }, () => store.current(tenant.id)));
    expect(store.loads).toEqual({ whole: 1, changes: 0 });
    await change();
    const models = await Promise.all(Array.from({ length: 20 }, () => store.current(tenant.id)));
    expect(store.loads).toEqual({ whole: 1, changes: 1 });
    expect(new Set(models).size).toBe(1);
  });

  test("follows concurrent changes", async () => {
    const store = newStore();
    for (let round = 0; round < 5; round += 1) {
      const asking = Promise.all(Array.from({ length: 5 }, () => store.current(tenant.id)));
      const { body } = await change();
      const model = await store.current(tenant.id);
      expect(model.model.groups.get(body.id)).toBeDefined();
      await asking;
    }
  });

  test("finds records by their new names, even if records swap names", async () => {
    const store = newStore();
    const make = async (name: string): Promise<string> =>
      (await tenant.client.post("/tenants/resources", { name, type: "SAAS", addresses: [] })).body.id;
    const [one, other] = [await make("One"), await make("Other")];
    await store.current(tenant.id);
    const rename = (id: string, name: string) => tenant.client.patch(`/tenants/resources/${id}`, { name });
    await rename(one, "Aside");
    await rename(other, "One");
    await rename(one, "Other");
    const model = await store.current(tenant.id);
    expect([model.resourceIdOf("One"), model.resourceIdOf("Other"), model.resourceIdOf("Aside")]).toEqual([
      other,
      one,
      undefined,
    ]);
    expect(store.loads).toEqual({ whole: 1, changes: 1 });
  });

  test("has policies in their new order", async () => {
    const store = newStore();
    const ids: string[] = [];
    for (const action of [true, false, true]) {
      const policy = { name: unique("Policy"), type: "SITETOSITE", action, allResources: true };
      ids.push((await tenant.client.post("/tenants/policies", policy)).body.id);
    }
    await store.current(tenant.id);
    const order = async () =>
      (await store.current(tenant.id)).model.policies.SITETOSITE.policies.map(({ facts }) => facts.id);
    for (const policies of [[...ids].reverse(), [ids[1], ids[0], ids[2]], ids]) {
      await tenant.client.must.post("/tenants/policies/reorder", { type: "SITETOSITE", policies });
      expect(await order()).toEqual(policies);
    }
    expect(store.loads).toEqual({ whole: 1, changes: 3 });
  });

  test("has new ends of device sessions after new settings, and shares everything else", async () => {
    const store = newStore();
    const own = await server.newTenant();
    const owner = (await own.client.must.post("/tenants/users", { email: uniqueEmail() })).body.id;
    const named = { name: unique("Laptop"), userId: owner, hardwareId: unique("Serial"), publicKey: publicKey() };
    const device = (await own.client.must.post("/tenants/devices", named)).body.id;
    const authenticatedAt = new Date(Math.floor(Date.now() / 1_000) * 1_000);
    const session = { authenticatedAt, methods: ["pwd"], providerId: null, providerSession: null };
    await server.database.transaction({ kind: "tenant", tenantId: own.id }, ({ query }) =>
      storeDeviceSession({ tenantId: own.id, query }, device, session, authenticatedAt),
    );
    const former = await store.current(own.id);
    const endOf = ({ model }: TenantModel) => model.devices.get(device)?.facts.sessionEndsAt;
    expect(endOf(former)).toBeNull();
    for (const [index, hours] of [8, 9].entries()) {
      await own.client.must.put("/tenants/settings", { deviceSessionLifetime: hours * 3_600 });
      const next = await store.current(own.id);
      expect(endOf(next)).toBeGreaterThanOrEqual(authenticatedAt.getTime() + hours * 3_600_000);
      expect(endOf(next)).toBe(endOf(await newStore().current(own.id)));
      expect(next.model.resources).toBe(former.model.resources);
      expect(store.loads).toEqual({ whole: 1, changes: index + 1 });
    }
  });

  test("is dropped when idle, after missed changes, and after the deletion of its tenant", async () => {
    const clock = new TestClock();
    const store = newStore(clock);
    const other = await server.newTenant();
    await store.current(tenant.id);
    clock.advance(9 * 60_000);
    await store.current(other.id);
    store.dropIdle();
    expect(store.tenants).toEqual([tenant.id, other.id]);
    clock.advance(2 * 60_000);
    store.dropIdle();
    expect(store.tenants).toEqual([other.id]);
    store.changed({
      tenantId: other.id,
      generation: 9,
      changes: [{ type: "tenant", id: other.id, change: "deleted" }],
    });
    expect(store.tenants).toEqual([]);
    await store.current(tenant.id);
    store.missed();
    expect(store.tenants).toEqual([]);
    await server.operator.must.delete(`/operator/tenants/${other.id}`);
    const gone = await store.current(other.id);
    expect(gone.model.users.size).toBe(0);
    expect(store.tenants).toEqual([]);
  });

  test("is reloaded after a generation without outbox entries", async () => {
    const store = newStore();
    const { body } = await tenant.client.post("/tenants/gateways", { name: unique("Gateway"), wireguardPort: "51820" });
    await store.current(tenant.id);
    await reportStatus(server, tenant.id, body.id, "ONLINE");
    expect((await store.current(tenant.id)).model.gateways.get(body.id)?.status).toBe("ONLINE");
    expect(store.loads.whole).toBe(2);
  });
});

test("refreshes gateway loads of cached models without a new generation", async () => {
  const [tenant, other] = [await server.newTenant(), await server.newTenant()];
  const [id, busy] = [await makeId("gateway", tenant.client), await makeId("gateway", other.client)];
  const store = newStore();
  const before = await store.current(tenant.id);
  await reportLoad(server, tenant.id, id, 0.75, 12.5);
  await reportLoad(server, other.id, busy, 1, 1);
  expect((await store.current(tenant.id)).model.gateways.get(id)).toMatchObject({ load: null, roundTripTimeMs: null });
  await store.refreshLoads();
  const after = await store.current(tenant.id);
  expect(after.generation).toBe(before.generation);
  expect(after.model.gateways.get(id)).toMatchObject({ load: 0.75, roundTripTimeMs: 12.5, status: "PENDING" });
  expect(store.tenants).toEqual([tenant.id]);
  await store.refreshLoads();
  expect(await store.current(tenant.id)).toBe(after);
});

test("does not return a deleted gateway to a model that was replaced during a refresh of loads", async () => {
  const both = await Promise.all([server.newTenant(), server.newTenant()]);
  const evaluator = new HoldingEvaluator(systemClock);
  const store = newStore(systemClock, evaluator);
  const ids: string[] = [];
  for (const { id, client } of both) {
    const gatewayId = await makeId("gateway", client);
    ids.push(gatewayId);
    await store.current(id);
    await reportLoad(server, id, gatewayId, 0.5, 2);
  }
  const { tenantId, release } = evaluator.holdNext();
  const refreshed = store.refreshLoads();
  const later = both[0].id === (await tenantId) ? 1 : 0;
  const { id, client } = both[later];
  await client.must.delete(`/tenants/gateways/${ids[later]}`);
  expect((await store.current(id)).model.gateways.size).toBe(0);
  release();
  await refreshed;
  expect((await store.current(id)).model.gateways.size).toBe(0);
  const first = (await store.current(both[1 - later]?.id ?? "")).model.gateways.get(ids[1 - later] ?? "");
  expect(first).toMatchObject({ load: 0.5, roundTripTimeMs: 2 });
});

test("does not replace a model with an older one that was loaded meanwhile", async () => {
  const tenant = await server.newTenant();
  const evaluator = new HoldingEvaluator(systemClock);
  const store = newStore(systemClock, evaluator);
  await store.current(tenant.id);
  await makeId("group", tenant.client);
  const { tenantId, release } = evaluator.holdNext();
  const loading = store.current(tenant.id);
  await tenantId;
  await makeId("group", tenant.client);
  const newer = await newStore().current(tenant.id);
  store.take(tenant.id, newer);
  release();
  expect(await loading).toBe(newer);
});

test("pages of a load show one generation, although the tenant changes between them", async () => {
  const tenant = await server.newTenant();
  const evaluator = new HoldingEvaluator(systemClock);
  const store = newStore(systemClock, evaluator, 1);
  // The page of the tenant's owner is held, before the later users are read.
  const { tenantId, release } = evaluator.holdNext();
  const loading = store.current(tenant.id);
  await tenantId;
  const userId = await makeId("user", tenant.client);
  release();
  const loaded = await loading;
  expect(loaded.model.users.get(userId)).toBeUndefined();
  const next = await store.current(tenant.id);
  expect(next.generation).toBeGreaterThan(loaded.generation);
  expect(next.model.users.get(userId)).toBeDefined();
  expect(store.loads).toEqual({ whole: 1, changes: 1 });
});

test("a failed page fails the load, and the next load succeeds", async () => {
  const tenant = await server.newTenant();
  const evaluator = new HoldingEvaluator(systemClock);
  const store = newStore(systemClock, evaluator, 1);
  evaluator.failNext(new Error("stopped"));
  await expect(store.current(tenant.id)).rejects.toThrow("stopped");
  expect((await store.current(tenant.id)).model.users.size).toBe(1);
});

test("a change of thousands of records yields, and gives the model of the new facts", () => {
  const count = 2_500;
  const groups = Array.from({ length: count }, (_, index) => ({ id: `g${index}`, name: `Group ${index}` }));
  const facts = { users: [], groups, devices: [], gateways: [], resources: [], rules: [], policies: [] };
  const changes = groups.map((group) => ({ kind: "group" as const, facts: { ...group, name: `New ${group.name}` } }));
  const work = CachedModel.of(1, facts).changing(2, changes);
  const costs: number[] = [];
  let step = work.next();
  for (; step.done !== true; step = work.next()) costs.push(step.value);
  expect(costs.length).toBeGreaterThan(20);
  expect(Math.max(...costs)).toBeLessThanOrEqual(20_000);
  expect([...step.value.model.groups.values()]).toEqual(changes.map((change) => change.facts));
  expect(step.value.generation).toBe(2);
});
