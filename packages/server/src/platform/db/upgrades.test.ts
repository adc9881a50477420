/** Migrations that move data, as an owner that row-level security binds, like the role in docs/deployment.md. */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterEach, expect, test } from "vitest";
import { createEmptyDatabase, type TestDatabase } from "../../testing/test-database.ts";
import { applicationRole } from "./database.ts";
import { knownMigrations } from "./migrations.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

/** A database at the version before a migration, and a way to apply this migration. The connection is a superuser's. */
async function databaseBefore(version: number) {
  const database: TestDatabase = await createEmptyDatabase();
  const client = new pg.Client(database.connection);
  await client.connect();
  const owner = `gatehouse_test_${randomBytes(6).toString("hex")}`;
  cleanups.push(
    () => database.drop(),
    () => client.query(`ROLLBACK; DROP OWNED BY ${owner}; DROP ROLE ${owner}`).finally(() => client.end()),
  );
  await client.query(
    `CREATE ROLE ${owner}; GRANT ${applicationRole} TO ${owner}; GRANT ALL ON SCHEMA public TO ${owner}`,
  );
  // Migrations expect the table in which `migrate` records them.
  await client.query(`SET ROLE ${owner}; CREATE TABLE schema_migrations (version integer PRIMARY KEY); RESET ROLE`);
  const apply = async (wanted: (version: number) => boolean) => {
    for (const migration of knownMigrations().filter((known) => wanted(known.version))) {
      await client.query(`BEGIN; SET LOCAL ROLE ${owner}; ${migration.text}; COMMIT`);
    }
  };
  await apply((known) => known < version);
  return { client, upgrade: () => apply((known) => known === version) };
}

test("0084 moves addresses that a gateway may have reported to this gateway", async () => {
  const { client, upgrade } = await databaseBefore(84);
  await client.query(`
    INSERT INTO tenants (id, created_at, updated_at, name, owner_email, slug)
      SELECT gen_random_uuid(), now(), now(), 'Tenant', 'owner@example.com', 'tenant';
    INSERT INTO gateways (tenant_id, id, created_at, updated_at, name, wireguard_port, token_ciphertext, token_hash)
      SELECT id, gen_random_uuid(), now(), now(), 'Frankfurt', 51820, '\\x00', decode(md5(name), 'hex') FROM tenants;
    INSERT INTO devices (tenant_id, id, created_at, updated_at, name, hardware_id, public_key)
      SELECT id, gen_random_uuid(), now(), now(), device, device, device
      FROM tenants, unnest(ARRAY['met', 'own']) AS device;
    INSERT INTO device_links (tenant_id, device_id, gateway_id, last_handshake, source_address, source_seen_at)
      SELECT device.tenant_id, device.id, CASE WHEN device.name = 'met' THEN gateway.id END, '2026-01-01', '192.0.2.7',
        CASE WHEN device.name = 'own' THEN timestamptz '2026-01-02' END
      FROM devices AS device, gateways AS gateway`);
  await upgrade();
  const { rows: moved } = await client.query(
    `SELECT device.name, source.source_address FROM device_gateway_sources AS source
     JOIN devices AS device ON device.id = source.device_id`,
  );
  expect(moved).toEqual([{ name: "met", source_address: "192.0.2.7" }]);
  const { rows: own } = await client.query(
    `SELECT device.name, link.source_address FROM device_links AS link
     JOIN devices AS device ON device.id = link.device_id ORDER BY device.name`,
  );
  expect(own).toEqual([
    { name: "met", source_address: "" },
    { name: "own", source_address: "192.0.2.7" },
  ]);
  const { rows: fenced } = await client.query(
    `SELECT relname FROM pg_class WHERE relname IN ('device_links', 'device_gateway_sources') AND relforcerowsecurity`,
  );
  expect(fenced).toHaveLength(2);
});

test("0092 stores the creators of open links, which their entries name", async () => {
  const { client, upgrade } = await databaseBefore(92);
  await client.query(`
    INSERT INTO tenants (id, created_at, updated_at, name, owner_email, slug)
      SELECT gen_random_uuid(), now(), now(), slug, 'owner@example.com', slug
      FROM unnest(ARRAY['one', 'other']) AS slug;
    INSERT INTO users (tenant_id, id, created_at, updated_at, email, status)
      SELECT id, gen_random_uuid(), now(), now(), 'ann@example.com', 'active' FROM tenants;
    INSERT INTO enrolment_links (tenant_id, id, created_at, user_id, token_hash, expires_at, used_at)
      SELECT tenant_id, md5(kind)::uuid, now(), id, decode(md5(tenant_id || kind), 'hex'), now(),
        CASE WHEN kind = 'used' THEN now() END
      FROM users, unnest(ARRAY['user', 'api-key', 'system', 'used', 'no entry']) AS kind;
    -- The creations of all links of the first tenant, except for one link.
    INSERT INTO audit_events (tenant_id, id, created_at, generation, actor_type, actor_id, actor_name, operation,
                              target_type, target_id, after, request_id, position)
      SELECT tenants.id, gen_random_uuid(), now(), number, kind, CASE WHEN kind <> 'system' THEN md5('creator')::uuid END,
        'Creator', 'createEnrolmentLink', 'enrolment-link', md5(target)::uuid, '{}', 'request', number
      FROM tenants, (VALUES (1, 'user', 'user'), (2, 'api-key', 'api-key'), (3, 'system', 'system'), (4, 'user', 'used'))
        AS created (number, kind, target)
      WHERE slug = 'one';
    -- Another entry of a link is not that of its creation.
    INSERT INTO audit_events (tenant_id, id, created_at, generation, actor_type, actor_name, operation,
                              target_type, target_id, before, request_id, position)
      SELECT id, gen_random_uuid(), now(), 5, 'system', 'Gatehouse', 'deleteEnrolmentLink', 'enrolment-link',
        md5('no entry')::uuid, '{}', 'request', 5
      FROM tenants WHERE slug = 'one'`);
  await upgrade();
  const { rows } = await client.query(
    `SELECT kind, created_by_type AS type, created_by_id = md5('creator')::uuid AS "isCreator"
     FROM unnest(ARRAY['user', 'api-key', 'system', 'used', 'no entry']) WITH ORDINALITY AS listed (kind, number)
     JOIN enrolment_links AS link ON link.id = md5(kind)::uuid JOIN tenants ON tenants.id = link.tenant_id
     WHERE slug = 'one' ORDER BY number`,
  );
  expect(rows).toEqual([
    { kind: "user", type: "user", isCreator: true },
    { kind: "api-key", type: "api-key", isCreator: true },
    { kind: "system", type: "system", isCreator: null },
    { kind: "used", type: null, isCreator: null },
    { kind: "no entry", type: null, isCreator: null },
  ]);
  // The links of the other tenant have the same ids.
  const { rows: known } = await client.query(
    `SELECT FROM enrolment_links JOIN tenants ON tenants.id = tenant_id
     WHERE slug = 'other' AND num_nonnulls(created_by_type, created_by_id) > 0`,
  );
  expect(known).toEqual([]);
  const { rows: fenced } = await client.query(
    "SELECT FROM pg_class WHERE relname IN ('enrolment_links', 'audit_events') AND relforcerowsecurity",
  );
  expect(fenced).toHaveLength(2);
});
