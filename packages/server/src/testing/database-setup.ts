/**
 * Runs once before all tests: a PostgreSQL with a migrated database, embedded unless GATEHOUSE_TEST_DATABASE_URL names
 * another. Tests share it, each with tenants of its own; those that need an installation to themselves make a database.
 */
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import type { TestProject } from "vitest/node";
import type { Connection } from "../platform/db/database.ts";
import { migrate } from "../platform/db/migrations.ts";
import { startEmbeddedPostgres } from "../platform/embedded-postgres/embedded-postgres.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** A server on which tests may create databases. */
    server: Connection;
    /** A migrated database that tests share. */
    database: Connection;
  }
}

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const url = process.env.GATEHOUSE_TEST_DATABASE_URL;
  if (url !== undefined && url !== "") return shareDatabase(project, { connectionString: url }, async () => undefined);
  const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-test-"));
  // As root, PostgreSQL runs as another user, who must be able to enter.
  await chmod(folder, 0o711);
  const postgres = await startEmbeddedPostgres({
    dataDir: folder,
    log: () => undefined,
    // Tests outlive no power loss.
    settings: { fsync: "off", synchronous_commit: "off", full_page_writes: "off", max_connections: "150" },
  });
  return shareDatabase(project, { ...postgres.connection, ssl: false }, async () => {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  });
}

async function shareDatabase(
  project: TestProject,
  server: Connection,
  stop: () => Promise<void>,
): Promise<() => Promise<void>> {
  const { connection, drop } = await createDatabase(server);
  await migrate(connection);
  project.provide("server", server);
  project.provide("database", connection);
  return async () => {
    await drop();
    await stop();
  };
}

/** Makes an empty database on a server, with a name of its own. */
export async function createDatabase(
  server: Connection,
): Promise<{ readonly connection: Connection; drop(): Promise<void> }> {
  const name = `gatehouse_test_${randomBytes(6).toString("hex")}`;
  await execute(server, `CREATE DATABASE ${name} ENCODING 'UTF8' TEMPLATE template0`);
  return {
    connection: onDatabase(server, name),
    drop: () => execute(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

function onDatabase(server: Connection, name: string): Connection {
  if (server.connectionString === undefined) return { ...server, database: name };
  const url = new URL(server.connectionString);
  url.pathname = `/${name}`;
  return { connectionString: url.href };
}

async function execute(server: Connection, text: string): Promise<void> {
  const client = new pg.Client(server);
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
