/** Databases of single test files. Most files use the database that all tests share, through `sharedTestServer`. */
import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { createDatabaseOn, type TestDatabase } from "./database-setup.ts";

export type { TestDatabase };

/** @returns an empty database on the test server */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return copyDatabase("template0");
}

/** @returns a migrated database on the test server, without a tenant */
export function createDatabase(): Promise<TestDatabase> {
  return copyDatabase(inject("template"));
}

/** @returns a copy of a database of the test server that has no connections */
export function copyDatabase(name: string): Promise<TestDatabase> {
  return createDatabaseOn(inject("server"), `${inject("template")}_${randomBytes(6).toString("hex")}`, name);
}

/** The URL of a database, for programs that tests start. */
export function databaseUrl({ connection }: TestDatabase): string {
  const { connectionString, host: folder = "", port, user, database } = connection;
  return connectionString ?? `postgres://${user}@/${database}?host=${encodeURIComponent(folder)}&port=${port}`;
}
