import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { finish } from "@gatehouse/policy/work";
import fc from "fast-check";
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { systemClock } from "../../../../platform/clock.ts";
import { Administrator, administeredKinds, administratorStep } from "../../../../testing/administrator.ts";
import { listedFacts } from "../../../../testing/listed-facts.ts";
import { deleteOutbox } from "../../../../testing/network-rows.queries.ts";
import { makeId, unique, uniqueEmail } from "../../../../testing/operations/test-records.ts";
import { TestClock } from "../../../../testing/test-clock.ts";
import { testLog } from "../../../../testing/test-log.ts";
import { sharedTestServer, type TestServer, type TestTenant, testMasterKey } from "../../../../testing/test-server.ts";
import type { CachedModel } from "../cached-model.ts";
import { ModelStore } from "../model-store.ts";
import { ModelSnapshots } from "./model-snapshots.ts";

let server: TestServer;
let tenant: TestTenant;
let folder: string;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
});

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gatehouse-snapshots-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const newSnapshots = (
  options: { masterKey?: Buffer; schemaVersion?: number; maxBytes?: number; fewestRecords?: number } = {},
) =>
  new ModelSnapshots({
    folder: path.join(folder, "models"),
    masterKey: testMasterKey,
    schemaVersion: 2,
    maxBytes: 1_000_000,
    fewestRecords: 0,
    log: testLog,
    ...options,
  });

/**
 * A store of a server that just started.
 *
 * @param snapshots null for a server without snapshots
 */
function newStore(snapshots: ModelSnapshots | null = newSnapshots(), clock = systemClock): ModelStore {
  const { database, runner } = server;
  const { generations, evaluator } = runner;
  return new ModelStore({ database, generations, clock, evaluator, snapshots: snapshots ?? undefined, pageSize: 3 });
}

const fileOf = (tenantId: string) => path.join(folder, "models", `${tenantId}.model`);

/** Facts are compared as texts, with the order of policies. */
function contentOf({ generation, model }: CachedModel): unknown {
  const { policies, ...others } = listedFacts(model);
  const texts = Object.values(others).map((records) => records.map((record) => JSON.stringify(record)).toSorted());
  return { generation, policies, texts };
}

/** Stores a snapshot of the current generation. */
async function storeSnapshot(of: TestTenant = tenant, snapshots = newSnapshots()): Promise<void> {
  const store = newStore(snapshots);
  await store.current(of.id);
  await store.storeSnapshots();
}

/** Loads the tenant's model after a restart, and compares it with the model from the database. */
async function reload(of: TestTenant = tenant, snapshots = newSnapshots()): Promise<ModelStore> {
  const store = newStore(snapshots);
  const model = await store.current(of.id);
  expect(contentOf(model)).toEqual(contentOf(await newStore(null).current(of.id)));
  for (const { facts } of model.model.users.values()) expect(model.userIdOf(facts.email)).toBe(facts.id);
  for (const { facts } of model.model.resources.values()) expect(model.resourceIdOf(facts.name)).toBe(facts.id);
  return store;
}

const wasUsed = async (...parameters: Parameters<typeof reload>) =>
  (await reload(...parameters)).loadsFromSnapshots === 1;

test("a snapshot with all later changes is the model from the database, even while others write", async () => {
  let used = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(administratorStep, { minLength: 1, maxLength: 6 }), { minLength: 4, maxLength: 6 }),
      async (batches) => {
        const own = await server.newTenant();
        const administrator = new Administrator(server, own);
        for (const kind of [...administeredKinds, ...administeredKinds]) {
          await administrator.do({ do: "create", kind, a: administrator.seen.size, b: 3, c: 2 });
        }
        for (const batch of batches) {
          // Commands continue while the snapshot is stored, and while it is loaded.
          const writing = (async () => {
            for (const each of batch) await administrator.do(each);
          })();
          await storeSnapshot(own);
          const loaded = newStore();
          const early = await loaded.current(own.id);
          await writing;
          const late = await loaded.current(own.id);
          expect(late.generation).toBeGreaterThanOrEqual(early.generation);
          expect(contentOf(late)).toEqual(contentOf(await newStore(null).current(own.id)));
          // Gateways cause generations without outbox entries here. After such a generation, the snapshot is not used.
          used += loaded.loadsFromSnapshots + (await reload(own)).loadsFromSnapshots;
        }
      },
    ),
    { numRuns: 3, endOnFailure: true },
  );
  expect(used).toBeGreaterThan(3);
});

describe("a snapshot", () => {
  test("is a file that only its user can read, and does not contain facts in the clear", async () => {
    const email = uniqueEmail();
    await tenant.client.must.post("/tenants/users", { email });
    await storeSnapshot();
    expect((await stat(path.join(folder, "models"))).mode & 0o777).toBe(0o700);
    expect((await stat(fileOf(tenant.id))).mode & 0o777).toBe(0o600);
    expect((await readFile(fileOf(tenant.id))).includes(email)).toBe(false);
    expect(await readdir(path.join(folder, "models"))).toHaveLength(1);
    expect(await wasUsed()).toBe(true);
  });

  test("is used if nothing changed, even after its outbox entries were deleted", async () => {
    await storeSnapshot();
    await deleteOutbox(server, tenant.id);
    expect(await wasUsed()).toBe(true);
    // The outbox no longer contains all changes since the snapshot.
    await storeSnapshot();
    await makeId("group", tenant.client);
    await deleteOutbox(server, tenant.id);
    expect(await wasUsed()).toBe(false);
  });

  test("has the current state of gateways, which is not in the audit record", async () => {
    await makeId("gateway", tenant.client);
    const snapshots = newSnapshots();
    await storeSnapshot();
    const snapshot = await snapshots.read(tenant.id, async (work) => finish(work));
    if (snapshot === undefined) throw new Error("the snapshot is missing");
    const { state, facts } = snapshot;
    const gateways = facts.others.gateways.map((gateway) => ({ ...gateway, status: "ONLINE" as const }));
    await snapshots.store({ state, facts: { ...facts, others: { ...facts.others, gateways } } });
    expect(await wasUsed()).toBe(true);
  });

  test.each<readonly [name: string, damage: (file: string) => Promise<unknown>]>([
    ["is shortened", async (file) => truncate(file, (await stat(file)).size - 1)],
    ["ends after a chunk", async (file) => truncate(file, (await stat(file)).size - (4 + 1 + 16))],
    ["is empty", (file) => truncate(file, 0)],
    ["is extended", async (file) => writeFile(file, Buffer.alloc(100), { flag: "a" })],
    ["is of another format", async (file) => writeFile(file, Buffer.alloc(10_000))],
    [
      "is changed",
      async (file) => {
        const bytes = await readFile(file);
        const at = Math.floor(bytes.length / 2);
        bytes[at] = (bytes[at] ?? 0) ^ 1;
        await writeFile(file, bytes);
      },
    ],
  ])("is ignored and deleted if it %s", async (_name, damage) => {
    await storeSnapshot();
    await damage(fileOf(tenant.id));
    expect(await wasUsed()).toBe(false);
    await expect(stat(fileOf(tenant.id))).rejects.toThrow("ENOENT");
  });

  test("is ignored if it belongs to another tenant, or to an installation with another master key", async () => {
    const other = await server.newTenant();
    await storeSnapshot(other);
    await copyFile(fileOf(other.id), fileOf(tenant.id));
    expect(await wasUsed()).toBe(false);
    await storeSnapshot(tenant, newSnapshots({ masterKey: Buffer.alloc(32, 1) }));
    expect(await wasUsed()).toBe(false);
  });

  test("is ignored by a version with another schema, whose migrations may have changed facts", async () => {
    await storeSnapshot(tenant, newSnapshots({ schemaVersion: 1 }));
    expect(await wasUsed()).toBe(false);
  });

  test("is ignored if the audit chain at its generation is another, or if its generation is in the future", async () => {
    const snapshots = newSnapshots();
    await storeSnapshot();
    const snapshot = await snapshots.read(tenant.id, async (work) => finish(work));
    if (snapshot === undefined) throw new Error("the snapshot is missing");
    const { facts, state } = snapshot;
    await snapshots.store({ facts, state: { ...state, chainHash: "00".repeat(32) } });
    expect(await wasUsed()).toBe(false);
    await snapshots.store({ facts, state: { ...state, generation: state.generation + 5 } });
    expect(await wasUsed()).toBe(false);
  });

  test("is deleted with its tenant", async () => {
    const other = await server.newTenant();
    const store = newStore();
    await store.current(other.id);
    await store.storeSnapshots();
    await server.operator.must.delete(`/operator/tenants/${other.id}`);
    store.changed({
      tenantId: other.id,
      generation: 9,
      changes: [{ type: "tenant", id: other.id, change: "deleted" }],
    });
    await expect.poll(() => readdir(path.join(folder, "models"))).toEqual([]);
  });

  test("is deleted if its tenant is deleted while it is stored", async () => {
    const other = await server.newTenant();
    const snapshots = newSnapshots();
    const store = newStore(snapshots);
    await store.current(other.id);
    const storeFile = snapshots.store.bind(snapshots);
    vi.spyOn(snapshots, "store").mockImplementation(async (snapshot) => {
      await server.operator.must.delete(`/operator/tenants/${other.id}`);
      return storeFile(snapshot);
    });
    await store.storeSnapshots();
    await expect(stat(fileOf(other.id))).rejects.toThrow("ENOENT");
  });

  test("prevents neither loading its tenant nor storing others if its file can be neither read nor replaced", async () => {
    const others = [await server.newTenant(), await server.newTenant()];
    const [unusable, other] = others.map(({ id }) => fileOf(id));
    await mkdir(path.join(unusable ?? "", "folder"), { recursive: true });
    const store = newStore();
    for (const { id } of others) expect((await store.current(id)).generation).toBeGreaterThan(0);
    await store.storeSnapshots();
    expect((await stat(other ?? "")).size).toBeGreaterThan(0);
  });

  test("can be stored by several processes in the same folder at once", async () => {
    const snapshots = newSnapshots();
    await storeSnapshot(tenant, snapshots);
    const snapshot = await snapshots.read(tenant.id, async (work) => finish(work));
    if (snapshot === undefined) throw new Error("the snapshot is missing");
    await Promise.all([snapshots, newSnapshots(), newSnapshots()].map((each) => each.store(snapshot)));
    expect(await readdir(path.join(folder, "models"))).toEqual([`${tenant.id}.model`]);
    expect(await wasUsed()).toBe(true);
  });

  test("is stored only for large tenants", async () => {
    await storeSnapshot(tenant, newSnapshots({ fewestRecords: 1_000 }));
    await expect(stat(fileOf(tenant.id))).rejects.toThrow("ENOENT");
  });

  test("is stored for a tenant that is only large by its resources", async () => {
    const other = await server.newTenant();
    for (const name of ["Wiki", "Chat", "Shop"]) {
      await other.client.must.post("/tenants/resources", { name, type: "SAAS", addresses: [] });
    }
    await storeSnapshot(other, newSnapshots({ fewestRecords: 4 }));
    expect((await stat(fileOf(other.id))).size).toBeGreaterThan(0);
  });

  test("is replaced some time after a change, and long before old files are deleted", async () => {
    const clock = new TestClock();
    const store = newStore(newSnapshots(), clock);
    const storedAgain = async (minutes: number): Promise<boolean> => {
      clock.advance(minutes * 60_000);
      const before = await readFile(fileOf(tenant.id));
      await store.current(tenant.id);
      await store.storeSnapshots();
      return !before.equals(await readFile(fileOf(tenant.id)));
    };
    await store.current(tenant.id);
    await store.storeSnapshots();
    expect(await storedAgain(30)).toBe(false);
    await tenant.client.must.post("/tenants/groups", { name: unique("Group") });
    expect(await storedAgain(0)).toBe(true);
    await tenant.client.must.post("/tenants/groups", { name: unique("Group") });
    expect(await storedAgain(10)).toBe(false);
    expect(await storedAgain(11)).toBe(true);
    expect(await storedAgain(13 * 60)).toBe(true);
  });

  test("is replaced after it was loaded only if the tenant changed since", async () => {
    await storeSnapshot();
    const isReplaced = async (): Promise<boolean> => {
      const before = await readFile(fileOf(tenant.id));
      await storeSnapshot();
      return !before.equals(await readFile(fileOf(tenant.id)));
    };
    expect(await isReplaced()).toBe(false);
    await makeId("group", tenant.client);
    expect(await isReplaced()).toBe(true);
    expect(await isReplaced()).toBe(false);
  });

  test("gives way to newer ones if all need more space than allowed", async () => {
    const others = [await server.newTenant(), await server.newTenant()];
    for (const each of others) await storeSnapshot(each);
    const { size } = await stat(fileOf(others[0]?.id ?? ""));
    const past = new Date(Date.now() - 60_000);
    await utimes(fileOf(others[0]?.id ?? ""), past, past);
    const snapshots = newSnapshots({ maxBytes: size * 2.5 });
    const third = await server.newTenant();
    await storeSnapshot(third, snapshots);
    expect((await readdir(path.join(folder, "models"))).toSorted()).toEqual(
      [others[1], third].map((each) => `${each?.id}.model`).toSorted(),
    );
    const longAgo = new Date(Date.now() - 25 * 60 * 60_000);
    await utimes(fileOf(third.id), longAgo, longAgo);
    await newSnapshots().clean();
    await expect(stat(fileOf(third.id))).rejects.toThrow("ENOENT");
    await storeSnapshot(tenant, newSnapshots({ maxBytes: 100 }));
    expect(await readdir(path.join(folder, "models"))).not.toContain(`${tenant.id}.model`);
  });
});
