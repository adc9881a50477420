import { randomUUID } from "node:crypto";
import { Socket } from "node:net";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { waitLimitMs } from "../../../../../test/wait-limit.ts";
import { DatabaseProxy } from "../../testing/faults/database-proxy.ts";
import { createDatabase } from "../../testing/test-database.ts";
import { until } from "../../testing/until.ts";
import { isOutage, isTemporary } from "../background-failures.ts";
import { applicationRole, Database, type Transaction } from "./database.ts";
import type { Pauses } from "./paused-statements.ts";
import type { Scope } from "./scope.ts";
import { statement, unprepared } from "./statement.ts";

// A table that every scope can write to. Each test uses its own rows.
const insert = statement<never, [name: string]>(
  "database_test.insert",
  "INSERT INTO installation (name, value) VALUES ($1, '')",
);
const select = statement<{ name: string }, [name: string]>(
  "database_test.select",
  "SELECT name FROM installation WHERE name = $1",
);
const insertFamily = statement<never, [first: number, count: number]>(
  "database_test.insert_family",
  `WITH parent AS (
     INSERT INTO parents (tenant, id, key, a) SELECT md5('')::uuid, md5(id::text)::uuid, id::text, repeat('a', 400)
     FROM generate_series($1::integer, $1 + $2 - 1) AS id RETURNING tenant, id
   )
   INSERT INTO children SELECT tenant, id FROM parent`,
);
const failing = unprepared<never, []>("SELECT 1 / 0");
const contended = unprepared<never, []>("DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$");
const becomingOwner = unprepared<never, []>("SET LOCAL ROLE NONE");
const ending = unprepared<never, []>("SELECT pg_terminate_backend(pg_backend_pid())");
const sleeping = unprepared<never, []>("SELECT pg_sleep(30)");

const scope: Scope = { kind: "operator" };
const none = () => Promise.resolve();
const unavailable = { code: "database_unavailable", retryAfterSeconds: expect.any(Number) };
let proxy: DatabaseProxy;
let database: Database;
/** Has short time limits, which a busy database can miss. */
let hasty: Database;
let name: string;

beforeAll(async () => {
  const started = await DatabaseProxy.start(inject("database"));
  proxy = started.proxy;
  const { connection } = started;
  database = new Database({ connection, poolSize: 2 });
  hasty = new Database({ connection, poolSize: 2, connectTimeoutMs: 1000, answerTimeoutMs: 300 });
});
beforeEach(() => {
  name = randomUUID();
});
afterEach(() => proxy.restore());
afterAll(async () => {
  await database.close();
  await hasty.close();
  await proxy.close();
});

async function stored(from = database): Promise<boolean> {
  return (await from.snapshot(scope, (transaction) => transaction.query(select, name))).length === 1;
}

describe("a transaction", () => {
  test("is committed after its work", async () => {
    expect(await database.transaction(scope, async (tx) => (await tx.query(insert, name)).length)).toBe(0);
    expect(await stored()).toBe(true);
  });

  test("is rolled back if its work throws", async () => {
    const work = database.transaction(scope, async (tx) => {
      await tx.query(insert, name);
      throw new Error("no");
    });
    await expect(work).rejects.toThrow("no");
    expect(await stored()).toBe(false);
  });

  test("is not reported as committed if the work swallows the error of a query", async () => {
    const work = database.transaction(scope, async (tx) => {
      await tx.query(insert, name);
      await tx.query(failing).catch(() => undefined);
    });
    await expect(work).rejects.toThrow("the transaction ended in ROLLBACK");
    expect(await stored()).toBe(false);
  });

  test.each<[string, (tx: Parameters<Parameters<Database["transaction"]>[1]>[0]) => Promise<unknown>]>([
    ["throws", () => JSON.parse("")],
    ["fails", (tx) => tx.query(failing)],
  ])("is rolled back when what is to be done last %s", async (_how, finish) => {
    await expect(database.transaction(scope, (tx) => tx.query(insert, name), finish)).rejects.toThrow();
    expect(await stored()).toBe(false);
    for (let count = 0; count < 4; count += 1) await database.transaction(scope, (tx) => tx.query(select, name));
  });

  test("is retried after a serialization failure", async () => {
    let runs = 0;
    await database.transaction(scope, async (tx) => {
      runs += 1;
      if (runs < 4) await tx.query(contended);
      await tx.query(insert, name);
    });
    expect(runs).toBe(4);
    expect(await stored()).toBe(true);
  });

  test("that always fails with one ends in database_unavailable, not in an internal error", async () => {
    await expect(database.transaction(scope, (tx) => tx.query(contended))).rejects.toMatchObject(unavailable);
  });

  test("waits if all connections are in use", async () => {
    const patient = new Database({
      connection: inject("database"),
      poolSize: 2,
      connectTimeoutMs: 15_000,
    });
    try {
      const results = await Promise.all(
        Array.from({ length: 100 }, () => patient.transaction(scope, (tx) => tx.query(select, name))),
      );
      expect(results).toHaveLength(100);
    } finally {
      await patient.close();
    }
  });
});

describe("a transaction with pauses", () => {
  let pausedMs: number;
  const pauses: Pauses = {
    areDue: true,
    get pausedMs() {
      return pausedMs;
    },
    after: async () => {
      pausedMs += 1_000;
    },
  };
  beforeEach(() => {
    pausedMs = 0;
  });

  test("sends nothing after a statement has failed", async () => {
    const work = database.transaction(
      scope,
      (tx) => Promise.all([tx.query(failing), tx.query(insert, name)]),
      none,
      pauses,
    );
    await expect(work).rejects.toThrow("division by zero");
    expect(await stored()).toBe(false);
    for (let count = 0; count < 4; count += 1) await database.transaction(scope, (tx) => tx.query(select, name));
  });

  test("commits its last statements together, without pauses", async () => {
    const finish = async (tx: Transaction) => {
      const before = pausedMs;
      await Promise.all([tx.query(select, name), tx.query(select, name)]);
      expect(pausedMs).toBe(before);
    };
    await database.transaction(scope, (tx) => tx.query(insert, name), finish, pauses);
    expect(await stored()).toBe(true);
  });

  test("reads one snapshot", async () => {
    const read = await database.snapshot(
      scope,
      async (tx) => {
        const before = await tx.query(select, name);
        await database.transaction(scope, (other) => other.query(insert, name));
        return [before, await tx.query(select, name)];
      },
      pauses,
    );
    expect(read).toEqual([[], []]);
    expect(pausedMs).toBe(2_000);
  });

  test("ends its use of the connection with the length of the pauses", async () => {
    const uses: object[] = [];
    const connection = inject("database");
    const onUse = (tenantId: string) => (paused: number) => uses.push({ tenantId, paused });
    const metered = new Database({ connection, poolSize: 1, onUse });
    const tenant: Scope = { kind: "tenant", tenantId: randomUUID() };
    const before = pausedMs;
    await metered.dryRun(tenant, (tx) => Promise.all([tx.query(select, name), tx.query(select, name)]), pauses);
    await metered.close();
    expect(uses).toEqual([{ tenantId: tenant.tenantId, paused: pausedMs - before }]);
    expect(pausedMs).toBeGreaterThan(before);
  });
});

test("a snapshot rejects queries after its work first waits", async () => {
  const late = database.snapshot(scope, async (transaction) => {
    await transaction.query(select, name);
    return transaction.query(select, name);
  });
  await expect(late).rejects.toThrow("before the first await");
});

test("an invalid scope is rejected and uses no connection", async () => {
  const injected: Scope = { kind: "tenant", tenantId: "'; RESET ROLE; --" };
  for (let count = 0; count < 4; count += 1) {
    await expect(database.snapshot(injected, (tx) => tx.query(select, name))).rejects.toThrow("a UUID");
    await expect(database.transaction(injected, (tx) => tx.query(select, name))).rejects.toThrow("a UUID");
  }
  expect(await stored()).toBe(false);
});

describe("an unavailable database", () => {
  test.each(["transaction", "snapshot"] as const)(
    "ends a %s in database_unavailable if its connection breaks",
    async (kind) => {
      const work = database[kind](scope, (tx) => Promise.all([tx.query(becomingOwner), tx.query(ending)]));
      await expect(work).rejects.toMatchObject(unavailable);
      expect(await stored()).toBe(false);
    },
  );

  test("ends work in database_unavailable at once, until it is available again", async () => {
    await proxy.cut();
    await expect(stored()).rejects.toMatchObject(unavailable);
    await expect(database.ping()).rejects.toMatchObject(unavailable);
    await expect(database.transaction(scope, (tx) => tx.query(insert, name))).rejects.toMatchObject(unavailable);
    await proxy.restore();
    expect(await stored()).toBe(false);
    await database.ping();
  });

  test("fails with database_unavailable if the server cancels a slow statement", async () => {
    const impatient = new Database({ connection: inject("database"), poolSize: 1, statementTimeoutMs: 50 });
    try {
      await expect(impatient.transaction(scope, (tx) => tx.query(sleeping))).rejects.toMatchObject(unavailable);
    } finally {
      await impatient.close();
    }
  });
});

test("a transaction with a long wait has longer limits than others", async () => {
  const limits = { statementTimeoutMs: 50, answerTimeoutMs: 100 };
  const impatient = new Database({ connection: inject("database"), poolSize: 2, ...limits });
  const slow = unprepared<never, []>("SELECT pg_sleep(0.3)");
  const runs = (waitMs: number) => impatient.transaction({ ...scope, waitMs }, (tx) => tx.query(slow));
  try {
    await expect(runs(10_000)).rejects.toMatchObject(unavailable);
    expect(await runs(10_001)).toHaveLength(1);
  } finally {
    await impatient.close();
  }
});

describe("a database that hangs", () => {
  test.each<[string, () => Promise<unknown>]>([
    ["a snapshot", () => stored(hasty)],
    ["a transaction", () => hasty.transaction(scope, (tx) => tx.query(insert, name))],
  ])("ends %s in database_unavailable within the time that an answer may take", async (_what, work) => {
    await until("the database answers quickly", () =>
      hasty.ping().then(
        () => true,
        () => false,
      ),
    );
    proxy.hang();
    await expect(work()).rejects.toMatchObject(unavailable);
    // Covers the time limits of both the hung connection and a new one, which hangs too.
    await expect(work()).rejects.toMatchObject(unavailable);
    await expect(work()).rejects.toMatchObject(unavailable);
    await proxy.restore();
    await until("work succeeds again", () =>
      work().then(
        () => true,
        () => false,
      ),
    );
  });
});

describe("a tenant", () => {
  const one: Scope = { kind: "tenant", tenantId: randomUUID() };
  const other: Scope = { kind: "tenant", tenantId: randomUUID() };
  let shared: Database;

  /** Opens a pool, of whose four connections one tenant can use three. */
  const open = (connectTimeoutMs: number) => {
    shared = new Database({ connection: inject("database"), poolSize: 4, connectTimeoutMs });
  };
  afterEach(() => shared.close());

  /** Starts transactions that stay open, like those that wait for a lock. */
  async function occupy(count: number) {
    const begun: Promise<void>[] = [];
    let leave = () => {};
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const work = Array.from({ length: count }, () => {
      let begin = () => {};
      begun.push(
        new Promise<void>((resolve) => {
          begin = resolve;
        }),
      );
      return shared.transaction(one, () => {
        begin();
        return left;
      });
    });
    return { begun, work, leave };
  }

  test("that uses its whole share of the connections delays neither other tenants nor the operator", async () => {
    // The seven that wait must not give up before the others have been answered.
    open(waitLimitMs);
    const { begun, work, leave } = await occupy(10);
    await Promise.all(begun.slice(0, 3));
    expect(shared.poolState).toMatchObject({ size: 3, idle: 0, waiting: 0 });
    for (const scope of [other, { kind: "operator" } as const]) {
      expect(await shared.snapshot(scope, (tx) => tx.query(select, name))).toEqual([]);
    }
    leave();
    await Promise.all(work);
    expect(shared.poolState).toMatchObject({ idle: shared.poolState.size });
  });

  test("whose background work waits for its share gives up earlier", async () => {
    open(waitLimitMs);
    const { begun, work, leave } = await occupy(3);
    await Promise.all(begun);
    const background = { ...one, waitMs: 10 };
    await expect(shared.snapshot(background, (tx) => tx.query(select, name))).rejects.toMatchObject(unavailable);
    leave();
    await Promise.all(work);
  });

  test("that waits too long gets an error, and can use its share again afterwards", async () => {
    // The time also limits how long a connection may take to open.
    open(2_000);
    const { begun, work, leave } = await occupy(3);
    await Promise.all(begun);
    await expect(shared.snapshot(one, (tx) => tx.query(select, name))).rejects.toMatchObject(unavailable);
    leave();
    await Promise.all(work);
    const again = await occupy(3);
    await Promise.all(again.begun);
    again.leave();
    await Promise.all(again.work);
  });
});

describe("background work", () => {
  const tenants = Array.from({ length: 6 }, () => randomUUID());
  /** Transactions that hold their connections until `leave` is called. */
  function hold(pool: Database, scopes: readonly Scope[]) {
    let leave = () => {};
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const begun: Scope[] = [];
    const work = scopes.map((scope) =>
      pool.transaction(scope, () => {
        begun.push(scope);
        return left;
      }),
    );
    return { begun, work, leave };
  }

  test("of all tenants together leaves half of the connections to requests", async () => {
    const pool = new Database({ connection: inject("database"), poolSize: 4, connectTimeoutMs: waitLimitMs });
    const waits = [9_000, 500].flatMap((waitMs) =>
      tenants.map((tenantId) => ({ kind: "tenant" as const, tenantId, waitMs })),
    );
    const held = hold(pool, waits);
    await until("two have begun", () => held.begun.length === 2);
    expect(new Set(held.begun)).toEqual(new Set([waits[0], waits[6]]));
    const requests = hold(
      pool,
      tenants.slice(0, 2).map((tenantId) => ({ kind: "tenant", tenantId })),
    );
    await until("requests have connections", () => requests.begun.length === 2);
    expect(pool.poolState).toMatchObject({ size: 4, waiting: 0 });
    requests.leave();
    held.leave();
    await Promise.all([...requests.work, ...held.work]);
    expect(held.begun).toHaveLength(12);
    await pool.close();
  });

  test("of first attempts lets a second attempt run", async () => {
    const pool = new Database({ connection: inject("database"), poolSize: 4, connectTimeoutMs: waitLimitMs });
    let isDone = false;
    const busy = tenants.slice(0, 2).map(async (tenantId) => {
      while (!isDone) await pool.snapshot({ kind: "tenant", tenantId, waitMs: 500 }, (tx) => tx.query(select, name));
    });
    const second = { kind: "tenant" as const, tenantId: randomUUID(), waitMs: 2_000 };
    await pool.snapshot(second, (tx) => tx.query(select, name));
    isDone = true;
    await Promise.all(busy);
    await pool.close();
  });

  test("that finds all connections in use has not lost the database", async () => {
    const pool = new Database({ connection: inject("database"), poolSize: 2, connectTimeoutMs: 2_000 });
    const held = hold(
      pool,
      tenants.slice(0, 2).map((tenantId) => ({ kind: "tenant", tenantId })),
    );
    await until("both have begun", () => held.begun.length === 2);
    const failure: unknown = await pool
      .snapshot(scope, (tx) => tx.query(select, name))
      .catch((error: unknown) => error);
    expect(failure).toMatchObject(unavailable);
    expect([isOutage(failure), isTemporary(failure)]).toEqual([false, true]);
    held.leave();
    await Promise.all(held.work);
    await pool.close();
  });
});

test("a transaction writes to its connection once for each turn in which it asks", async () => {
  let writes = 0;
  class CountingSocket extends Socket {
    override _write(...args: Parameters<Socket["_write"]>): void {
      writes += 1;
      super._write(...args);
    }
    override _writev(...args: Parameters<NonNullable<Socket["_writev"]>>): void {
      writes += 1;
      super._writev?.(...args);
    }
  }
  const connection = { ...inject("database"), stream: () => new CountingSocket() };
  const counting = new Database({ connection, poolSize: 1 });
  try {
    const work = () =>
      counting.transaction(
        scope,
        async (tx) => {
          await Promise.all([tx.query(select, name), tx.query(select, name), tx.query(select, name)]);
          await tx.query(select, name);
        },
        (tx) => Promise.all([tx.query(insert, randomUUID()), tx.query(insert, randomUUID())]),
      );
    await work();
    writes = 0;
    await work();
    // BEGIN with the first queries, the next query, and the last queries with COMMIT.
    expect(writes).toBe(3);
  } finally {
    await counting.close();
  }
});

test("a connection makes its plans again while tables grow, including those of foreign keys", async () => {
  const own = await createDatabase();
  const connection = { ...own.connection };
  const owner = new pg.Client(connection);
  await owner.connect();
  // While the table has few rows, PostgreSQL finds a parent by the tenant alone, with the second index.
  await owner.query(`CREATE TABLE parents (tenant uuid, id uuid, key text, a text, b text, c text, d text, e text, f text,
      PRIMARY KEY (tenant, id), UNIQUE (tenant, key));
    CREATE TABLE children (tenant uuid, id uuid, FOREIGN KEY (tenant, id) REFERENCES parents);
    ALTER TABLE parents SET (autovacuum_enabled = off);
    GRANT ALL ON parents, children TO ${applicationRole}`);
  const growing = new Database({ connection, poolSize: 1 });
  const [transactions, rows] = [30, 100];
  for (let index = 0; index < transactions; index += 1) {
    await growing.transaction(scope, (tx) => tx.query(insertFamily, index * rows, rows));
  }
  await growing.close();
  const statistics = async () => {
    const { rows: found } = await owner.query<{ inserted: string; read: string }>(
      `SELECT n_tup_ins AS inserted, (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'parents') AS read
       FROM pg_stat_user_tables WHERE relname = 'parents'`,
    );
    return { inserted: Number(found[0]?.inserted), read: Number(found[0]?.read) };
  };
  // The statistics of a connection arrive after it has ended.
  await until("the statistics arrive", async () => (await statistics()).inserted === transactions * rows);
  // With the first plan, each row would read all previous ones: about 4,600,000.
  expect((await statistics()).read).toBeLessThan(1_000_000);
  await owner.end();
  await own.drop();
});
