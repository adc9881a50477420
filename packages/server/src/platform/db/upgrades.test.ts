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
