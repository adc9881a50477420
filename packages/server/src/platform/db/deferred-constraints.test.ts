import pg from "pg";
import { expect, inject, test } from "vitest";
import { deferredConstraints } from "./deferred-constraints.queries.ts";

test("a dry run checks exactly the constraints that COMMIT checks", async () => {
  const client = new pg.Client(inject("database"));
  await client.connect();
  const { rows } = await client.query(
    "SELECT conname AS name FROM pg_constraint WHERE condeferred AND connamespace = 'public'::regnamespace ORDER BY 1",
  );
  await client.end();
  expect(rows.map(({ name }) => name)).toEqual([...deferredConstraints].sort());
});
