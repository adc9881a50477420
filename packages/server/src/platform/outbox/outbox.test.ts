import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { TestClock } from "../../testing/test-clock.ts";
import { createDatabase, type TestDatabase } from "../../testing/test-database.ts";
import { until } from "../../testing/until.ts";
import { Database } from "../db/database.ts";
import { createLog } from "../log.ts";
import { clearOutbox, type OutboxEntry, outboxKeptForMs, readLimit, readOutbox } from "./outbox.queries.ts";
import { OutboxFollower } from "./outbox-follower.ts";

const tenantId = randomUUID();
let own: TestDatabase;
let database: Database;
let early: pg.Client;
let late: pg.Client;
let generation = 0;

beforeAll(async () => {
  own = await createDatabase();
  database = new Database({ connection: own.connection, poolSize: 2 });
  early = new pg.Client(own.connection);
  late = new pg.Client(own.connection);
  await Promise.all([early.connect(), late.connect()]);
});
beforeEach(() => late.query("TRUNCATE outbox"));
afterAll(async () => {
  await Promise.all([early.end(), late.end(), database.close()]);
  await own.drop();
});

/**
 * Appends an entry, in the client's transaction if there is one.
 *
 * @returns its generation
 */
async function append(client: pg.Client): Promise<number> {
  generation += 1;
  await client.query("INSERT INTO outbox (tenant_id, generation, created_at, changes) VALUES ($1, $2, now(), '[]')", [
    tenantId,
    generation,
  ]);
  return generation;
}

const generationsOf = (entries: readonly OutboxEntry[]) => entries.map((entry) => entry.generation);

describe("reading the outbox", () => {
  test("starts at the current position, and then returns each entry once", async () => {
    await append(late);
    const start = await readOutbox(database, undefined);
    expect(start).toMatchObject({ entries: [], complete: true });
    const added = [await append(late), await append(late)];
    const first = await readOutbox(database, start.position);
    expect(generationsOf(first.entries)).toEqual(added);
    const second = await readOutbox(database, first.position);
    expect(second.entries).toEqual([]);
  });

  test("does not miss a transaction that got its id first and commits last", async () => {
    const start = await readOutbox(database, undefined);
    await early.query("BEGIN");
    const slow = await append(early);
    const fast = await append(late);
    const first = await readOutbox(database, start.position);
    expect(generationsOf(first.entries)).toEqual([fast]);

    const faster = await append(late);
    await early.query("COMMIT");
    const second = await readOutbox(database, first.position);
    expect(generationsOf(second.entries)).toEqual([slow, faster]);
    expect((await readOutbox(database, second.position)).entries).toEqual([]);
  });

  test("does not miss a transaction that was running when the reader started", async () => {
    await early.query("BEGIN");
    const slow = await append(early);
    const start = await readOutbox(database, undefined);
    await early.query("COMMIT");
    expect(generationsOf((await readOutbox(database, start.position)).entries)).toEqual([slow]);
  });

  test("returns no entry of a transaction that was rolled back", async () => {
    const start = await readOutbox(database, undefined);
    await early.query("BEGIN");
    await append(early);
    await early.query("ROLLBACK");
    expect((await readOutbox(database, start.position)).entries).toEqual([]);
  });

  test("reports that there are more entries than one read returns", async () => {
    const start = await readOutbox(database, undefined);
    await late.query(
      `INSERT INTO outbox (tenant_id, generation, created_at, changes)
       SELECT $1, number, now(), '[]' FROM generate_series(1000000, 1000000 + ${readLimit}) AS number`,
      [tenantId],
    );
    const read = await readOutbox(database, start.position);
    expect(read).toMatchObject({ entries: [], complete: false });
    expect(await readOutbox(database, read.position)).toMatchObject({ entries: [], complete: true });
  });

  test("reports that the database went back in time", async () => {
    const { position } = await readOutbox(database, undefined);
    const [, next = "0"] = position.split(":");
    const ahead = String(BigInt(next) + 1000n);
    expect(await readOutbox(database, `${ahead}:${ahead}:`)).toMatchObject({ complete: false });
  });

  test("is not affected by deleting old entries", async () => {
    await append(late);
    await clearOutbox(database, new Date(Date.now() + 60_000));
    expect((await late.query("SELECT count(*)::int AS left FROM outbox")).rows).toEqual([{ left: 0 }]);
  });
});

describe("the follower", () => {
  let clock: TestClock;
  let heard: number[];
  let missed: number;
  let follower: OutboxFollower;

  beforeEach(async () => {
    clock = new TestClock();
    heard = [];
    missed = 0;
    follower = new OutboxFollower({ database, clock, log: createLog("silent") });
    follower.subscribe({
      changed: (entry) => heard.push(entry.generation),
      missed: () => {
        missed += 1;
      },
    });
    await follower.start();
    // Subscribers must discard what they read before the follower started.
    expect(missed).toBe(1);
    return () => follower.stop();
  });

  test("reads entries without a notification, and is as current as it claims", async () => {
    const added = await append(late);
    clock.advance(500);
    await until("the entry is heard", () => heard.length > 0);
    await until("the follower is current", () => follower.currentAsOf === 500);
    expect(heard).toEqual([added]);
    expect(missed).toBe(1);
  });

  test("is not current while the outbox cannot be read, and reads the missing entries afterwards", async () => {
    const reading = vi.spyOn(database, "snapshot").mockRejectedValue(new Error("away"));
    clock.advance(10_000);
    await until("the follower has tried", () => reading.mock.calls.length > 1);
    expect(follower.currentAsOf).toBeLessThan(10_000);
    reading.mockRestore();
    const added = await append(late);
    await until("the entry is heard", () => heard.includes(added));
    expect(missed).toBe(1);
  });

  test("reports missed entries after an absence longer than their retention", async () => {
    clock.advance(outboxKeptForMs);
    await until("the gap is reported", () => missed === 2);
    await until("the follower is current", () => follower.currentAsOf === outboxKeptForMs);
    expect(missed).toBe(2);
  });
});
