import { beforeEach, expect, test } from "vitest";
import { sharedTestServer, type TestServer } from "../testing/test-server.ts";
import { SharedTime } from "./shared-time.ts";

let server: TestServer;
/** The monotonic clock of the replica, and the database's clock. */
let elapsedMs: number;
let databaseMs: number;
/** How long the database takes to read its clock, and then to answer. */
let delays: readonly [number, number];

beforeEach(async () => {
  server = await sharedTestServer();
  elapsedMs = 500;
  databaseMs = 1_000_000;
  delays = [0, 0];
});

function sharedTime(): SharedTime {
  return new SharedTime({
    database: server.database,
    clock: { now: () => new Date(0), elapsedMs: () => elapsedMs },
    databaseTime: () => {
      pass(delays[0]);
      const read = new Date(databaseMs);
      pass(delays[1]);
      return read;
    },
  });
}

function pass(ms: number): void {
  elapsedMs += ms;
  databaseMs += ms;
}

test("the time is that of the database, and advances between readings", async () => {
  const time = sharedTime();
  expect((await time.synchronize()).getTime()).toBe(1_000_000);
  pass(7_000);
  expect(time.now().getTime()).toBe(1_007_000);
});

test.each([
  ["request", [9_000, 0]],
  ["response", [0, 9_000]],
] as const)("a slow %s does not shift the time", async (_, slow) => {
  const time = sharedTime();
  await time.synchronize();
  delays = slow;
  expect((await time.synchronize()).getTime()).toBe(databaseMs);
});

test.each([3_600_000, -3_600_000])("the time follows the database's clock, set by %i ms", async (ms) => {
  const time = sharedTime();
  await time.synchronize();
  databaseMs += ms;
  expect((await time.synchronize()).getTime()).toBe(databaseMs);
});

test("a server reads the time from its database", async () => {
  const asked = Date.now();
  const time = new SharedTime({
    database: server.database,
    clock: { now: () => new Date(0), elapsedMs: () => performance.now() },
  });
  const read = (await time.synchronize()).getTime();
  // The database of tests is on this machine. Milliseconds are rounded.
  expect(read).toBeGreaterThanOrEqual(asked - 1);
  expect(read).toBeLessThanOrEqual(Date.now() + 1);
});
