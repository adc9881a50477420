import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLog } from "../log.ts";
import { TenantBatches } from "./tenant-batches.ts";

/** The batches that were written: the tenant, and its items by key. */
let written: [tenantId: string, items: Readonly<Record<string, number>>][];
/** The tenants whose writes fail. */
let failing: ReadonlySet<string>;
let during: () => void;
let batches: TenantBatches<string, number>;

beforeEach(() => {
  vi.useFakeTimers();
  written = [];
  failing = new Set();
  during = () => undefined;
  batches = new TenantBatches({
    log: createLog("silent"),
    failed: "failed to write; will retry",
    lost: "failed to write before shutdown",
    write: async (tenantId, items) => {
      during();
      if (failing.has(tenantId)) throw new Error("away");
      written.push([tenantId, Object.fromEntries(items)]);
    },
    merge: (earlier, later) => earlier + later,
  });
});
afterEach(() => {
  vi.useRealTimers();
});

test("writes the items of each tenant together, and only once", async () => {
  batches.add("a", "one", 1);
  batches.add("a", "two", 2);
  batches.add("a", "one", 4);
  batches.add("b", "one", 8);
  await batches.flush();
  await batches.flush();
  expect(written).toEqual([
    ["a", { one: 5, two: 2 }],
    ["b", { one: 8 }],
  ]);
});

test("writes items that are added during a write in the next round", async () => {
  batches.add("a", "one", 1);
  during = () => {
    during = () => undefined;
    batches.add("a", "one", 2);
  };
  await batches.flush();
  expect(written).toEqual([["a", { one: 1 }]]);
  await batches.flush();
  expect(written.slice(1)).toEqual([["a", { one: 2 }]]);
});

test("retains the items of a tenant whose write fails, and writes those of others", async () => {
  for (const tenantId of ["a", "b", "c"]) batches.add(tenantId, "one", 1);
  failing = new Set(["b"]);
  await expect(batches.flush()).rejects.toThrow("away");
  expect(written.map(([tenantId]) => tenantId)).toEqual(["a", "c"]);

  batches.add("b", "one", 2);
  failing = new Set();
  await vi.advanceTimersByTimeAsync(1_000);
  await batches.flush();
  expect(written.slice(2)).toEqual([["b", { one: 3 }]]);
});

test("writes everything before shutdown, even if an attempt has just failed", async () => {
  batches.add("a", "one", 1);
  failing = new Set(["a"]);
  await expect(batches.flush()).rejects.toThrow("away");
  failing = new Set();
  await batches.finish();
  expect(written).toEqual([["a", { one: 1 }]]);
});
