/**
 * PostgreSQL for the tests, started once for all projects that need it. It is embedded, unless
 * GATEHOUSE_TEST_DATABASE_URL names a server. Tests share one migrated database, each with its own tenants. A test file
 * that needs its own installation creates a database, which is a copy of a migrated template.
 */
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm, stat, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { startEmbeddedPostgres } from "@gatehouse/embedded-postgres";
import pg from "pg";
import type { TestProject } from "vitest/node";
import type { Connection } from "../platform/db/database.ts";
import { migrate } from "../platform/db/migrations.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** A server on which tests may create databases. */
    server: Connection;
    /** Name of a migrated database that is copied, and has no connections. */
    template: string;
    /** A migrated database that tests share. */
    database: Connection;
  }
}

interface SharedServer {
  readonly server: Connection;
  readonly template: string;
  readonly database: Connection;
  stop(): Promise<void>;
}

/** Every project loads this module. All of them share the server that the first one started. */
const started = globalThis as { gatehouseTestServer?: { readonly shared: Promise<SharedServer>; users: number } };

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  started.gatehouseTestServer ??= { shared: start(), users: 0 };
  const use = started.gatehouseTestServer;
  use.users += 1;
  const { server, template, database, stop } = await use.shared;
  project.provide("server", server);
  project.provide("template", template);
  project.provide("database", database);
  return async () => {
    use.users -= 1;
    if (use.users > 0) return;
    delete started.gatehouseTestServer;
    await stop();
  };
}

async function start(): Promise<SharedServer> {
  const url = process.env.GATEHOUSE_TEST_DATABASE_URL;
  if (url !== undefined && url !== "") return prepare({ connectionString: url }, async () => undefined);
  const folder = await newFolder();
  // If the tests run as root, PostgreSQL runs as another user, which must be able to enter the folder.
  await chmod(folder, 0o711);
  const postgres = await startEmbeddedPostgres({
    dataDir: folder,
    log: () => undefined,
    // Test data need not survive a power loss.
    settings: { fsync: "off", synchronous_commit: "off", full_page_writes: "off", max_connections: "150" },
  });
  return prepare({ ...postgres.connection, ssl: false }, async () => {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  });
}

const memory = "/dev/shm";
/** Much more than the tests need. The log of PostgreSQL alone can use 512 MiB. */
const requiredMemoryBytes = 4 * 1024 ** 3;
const folderPrefix = "gatehouse-test-database-";

/**
 * Makes a folder in memory if there is enough, because copying and deleting databases on a disk takes six times the
 * processor time.
 */
async function newFolder(): Promise<string> {
  const space = await statfs(memory).catch(() => undefined);
  if (space === undefined || space.bavail * space.bsize < requiredMemoryBytes) {
    return mkdtemp(path.join(tmpdir(), folderPrefix));
  }
  await removeAbandoned();
  return mkdtemp(path.join(memory, folderPrefix));
}

/** Runs that were killed leave their folders behind, which would use memory until the machine restarts. */
async function removeAbandoned(): Promise<void> {
  const hourAgo = Date.now() - 3_600_000;
  for (const name of (await readdir(memory)).filter((each) => each.startsWith(folderPrefix))) {
    const folder = path.join(memory, name);
    const made = await stat(folder).catch(() => undefined);
    if (made === undefined || made.mtimeMs > hourAgo || (await isRunning(folder))) continue;
    // A folder of another account.
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** Whether PostgreSQL runs on the folder. */
async function isRunning(folder: string): Promise<boolean> {
  const text = await readFile(path.join(folder, "postgres/postmaster.pid"), "utf8").catch(() => "");
  const pid = Number.parseInt(text, 10);
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    // EPERM: a process of another account.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** Migrates once. The shared database and the databases of single files are copies. */
async function prepare(server: Connection, stop: () => Promise<void>): Promise<SharedServer> {
  const template = `gatehouse_test_${randomBytes(6).toString("hex")}`;
  await migrate((await createDatabaseOn(server, template, "template0")).connection);
  const database = await createDatabaseOn(server, `${template}_shared`, template);
  return {
    server,
    template,
    database: database.connection,
    async stop() {
      await dropDatabasesLike(server, `${template}%`);
      await stop();
    },
  };
}

export interface TestDatabase {
  readonly name: string;
  readonly connection: Connection;
  drop(): Promise<void>;
}

/** Creates a database as a copy of another one, which must have no connections. */
export async function createDatabaseOn(server: Connection, name: string, template: string): Promise<TestDatabase> {
  // Copying files takes a third of the processor time that copying blocks through the log takes.
  await execute(server, `CREATE DATABASE ${name} ENCODING 'UTF8' TEMPLATE ${template} STRATEGY FILE_COPY`);
  return { name, connection: onDatabase(server, name), drop: () => dropDatabasesLike(server, name) };
}

async function dropDatabasesLike(server: Connection, pattern: string): Promise<void> {
  const { rows } = await execute(server, "SELECT datname AS name FROM pg_database WHERE datname LIKE $1", [pattern]);
  for (const { name } of rows) await execute(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
}

function onDatabase(server: Connection, name: string): Connection {
  if (server.connectionString === undefined) return { ...server, database: name };
  const url = new URL(server.connectionString);
  url.pathname = `/${name}`;
  return { connectionString: url.href };
}

async function execute(server: Connection, text: string, values?: readonly string[]) {
  const client = new pg.Client(server);
  await client.connect();
  try {
    return await client.query<{ name: string }>(text, values === undefined ? undefined : [...values]);
  } finally {
    await client.end();
  }
}
