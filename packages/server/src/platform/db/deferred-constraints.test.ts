import pg from "pg";
import { expect, inject, test } from "vitest";
import { deferredConstraints } from "./deferred-constraints.queries.ts";

test("the constraints that are checked at COMMIT are those that a dryRun checks before", async () => {
  const client = new pg.Client(inject("database"));
  await client.connect();
  const { rows } = await client.query(
    "SELECT conname AS name FROM pg_constraint WHERE condeferred AND connamespace = 'public'::regnamespace ORDER BY 1",
  );
  await client.end();
  expect(rows.map(({ name }) => name)).toEqual([...deferredConstraints].sort());
});
