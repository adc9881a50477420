/** The re-encryption of the secrets of a tenant whose rows or connections are always in use. */
import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkSecrets } from "./doctor/secret-checks.ts";
import { Database } from "./platform/db/database.ts";
import type { MasterKeys } from "./platform/secrets/master-key.ts";
import { countSecrets, isResealed } from "./platform/secrets/reseal.ts";
import { resealSecrets } from "./platform/secrets/reseal-pass.ts";
import { createDatabase, type TestDatabase } from "./testing/test-database.ts";
import { startTestServer, testMasterKey } from "./testing/test-server.ts";
import { until } from "./testing/until.ts";

const masterKeys: MasterKeys = { current: Buffer.alloc(32, 9), second: testMasterKey };
/** Longer than the wait of a first attempt, in seconds. */
const heldForSeconds = 2.5;
const webhooks = 3;
let own: TestDatabase;
let database: Database;
let busy: string;

beforeEach(async () => {
  own = await createDatabase();
  const server = await startTestServer({ connection: own.connection });
  const { id, client } = await server.newTenant();
  for (let number = 1; number <= webhooks; number += 1) {
    await client.must.post("/tenants/webhooks", { name: `Hook ${number}`, url: "https://example.com/hook" });
  }
  await server.close();
  busy = id;
  database = new Database({ connection: own.connection, poolSize: 4 });
});
afterEach(async () => {
  await database.close();
  await own.drop();
});

/** Two sessions that lock the secrets in turn. At each time, one holds the locks, and the other one waits for them. */
class BusyWriter {
  readonly #sessions: readonly pg.Client[];
  readonly #observer: pg.Client;
  readonly #running: Promise<void>;
  #isStopped = false;
  /** How often a session received the locks. */
  turns = 0;

  private constructor(sessions: readonly pg.Client[], observer: pg.Client, firstLocked: Promise<unknown>) {
    this.#sessions = sessions;
    this.#observer = observer;
    this.#running = this.#run(firstLocked);
  }

  static async start(): Promise<BusyWriter> {
    const sessions = [0, 1, 2].map(() => new pg.Client(own.connection));
    for (const session of sessions) await session.connect();
    const [one, other, observer] = sessions;
    if (one === undefined || other === undefined || observer === undefined) throw new Error("there are three");
    const locked = lockSecrets(one);
    await locked;
    return new BusyWriter([one, other], observer, locked);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
    for (const session of [...this.#sessions, this.#observer]) await session.end();
  }

  async #run(firstLocked: Promise<unknown>): Promise<void> {
    let [holder, next] = this.#sessions;
    for (let locked = firstLocked; holder !== undefined && next !== undefined; [holder, next] = [next, holder]) {
      await locked;
      this.turns += 1;
      if (this.#isStopped) {
        await holder.query("ROLLBACK");
        return;
      }
      locked = lockSecrets(next);
      await until("somebody else has waited for long", async () => this.#isStopped || (await this.#isAwaited()));
      await holder.query("COMMIT");
    }
  }

  async #isAwaited(): Promise<boolean> {
    const { rowCount } = await this.#observer.query(
      `SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name = 'gatehouse command'
         AND clock_timestamp() - query_start > $1 * interval '1 second'`,
      [heldForSeconds],
    );
    return rowCount !== 0;
  }
}

async function lockSecrets(session: pg.Client): Promise<void> {
  await session.query("BEGIN");
  await session.query("SELECT FROM webhook_secrets WHERE tenant_id = $1 FOR UPDATE", [busy]);
}

test("a tenant whose secrets are always locked delays the rotation, but cannot prevent it", async () => {
  const writer = await BusyWriter.start();
  try {
    const failures = new Map<string, number>();
    const reseal = () => resealSecrets({ database, masterKeys, failures });
    await expect(reseal()).rejects.toMatchObject({ code: "55P03" });
    expect(await isResealed(database, masterKeys)).toBe(false);
    const { behind } = await countSecrets({ database, masterKeys });
    expect(behind).toEqual([{ tenantId: busy, secrets: webhooks }]);
    expect(await checkSecrets(own.connection, masterKeys)).toMatchObject({
      status: "warning",
      message: `Stored secrets need the second master key: ${webhooks} (tenant ${busy}: ${webhooks}).`,
    });
    // The next attempt waits for longer, and gets its turn although the writer never pauses.
    expect(await reseal()).toEqual({ resealed: webhooks, unreadable: 0 });
    expect(await isResealed(database, masterKeys)).toBe(true);
    expect(failures.size).toBe(0);
  } finally {
    await writer.stop();
  }
  expect(writer.turns).toBeGreaterThan(1);
});

test("a tenant that uses its whole share of the connections does not delay the rotation", async () => {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const started = Array.from({ length: 3 }, () => {
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const ended = database.transaction({ kind: "tenant", tenantId: busy }, async () => {
      begin();
      await released;
    });
    return { begun, ended };
  });
  try {
    for (const { begun } of started) await begun;
    expect(await resealSecrets({ database, masterKeys })).toMatchObject({ unreadable: 0 });
    expect(await isResealed(database, masterKeys)).toBe(true);
  } finally {
    release();
    await Promise.all(started.map(({ ended }) => ended));
  }
});
