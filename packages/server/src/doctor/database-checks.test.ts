/** Each finding about the database, on a PostgreSQL with the fault that it reports. */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import type { Connection } from "../platform/db/database.ts";
import { createDatabase, createEmptyDatabase, type TestDatabase } from "../testing/test-database.ts";
import { checkDatabase, checkVersion } from "./database-checks.queries.ts";

let migrated: TestDatabase;

beforeAll(async () => {
  migrated = await createDatabase();
});
afterAll(() => migrated.drop());

async function execute(connection: Connection, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client(connection);
  await client.connect();
  for (const text of statements) await client.query(text);
  await client.end();
}

/** A role that exists until the test ends. */
async function role(options: string): Promise<string> {
  const name = `doctor_${randomBytes(6).toString("hex")}`;
  await execute(inject("server"), `CREATE ROLE ${name} ${options}`);
  onTestFinished(() => execute(inject("server"), `DROP OWNED BY ${name}`, `DROP ROLE ${name}`));
  return name;
}

const statuses = async (connection: Connection, requestRole?: string) =>
  Object.fromEntries(
    (await checkDatabase(connection, { role: requestRole })).map(({ check, status }) => [check, status]),
  );

test("a migrated database has no problem, and an empty one is created by the next start", async () => {
  const expected = { database: "ok", "database locale": "ok", "database role": "ok", schema: "ok" };
  expect(await statuses(migrated.connection)).toEqual(expected);
  const empty = await createEmptyDatabase();
  onTestFinished(() => empty.drop());
  expect(await statuses(empty.connection)).toEqual(expected);
});

test("a database that does not answer", async () => {
  const [finding] = await checkDatabase({ connectionString: "postgres://user:secret-word@127.0.0.1:1/gatehouse" });
  expect(finding).toMatchObject({
    check: "database",
    status: "problem",
    message: expect.stringContaining("ECONNREFUSED"),
  });
  expect(JSON.stringify(finding)).not.toContain("secret-word");
});

test("a version that is too old", () => {
  expect(checkVersion({ version: 14 })).toMatchObject({ status: "problem", message: "PostgreSQL has version 14." });
});

test("a database in another encoding", async () => {
  const name = `doctor_${randomBytes(6).toString("hex")}`;
  const server = inject("server");
  await execute(server, `CREATE DATABASE ${name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`);
  onTestFinished(() => execute(server, `DROP DATABASE ${name}`));
  const found = await checkDatabase(changed(server, { database: name }));
  expect(found).toContainEqual(
    expect.objectContaining({
      check: "database locale",
      status: "problem",
      message: expect.stringContaining("LATIN1"),
    }),
  );
});

describe("the role for requests", () => {
  test("bypasses row-level security", async () => {
    expect(await statuses(migrated.connection, await role("BYPASSRLS"))).toMatchObject({ "database role": "problem" });
  });

  test("does not exist", async () => {
    // The tests' user may create it, as the next start would.
    expect(await statuses(migrated.connection, "doctor_missing")).toMatchObject({ "database role": "ok" });
    const asUser = await connectionAs(await role("LOGIN PASSWORD 'doctor'"));
    expect(await statuses(asUser, "doctor_missing")).toMatchObject({ "database role": "problem" });
  });

  test("is not granted to the user", async () => {
    const asUser = await connectionAs(await role("LOGIN PASSWORD 'doctor'"));
    const found = await checkDatabase(asUser, { role: await role("NOLOGIN") });
    expect(found.find(({ check }) => check === "database role")).toMatchObject({
      status: "problem",
      remedy: expect.stringMatching(/GRANT doctor_\w+ TO "doctor_\w+"/),
    });
  });
});

test("a schema of a newer version", async () => {
  const newer = await createDatabase();
  onTestFinished(() => newer.drop());
  await execute(newer.connection, "INSERT INTO schema_migrations (version, name, checksum) VALUES (9999, 'later', '')");
  const found = await checkDatabase(newer.connection);
  expect(found.find(({ check }) => check === "schema")).toMatchObject({
    status: "problem",
    message: expect.stringContaining("The schema has version 9999"),
  });
});

/** The same server, with another user or database. The embedded PostgreSQL trusts users of its socket. */
function changed(connection: Connection, { user, database }: { user?: string; database?: string }): Connection {
  if (connection.connectionString === undefined) {
    return { ...connection, ...(user === undefined ? {} : { user }), ...(database === undefined ? {} : { database }) };
  }
  const url = new URL(connection.connectionString);
  if (user !== undefined) Object.assign(url, { username: user, password: "doctor" });
  if (database !== undefined) url.pathname = `/${database}`;
  return { connectionString: url.href };
}

async function connectionAs(user: string): Promise<Connection> {
  await execute(migrated.connection, `GRANT SELECT ON schema_migrations TO ${user}`);
  onTestFinished(() => execute(migrated.connection, `REVOKE SELECT ON schema_migrations FROM ${user}`));
  return changed(migrated.connection, { user });
}
