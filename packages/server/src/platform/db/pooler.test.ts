/** Gatehouse behind pgbouncer, which is skipped if pgbouncer is not installed. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { until } from "../../testing/until.ts";
import { applicationRole, Database } from "./database.ts";
import { requireOwnSessions, sessionPreparation } from "./session-settings.ts";
import { unprepared } from "./statement.ts";

const state = unprepared<{ role: string; zone: string; statement: string; idle: string }, []>(
  `SELECT current_user AS role, current_setting('timezone') AS zone, current_setting('statement_timeout') AS statement,
     current_setting('idle_in_transaction_session_timeout') AS idle`,
);
const expected = [{ role: applicationRole, zone: "UTC", statement: "15s", idle: "30s" }];
const readState = (database: Database) => database.snapshot({ kind: "operator" }, ({ query }) => query(state));

test("a connection has the role, the time limits and the time zone", async () => {
  const database = new Database({ connection: inject("database"), poolSize: 1 });
  expect(await readState(database)).toEqual(expected);
  await database.close();
});

test("a connection whose settings do not take effect is not used", async () => {
  const client = new pg.Client(inject("database"));
  await client.connect();
  const ignoring = {
    query: (text: string) => client.query(text.startsWith("SET") ? "SELECT 1" : text),
  } as unknown as pg.ClientBase; // all that a preparation needs
  const limits = { statement_timeout: 15_000, idle_in_transaction_session_timeout: 30_000 };
  await expect(sessionPreparation({ role: applicationRole, ...limits })(ignoring)).rejects.toThrow(/settings: role/);
  await client.end();
});

test("direct connections have sessions of their own", async () => {
  await expect(requireOwnSessions(inject("database"))).resolves.toBeUndefined();
});

const isInstalled =
  spawnSync("pgbouncer", ["--version"], { env: { PATH: `${process.env.PATH}:/usr/sbin` } }).status === 0;

describe.skipIf(!isInstalled)("behind pgbouncer (skipped if it is not installed: apt-get install pgbouncer)", () => {
  let folder: string;
  const running: ChildProcess[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "gatehouse-pgbouncer-"));
    // pgbouncer refuses to run as root, and must read its settings as another user.
    await chmod(folder, 0o755);
  });
  afterAll(async () => {
    for (const child of running) child.kill();
    await rm(folder, { recursive: true, force: true });
  });

  /** Starts pgbouncer with Debian's default settings, except for the mode. @returns a connection through it */
  async function pooled(mode: "session" | "transaction") {
    const { host, port, user, database } = inject("database");
    const listenPort = await freePort();
    const settings = [
      "[databases]",
      `${database} = host=${host} port=${port ?? 5432} dbname=${database} user=${user}`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${listenPort}`,
      "unix_socket_dir =",
      "auth_type = any",
      `pool_mode = ${mode}`,
      "default_pool_size = 10",
    ];
    const file = path.join(folder, `${mode}.ini`);
    await writeFile(file, settings.join("\n"));
    const asRoot = process.getuid?.() === 0;
    const child = spawn("pgbouncer", [...(asRoot ? ["-u", "postgres"] : []), file], {
      env: { PATH: `${process.env.PATH}:/usr/sbin` },
      stdio: "ignore",
    });
    running.push(child);
    const connection = {
      host: "127.0.0.1",
      port: listenPort,
      ...(user === undefined ? {} : { user }),
      ...(database === undefined ? {} : { database }),
    };
    await until("pgbouncer answers", async () => {
      const client = new pg.Client(connection);
      client.on("error", () => undefined);
      try {
        await client.connect();
        await client.query("SELECT 1");
        return true;
      } catch {
        return false;
      } finally {
        await client.end().catch(() => undefined);
      }
    });
    return connection;
  }

  test("in session mode, connections have the role, the time limits and the time zone", async () => {
    const connection = await pooled("session");
    await expect(requireOwnSessions(connection)).resolves.toBeUndefined();
    const database = new Database({ connection, poolSize: 4 });
    const states = await Promise.all(Array.from({ length: 20 }, () => readState(database)));
    for (const found of states) expect(found).toEqual(expected);
    await database.close();
  });

  test("in transaction mode, the start is refused with the reason", async () => {
    const connection = await pooled("transaction");
    await expect(requireOwnSessions(connection)).rejects.toMatchObject({
      name: "StartError",
      message: expect.stringContaining("the same session"),
      remedy: expect.stringContaining("pool_mode = session"),
    });
  });
});

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
