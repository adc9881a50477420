import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Database, Transaction } from "../../platform/db/database.ts";
import type { Scope } from "../../platform/db/scope.ts";
import { createLog } from "../../platform/log.ts";
import { KeyUsage } from "./key-usage.ts";

const early = new Date("2030-01-01T00:00:00Z");
const late = new Date("2030-01-01T00:00:10Z");

/** The stored uses: tenant, key, time. */
let written: unknown[][];
let failing: ReadonlySet<string>;
let usage: KeyUsage;

beforeEach(() => {
  vi.useFakeTimers();
  written = [];
  failing = new Set();
  const transaction = (scope: Scope, work: (transaction: Transaction) => Promise<unknown>) => {
    const tenantId = "tenantId" in scope ? (scope.tenantId ?? "") : "";
    if (failing.has(tenantId)) return Promise.reject(new Error("away"));
    return work({
      query: async (_statement, ...[ids, moments]) => {
        for (const [index, id] of (ids as string[]).entries()) written.push([tenantId, id, (moments as Date[])[index]]);
        return [];
      },
    });
  };
  // The only method that it calls.
  usage = new KeyUsage({ transaction } as unknown as Database, createLog("silent"));
});
afterEach(() => {
  vi.useRealTimers();
});

test("writes the last use of each key once", async () => {
  usage.note("a", "key 1", early);
  usage.note("a", "key 2", early);
  usage.note("a", "key 1", late);
  usage.note("b", "key 3", early);
  await usage.flush();
  await usage.flush();
  expect(written).toEqual([
    ["a", "key 1", late],
    ["a", "key 2", early],
    ["b", "key 3", early],
  ]);
});

test("retains uses that could not be stored, except for older ones, and stores those of other tenants", async () => {
  usage.note("a", "key 1", early);
  usage.note("b", "key 2", early);
  usage.note("c", "key 3", early);
  failing = new Set(["b"]);
  const flushed = usage.flush();
  usage.note("b", "key 2", late);
  await expect(flushed).rejects.toThrow("away");
  expect(written).toEqual([
    ["a", "key 1", early],
    ["c", "key 3", early],
  ]);

  failing = new Set();
  await usage.flush();
  expect(written).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(1_000);
  await usage.flush();
  expect(written.slice(2)).toEqual([["b", "key 2", late]]);
});

test("is stored before shutdown, even if an attempt has just failed", async () => {
  usage.note("a", "key 1", early);
  failing = new Set(["a"]);
  await expect(usage.flush()).rejects.toThrow("away");
  failing = new Set();
  await usage.finish();
  expect(written).toEqual([["a", "key 1", early]]);
});
