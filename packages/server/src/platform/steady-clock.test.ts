import { afterEach, beforeEach, expect, test } from "vitest";
import { TestClock } from "../testing/test-clock.ts";
import { createDatabase, type TestDatabase } from "../testing/test-database.ts";
import { Database } from "./db/database.ts";
import { createLog } from "./log.ts";
import { SteadyClock } from "./steady-clock.ts";

const hourMs = 60 * 60_000;
let own: TestDatabase;
let database: Database;
let clock: TestClock;

beforeEach(async () => {
  own = await createDatabase();
  database = new Database({ connection: own.connection, poolSize: 1 });
  clock = new TestClock();
});
afterEach(async () => {
  await database.close();
  await own.drop();
});

test.each([
  ["the first is ahead", [10_000, 0, 0]],
  ["the first is behind", [-60_000, 0, 0]],
  ["all differ", [60_000, 0, 30_000]],
])("three replicas with slightly different clocks count the time once: %s", async (_how, aheadMs) => {
  const replicas = aheadMs.map((ms) => new SteadyClock({ database, clock: clock.ahead(ms), log: createLog("silent") }));
  // The replicas observe their clocks every minute, one after the other.
  for (let minute = 0; minute < 3 * 60; minute += 1) {
    for (const [index, untilNextMs] of [2_000, 28_000, 30_000].entries()) {
      await replicas[index]?.observe();
      clock.advance(untilNextMs);
    }
  }
  for (const replica of replicas) await replica.observe();
  for (const { steadyMs } of replicas) expect(Math.abs(steadyMs - 3 * hourMs)).toBeLessThan(2 * 60_000);
});
