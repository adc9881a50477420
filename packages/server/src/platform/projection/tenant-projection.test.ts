import { expect, test } from "vitest";
import type { OutboxEntry } from "../outbox/outbox.queries.ts";
import { type ChangedRecords, reloadAbove } from "./changed-records.ts";
import { TenantProjection } from "./tenant-projection.ts";

const entry = (generation: number, ...ids: readonly string[]): OutboxEntry => ({
  tenantId: "tenant",
  generation,
  changes: ids.map((id) => ({ type: "device", id, change: "updated" })),
});

/** Advances a projection. @returns the step that was taken, and the devices that it was given */
function advance(projection: TenantProjection, reloadedTo = 0, mustReload = false) {
  const step = (name: string, changed: ChangedRecords) => [name, ...changed.idsOf("device")];
  return projection.advance({
    mustReload,
    read: async () => ({ generation: reloadedTo }),
    update: async (_source, changed) => step("update", changed),
    reload: async (_source, changed) => step("reload", changed),
  });
}

async function loadedAt(generation: number): Promise<TenantProjection> {
  const projection = new TenantProjection();
  await advance(projection, generation);
  return projection;
}

const devices = (count: number) => Array.from({ length: count }, (_, index) => `device ${index}`);

test("loads first, and then applies consecutive changes", async () => {
  const projection = new TenantProjection();
  expect(await advance(projection, 4)).toEqual(["reload"]);
  projection.changed(entry(5, "a", "b"));
  projection.changed(entry(6, "b", "c"));
  expect(await advance(projection)).toEqual(["update", "a", "b", "c"]);
  expect(projection.generation).toBe(6);
  expect(await advance(projection)).toEqual(["update"]);
});

test("ignores changes that the last load reflects", async () => {
  const projection = await loadedAt(4);
  projection.changed(entry(5, "a"));
  await advance(projection, 7, true);
  for (const generation of [6, 7, 8]) projection.changed(entry(generation, `device ${generation}`));
  expect(await advance(projection)).toEqual(["update", "device 8"]);
});

test("reloads after a gap between generations", async () => {
  const projection = await loadedAt(4);
  projection.changed(entry(6, "a"));
  expect(await advance(projection, 6)).toEqual(["reload", "a"]);
  expect(projection.generation).toBe(6);
});

test("reloads after entries were missed, and when its owner asks for it", async () => {
  const projection = await loadedAt(4);
  projection.missed();
  expect(await advance(projection, 2)).toEqual(["reload"]);
  expect(projection.generation).toBe(2);
  expect(await advance(projection, 2, true)).toEqual(["reload"]);
  expect(await advance(projection)).toEqual(["update"]);
});

test("reloads if many records changed", async () => {
  const projection = await loadedAt(4);
  projection.changed(entry(5, ...devices(reloadAbove)));
  expect((await advance(projection))[0]).toBe("update");
  projection.changed(entry(6, ...devices(reloadAbove + 1)));
  expect((await advance(projection, 6))[0]).toBe("reload");
});

test("retains the changes of a step that fails, before those that arrived meanwhile", async () => {
  const projection = await loadedAt(4);
  projection.changed(entry(5, "a"));
  const failing = projection.advance({
    mustReload: false,
    read: async () => ({ generation: 5 }),
    update: async () => {
      projection.changed(entry(6, "b"));
      throw new Error("away");
    },
    reload: async () => undefined,
  });
  await expect(failing).rejects.toThrow("away");
  expect(projection.generation).toBe(4);
  expect(await advance(projection)).toEqual(["update", "a", "b"]);
});

test("leaves changes that arrive while the records are read to the next call", async () => {
  const projection = await loadedAt(4);
  projection.changed(entry(5, "a"));
  const updated = await projection.advance({
    mustReload: false,
    read: async () => {
      projection.changed(entry(6, "b"));
      return { generation: 5 };
    },
    update: async (_source, changed) => [...changed.idsOf("device")],
    reload: () => Promise.reject(new Error("unexpected reload: no gap")),
  });
  expect(updated).toEqual(["a"]);
  expect(projection.generation).toBe(5);
  expect(await advance(projection)).toEqual(["update", "b"]);
});

test("retains its changes if the records cannot be read", async () => {
  const projection = await loadedAt(4);
  projection.changed(entry(5, "a"));
  const failing = projection.advance({
    mustReload: false,
    read: () => Promise.reject(new Error("away")),
    update: async () => undefined,
    reload: async () => undefined,
  });
  await expect(failing).rejects.toThrow("away");
  expect(await advance(projection)).toEqual(["update", "a"]);
});

test("reloads again after a reload that failed", async () => {
  const projection = await loadedAt(4);
  projection.missed();
  const failing = projection.advance({
    mustReload: false,
    read: async () => ({ generation: 5 }),
    update: async () => undefined,
    reload: () => Promise.reject(new Error("away")),
  });
  await expect(failing).rejects.toThrow("away");
  expect(await advance(projection, 5)).toEqual(["reload"]);
});
