/** Databases of single test files. Most files use the one that all tests share, through `sharedTestServer`. */
import { inject } from "vitest";
import { newDatabase, type TestDatabase } from "./database-setup.ts";

/** @returns an empty database on the test server */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return newDatabase(inject("server"), "template0");
}

/** @returns a migrated database on the test server, without a tenant */
export function createDatabase(): Promise<TestDatabase> {
  return newDatabase(inject("server"), inject("template"));
}

export type { TestDatabase };
