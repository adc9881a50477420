import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createDatabase, createEmptyDatabase, type TestDatabase } from "../../testing/test-database.ts";
import { until } from "../../testing/until.ts";
import { applicationRole, Database } from "../db/database.ts";
import { jobSchema } from "../db/job-schema.ts";
import { migrate } from "../db/migrations.ts";
import { newId } from "../ids.ts";
import { createLog } from "../log.ts";
import { type Job, JobQueue } from "./job-queue.ts";

let own: TestDatabase;
let owner: pg.Client;
let database: Database;
let queue: JobQueue;
let replica: JobQueue;

beforeAll(async () => {
  own = await createDatabase();
  owner = new pg.Client(own.connection);
  await owner.connect();
  database = new Database({ connection: own.connection, poolSize: 2 });
});
beforeEach(async () => {
  const options = { connection: own.connection, log: createLog("silent"), pollIntervalMs: 10 };
  queue = new JobQueue(options);
  replica = new JobQueue(options);
  await Promise.all([queue.start(), replica.start()]);
});
afterEach(async () => {
  await Promise.all([queue.stop(), replica.stop()]);
  await owner.query(`TRUNCATE ${jobSchema}.job`);
});
afterAll(async () => {
  await Promise.all([database.close(), owner.end()]);
  await own.drop();
});

const name = "webhook-deliveries";
const jobs = (count: number): Job[] => Array.from({ length: count }, () => ({ id: newId(), content: { of: newId() } }));

async function enqueue(made: readonly Job[]): Promise<void> {
  await database.transaction({ kind: "operator" }, (transaction) => queue.enqueue(transaction, name, made));
}

async function stored(): Promise<readonly { readonly state: string }[]> {
  return (await owner.query<{ state: string }>(`SELECT state FROM ${jobSchema}.job`)).rows;
}

describe("a job", () => {
  test("is performed once by one of the replicas, with its content, and then deleted", async () => {
    const done: Job[] = [];
    for (const worker of [queue, replica]) {
      worker.work({ queue: name, concurrency: 3, perform: async (job) => void done.push(job) });
    }
    const made = jobs(50);
    await enqueue(made);
    await until("all are done", () => done.length >= 50);
    await until("all are gone", async () => (await stored()).length === 0);
    const byId = (a: Job, b: Job) => (a.id < b.id ? -1 : 1);
    expect(done.sort(byId)).toEqual([...made].sort(byId));
  });

  test("is created only if its transaction commits", async () => {
    const failing = database.transaction({ kind: "operator" }, async (transaction) => {
      await queue.enqueue(transaction, name, jobs(1));
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await stored()).toEqual([]);
  });

  test("that fails is not retried, and does not stop the queue", async () => {
    const seen: string[] = [];
    const [bad, good] = jobs(2);
    if (bad === undefined || good === undefined) throw new Error("two were made");
    const perform = async ({ id }: Job) => {
      seen.push(id);
      if (id === bad.id) throw new Error("no");
    };
    queue.work({ queue: name, concurrency: 1, perform });
    await enqueue([bad]);
    await until("the first was tried", () => seen.length === 1);
    await enqueue([good]);
    await until("the second was done", () => seen.length === 2);
    expect(seen).toEqual([bad.id, good.id]);
  });

  test("waits while the maximum number of jobs is running", async () => {
    const ends: (() => void)[] = [];
    const perform = () => new Promise<void>((resolve) => void ends.push(resolve));
    queue.work({ queue: name, concurrency: 2, perform });
    await enqueue(jobs(5));
    for (let ended = 0; ended < 5; ended += 1) {
      await until("the next is under way", () => ends.length > ended);
      expect(ends.length).toBeLessThanOrEqual(ended + 2);
      ends[ended]?.();
    }
  });

  test("of a dead replica is deleted after the timeout, and its archived row later", async () => {
    await enqueue(jobs(1));
    await owner.query(`UPDATE ${jobSchema}.job SET state = 'active', started_on = now() - interval '3 minutes'`);
    await queue.maintain();
    expect(await stored()).toEqual([{ state: "failed" }]);
    await owner.query(`UPDATE ${jobSchema}.job SET completed_on = now() - interval '2 hours'`);
    await replica.maintain();
    expect(await stored()).toEqual([]);
    await owner.query(`UPDATE ${jobSchema}.archive SET archived_on = now() - interval '2 hours'`);
    await queue.maintain();
    expect((await owner.query(`SELECT FROM ${jobSchema}.archive`)).rowCount).toBe(0);
  });
});

test("stopping aborts running jobs, stops fetching, and closes all connections", async () => {
  let aborted = false;
  queue.work({
    queue: name,
    concurrency: 1,
    perform: (_job, signal) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          aborted = true;
          resolve();
        });
      }),
  });
  await enqueue(jobs(2));
  await until("one is under way", async () => (await stored()).some(({ state }) => state === "active"));
  await Promise.all([queue.stop(), replica.stop()]);
  expect(aborted).toBe(true);
  expect(await stored()).toEqual([{ state: "created" }]);
  await until("its connections are gone", async () => {
    const { rowCount } = await owner.query(
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'gatehouse jobs'",
    );
    return rowCount === 0;
  });
});

describe("the queue's schema", () => {
  const privileges = async () =>
    (
      await owner.query(
        `SELECT relname AS table, string_agg(privilege, ', ' ORDER BY privilege) AS may
         FROM pg_class, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) AS privilege
         WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p')
           AND has_table_privilege($2, oid, privilege) GROUP BY relname ORDER BY relname`,
        [jobSchema, applicationRole],
      )
    ).rows;

  test("grants the application only access to its rows", async () => {
    expect(await privileges()).toEqual([
      { table: "archive", may: "DELETE, INSERT, SELECT" },
      { table: "job", may: "DELETE, INSERT, SELECT, UPDATE" },
      { table: "queue", may: "SELECT" },
      { table: "version", may: "SELECT" },
    ]);
    const { rows } = await owner.query(
      `SELECT has_schema_privilege($1, $2, 'CREATE') AS may_create,
              (SELECT count(*)::int FROM pg_proc WHERE pronamespace = $2::regnamespace
               AND has_function_privilege($1, oid, 'EXECUTE')) AS functions`,
      [applicationRole, jobSchema],
    );
    expect(rows).toEqual([{ may_create: false, functions: 0 }]);
  });

  test("is unchanged when the migrations are applied again", async () => {
    const before = await privileges();
    expect(await migrate(own.connection)).toEqual([]);
    expect(await privileges()).toEqual(before);
  });

  test("fails with a remedy if the database user cannot create it", async () => {
    const other = await createEmptyDatabase();
    const administrator = new pg.Client(other.connection);
    await administrator.connect();
    const user = `gatehouse_test_${randomBytes(6).toString("hex")}`;
    await administrator.query(`CREATE ROLE ${user}; GRANT ${applicationRole} TO ${user}; GRANT ${user} TO CURRENT_USER;
      GRANT ALL ON SCHEMA public TO ${user}`);
    const connection = { ...other.connection, options: `-c role=${user}` };
    await expect(migrate(connection)).rejects.toThrow(
      /may not create the schema gatehouse_jobs.*GRANT CREATE ON DATABASE/,
    );
    const { rows } = await administrator.query("SELECT current_database() AS name");
    await administrator.query(`GRANT CREATE ON DATABASE ${rows[0].name} TO ${user}`);
    expect(await migrate(connection)).toEqual([]);
    await administrator.end();
    await other.drop();
    await owner.query(`DROP ROLE ${user}`);
  });

  test("is rejected if a newer version created it", async () => {
    await owner.query(`UPDATE ${jobSchema}.version SET version = version + 1000`);
    try {
      await expect(migrate(own.connection)).rejects.toThrow(/Start the newer version that made it/);
      await expect(new JobQueue({ connection: own.connection, log: createLog("silent") }).start()).rejects.toThrow();
    } finally {
      await owner.query(`UPDATE ${jobSchema}.version SET version = version - 1000`);
    }
  });
});
