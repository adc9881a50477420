import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeSchema, readAllRows } from "../../testing/schema-catalog.queries.ts";
import { copyDatabase, createEmptyDatabase, type TestDatabase } from "../../testing/test-database.ts";
import { baselineVersion, replacedMigrations } from "./baseline.ts";
import { applicationRole } from "./database.ts";
import { knownMigrations, migrate } from "./migrations.ts";

/** The migrations that the baseline replaced, as they were. */
const folder = new URL("../../testing/migrations-before-baseline/", import.meta.url);
const replaced = readdirSync(folder)
  .sort()
  .map((name) => {
    const text = readFileSync(new URL(name, folder), "utf8");
    return { version: Number(name.slice(0, 4)), name, text, checksum: createHash("sha256").update(text).digest("hex") };
  });

const databases: TestDatabase[] = [];
/** A database at the last of the replaced migrations, with rows. It has no connections. */
let old: TestDatabase;

beforeAll(async () => {
  old = await databaseWith(replaced);
  await within(old, (client) => client.query(rows));
});
afterAll(async () => {
  for (const database of databases) await database.drop();
});

/** An empty database to which these migrations were applied. */
async function databaseWith(migrations: typeof replaced): Promise<TestDatabase> {
  const database = await createEmptyDatabase();
  databases.push(database);
  await within(database, async (client) => {
    await client.query(
      `GRANT USAGE ON SCHEMA public TO ${applicationRole};
       CREATE TABLE schema_migrations
         (version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
    );
    for (const { version, name, text, checksum } of migrations) {
      await client.query(text);
      await client.query("INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)", [
        version,
        name,
        checksum,
      ]);
    }
    await client.query(`GRANT SELECT ON schema_migrations TO ${applicationRole}`);
  });
  return database;
}

async function copyOfOld(): Promise<TestDatabase> {
  const database = await copyDatabase(old.name);
  databases.push(database);
  return database;
}

async function within<T>(database: TestDatabase, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(database.connection);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const appliedTo = (database: TestDatabase) =>
  within(database, async (client) => {
    const { rows } = await client.query<{ name: string }>("SELECT name FROM schema_migrations ORDER BY version");
    return rows.map(({ name }) => name);
  });
const known = knownMigrations().map(({ name }) => name);
const baseline = knownMigrations().filter(({ version }) => version === baselineVersion);
const later = knownMigrations().flatMap(({ version, name }) => (version > baselineVersion ? [name] : []));

/** Records of two tenants in most tables. */
const rows = `
  INSERT INTO installation (name, value) VALUES ('operator-key', '\\x01');
  INSERT INTO tenants (id, created_at, updated_at, name, owner_email)
    SELECT gen_random_uuid(), now(), now(), 'Tenant ' || number, 'owner@example.com' FROM generate_series(1, 2) AS number;
  INSERT INTO tenant_generations (tenant_id, generation, event_count, chain_hash)
    SELECT id, 7, 9, decode(repeat('ab', 32), 'hex') FROM tenants;
  INSERT INTO users (tenant_id, id, created_at, updated_at, email, status, attributes)
    SELECT id, gen_random_uuid(), now(), now(), 'Ada@example.com', 'active', '{"team": "Finance"}' FROM tenants;
  INSERT INTO devices (tenant_id, id, created_at, updated_at, name, user_id, hardware_id, public_key)
    SELECT tenant_id, gen_random_uuid(), now(), now(), 'Laptop', id, 'serial', 'key' FROM users;
  INSERT INTO gateways (tenant_id, id, created_at, updated_at, name, wireguard_port, token_ciphertext, token_hash)
    SELECT id, gen_random_uuid(), now(), now(), 'Frankfurt', 51820, '\\x00', decode(md5(name), 'hex') FROM tenants;
  INSERT INTO gateway_links (tenant_id, gateway_id, load, warnings) SELECT tenant_id, id, 0.5, '["no IPv6"]' FROM gateways;
  INSERT INTO device_links (tenant_id, device_id, source_address) SELECT tenant_id, id, '192.0.2.7' FROM devices;
  INSERT INTO resources (tenant_id, id, created_at, updated_at, name, type)
    SELECT id, gen_random_uuid(), now(), now(), 'Wiki', 'PRIVATE' FROM tenants;
  INSERT INTO addresses (tenant_id, id, created_at, updated_at, resource_id, address, is_ip)
    SELECT tenant_id, gen_random_uuid(), now(), now(), id, 'wiki.example.com', false FROM resources;
  INSERT INTO admission_rules (tenant_id, id, created_at, updated_at, name, type)
    SELECT id, gen_random_uuid(), now(), now(), 'Allow', 'ALLOW' FROM tenants;
  INSERT INTO policies (tenant_id, id, created_at, updated_at, name, type, "order", action, rule_id)
    SELECT tenant_id, gen_random_uuid(), now(), now(), 'Staff', 'PRIVATE', 1, true, id FROM admission_rules;
  INSERT INTO api_keys (tenant_id, id, created_at, updated_at, name, prefix, key_hash, permissions)
    SELECT id, gen_random_uuid(), now(), now(), 'Key', 'gh_', decode(md5(name), 'hex'), '{}' FROM tenants;
  INSERT INTO audit_events (tenant_id, id, created_at, generation, actor_type, actor_name, operation, target_type, target_id,
                            request_id, position, after)
    SELECT tenant_id, gen_random_uuid(), now(), 7, 'system', 'Gatehouse', 'CREATE_POLICY', 'policy', id, 'request', 1,
      '{"name":  "Staff"}' FROM policies;
  INSERT INTO access_history (tenant_id, kind, record, generation, first_generation, facts)
    SELECT tenant_id, 'policy', id::text, 7, 7, '{"name":  "Staff"}' FROM policies;
  INSERT INTO access_effects (tenant_id, generation, since) SELECT id, 7, now() FROM tenants;`;

test("the replaced migrations are the ones that databases have applied", () => {
  expect(new Map(replaced.map(({ name, checksum }) => [name, checksum]))).toEqual(replacedMigrations);
});

describe("the initial schema", () => {
  test("equals the schema of the migrations that it replaced", async () => {
    const made = await within(await databaseWith(baseline), describeSchema);
    expect(made).toEqual(await within(old, describeSchema));
    expect(made.length).toBeGreaterThan(500);
  });

  test.each([
    ["a table", "CREATE TABLE extra ()"],
    ["a column", "ALTER TABLE users ADD COLUMN extra text"],
    [
      "the order of columns",
      "ALTER TABLE roles DROP COLUMN deleteable, ADD COLUMN deleteable boolean NOT NULL DEFAULT false",
    ],
    ["a column's type", "ALTER TABLE users ALTER COLUMN max_devices TYPE bigint"],
    ["a default", "ALTER TABLE users ALTER COLUMN version SET DEFAULT 2"],
    ["a missing default", "ALTER TABLE users ALTER COLUMN version DROP DEFAULT"],
    ["nullability", "ALTER TABLE users ALTER COLUMN email DROP NOT NULL"],
    ["a constraint's name", "ALTER TABLE users RENAME CONSTRAINT users_email_unique TO extra"],
    ["a check", "ALTER TABLE users DROP CONSTRAINT users_max_devices_check"],
    ["a foreign key", "ALTER TABLE policies ALTER CONSTRAINT policies_rule_fkey NOT DEFERRABLE"],
    ["an index", "DROP INDEX groups_by_name"],
    ["row-level security", "ALTER TABLE users NO FORCE ROW LEVEL SECURITY"],
    ["a policy", "ALTER POLICY tenant_fence ON users USING (true)"],
    ["a trigger", "ALTER TABLE users DISABLE TRIGGER count_inserted"],
    ["a function", "ALTER FUNCTION delete_pruned_events() SECURITY INVOKER"],
    ["a privilege on a table", `GRANT DELETE ON audit_events TO ${applicationRole}`],
    ["a privilege on a function", "GRANT EXECUTE ON FUNCTION delete_pruned_events() TO PUBLIC"],
    ["a table's storage", "ALTER TABLE rate_counts SET LOGGED"],
    ["an option", "ALTER TABLE rate_counts RESET (fillfactor)"],
    ["a comment", "COMMENT ON TABLE users IS 'People'"],
  ])("the comparison notices %s", async (_what, change) => {
    await within(old, async (client) => {
      const before = await describeSchema(client);
      await client.query("BEGIN");
      await client.query(change);
      expect(await describeSchema(client)).not.toEqual(before);
      await client.query("ROLLBACK");
    });
  });
});

describe("a database at the last of the replaced migrations", () => {
  test("is adopted without a change to its rows, and has the schema of a new one", async () => {
    const database = await copyOfOld();
    const before = await within(database, readAllRows);
    expect(await migrate(database.connection)).toEqual(later);
    expect(await appliedTo(database)).toEqual(known);
    const after = await within(database, readAllRows);
    // Later migrations may add tables and columns.
    for (const [table, records] of before) {
      expect(after.get(table), table).toEqual(records.map((record) => expect.objectContaining(record)));
    }
    const fresh = await createEmptyDatabase();
    databases.push(fresh);
    expect(await migrate(fresh.connection)).toEqual(known);
    expect(await within(database, describeSchema)).toEqual(await within(fresh, describeSchema));
    expect(await migrate(database.connection)).toEqual([]);
  });

  test("is adopted once by several replicas that start together", async () => {
    const database = await copyOfOld();
    const results = await Promise.all(Array.from({ length: 4 }, () => migrate(database.connection)));
    expect(results.flat()).toEqual(later);
    expect(await appliedTo(database)).toEqual(known);
  });
});

test("several replicas that start together create the schema once", async () => {
  const database = await createEmptyDatabase();
  databases.push(database);
  const results = await Promise.all(Array.from({ length: 4 }, () => migrate(database.connection)));
  expect(results.flat()).toEqual(known);
  expect(await appliedTo(database)).toEqual(known);
});

describe("a database is refused, and stays as it is,", () => {
  test.each([
    [
      "at an older migration",
      "DELETE FROM schema_migrations WHERE version = 14",
      'lacks the migration 0014_device_sources.sql. First run "gatehouse migrate" of a version that has 0014_device_sources.sql',
    ],
    [
      "with only the first migration",
      "DELETE FROM schema_migrations WHERE version > 1",
      "lacks the migration 0003_former_gateway_tokens.sql",
    ],
    [
      "with another text of a migration",
      "UPDATE schema_migrations SET checksum = 'x' WHERE version = 9",
      "0009_access_tests.sql was applied with a text that no released version has",
    ],
    [
      "with an unknown early migration",
      "INSERT INTO schema_migrations (version, name, checksum) VALUES (2, '0002_other.sql', 'x')",
      "0002_other.sql was applied with a text that no released version has",
    ],
    [
      "with a migration of a newer version",
      "INSERT INTO schema_migrations (version, name, checksum) VALUES (9999, '9999_later.sql', 'x')",
      "9999_later.sql, which this version of Gatehouse does not know",
    ],
  ])("%s", async (_what, change, message) => {
    const database = await copyOfOld();
    await within(database, (client) => client.query(change));
    const before = await appliedTo(database);
    await expect(migrate(database.connection)).rejects.toMatchObject({
      name: "MigrationError",
      message: expect.stringContaining(message),
    });
    expect(await appliedTo(database)).toEqual(before);
  });

  test("with another text of the initial schema", async () => {
    const database = await databaseWith(baseline.map((migration) => ({ ...migration, checksum: "x" })));
    await expect(migrate(database.connection)).rejects.toThrow("0015_initial_schema.sql was applied with another text");
  });
});
