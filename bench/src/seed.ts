/** Inserts resources faster than the API could, directly into the tables as the owner of the database. */
import { tokenContext } from "@gatehouse/server/features/gateways/gateways.view";
import { newId } from "@gatehouse/server/platform/ids";
import { createSecretBox } from "@gatehouse/server/platform/secrets/master-key";
import { generateToken, hashToken, tokenPrefixes } from "@gatehouse/server/platform/secrets/tokens";
import pg from "pg";
import { benchMasterKey } from "./master-key.ts";

const types = ["PRIVATE", "SAAS", "INTERNET"];

/**
 * Gives a tenant resources with an address, a protocol and a gateway each. Names are scattered, so that the order by
 * name differs from the order of creation.
 */
export async function seedResources(connection: pg.ClientConfig, tenantId: string, count: number): Promise<void> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    // The data is valid, so triggers and checks of foreign keys are disabled. The counts are set at the end.
    await client.query("SET session_replication_role = replica");
    const { rows } = await client.query("SELECT id FROM protocols WHERE tenant_id = $1 AND name = 'HTTPS'", [tenantId]);
    const protocolId: string = rows[0].id;
    const gatewayId = newId();
    const token = generateToken(tokenPrefixes.gateway);
    const sealed = createSecretBox(benchMasterKey, "gateway-token").seal(token, tokenContext(tenantId, gatewayId));
    await client.query(
      `INSERT INTO gateways (tenant_id, id, created_at, updated_at, name, wireguard_port, status, token_ciphertext, token_hash)
       VALUES ($1, $2, now(), now(), 'Gateway', 51820, 'ONLINE', $3, $4)`,
      [tenantId, gatewayId, sealed, hashToken(token)],
    );
    await client.query(
      `INSERT INTO resources (tenant_id, id, created_at, updated_at, name, type, description)
       SELECT $1, gen_random_uuid(), now(), now(), 'Resource ' || md5(n::text), ($3::text[])[1 + n % 3], 'Seeded'
       FROM generate_series(1, $2::int) AS n`,
      [tenantId, count, types],
    );
    await client.query(
      `INSERT INTO addresses (tenant_id, id, created_at, updated_at, resource_id, address, is_ip)
       SELECT tenant_id, gen_random_uuid(), created_at, updated_at, id, left(md5(name), 12) || '.corp.example.com', false
       FROM resources WHERE tenant_id = $1`,
      [tenantId],
    );
    await client.query(
      `INSERT INTO address_protocols (tenant_id, address_id, protocol_id, position)
       SELECT tenant_id, id, $2, 0 FROM addresses WHERE tenant_id = $1`,
      [tenantId, protocolId],
    );
    await client.query(
      `INSERT INTO resource_gateways (tenant_id, resource_id, gateway_id, priority)
       SELECT tenant_id, id, $2, 0 FROM resources WHERE tenant_id = $1`,
      [tenantId, gatewayId],
    );
    await client.query(
      `INSERT INTO record_counts (tenant_id, kind, count)
       SELECT tenant_id, 'resources:' || type, count(*) FROM resources WHERE tenant_id = $1 GROUP BY tenant_id, type`,
      [tenantId],
    );
    // The written data must not be flushed or analyzed during later measurements.
    await client.query("CHECKPOINT");
    await client.query("VACUUM (ANALYZE) resources, addresses, address_protocols, resource_gateways, gateways");
  } finally {
    await client.end();
  }
}
