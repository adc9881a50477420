/**
 * Console data that the direct seeding of a tenant omits: protocols of addresses, record counts, and gateways' tokens.
 */
import { tokenContext } from "@gatehouse/server/features/gateways/gateways.view";
import { createSecretBox } from "@gatehouse/server/platform/secrets/master-key";
import { generateToken, hashToken, tokenPrefixes } from "@gatehouse/server/platform/secrets/tokens";
import pg from "pg";
import { benchMasterKey } from "./master-key.ts";

const protocols = `INSERT INTO address_protocols (tenant_id, address_id, protocol_id, position)
  SELECT item.tenant_id, item.id, protocol.id, 0 FROM addresses AS item
  JOIN protocols AS protocol ON protocol.tenant_id = item.tenant_id AND protocol.name = 'HTTPS'
  WHERE item.tenant_id = $1`;

const counts = `INSERT INTO record_counts (tenant_id, kind, count)
  SELECT $1, 'users', count(*) FROM users WHERE tenant_id = $1
  UNION ALL SELECT $1, 'groups', count(*) FROM groups WHERE tenant_id = $1
  UNION ALL SELECT $1, 'devices', count(*) FROM devices WHERE tenant_id = $1
  UNION ALL SELECT $1, 'policies', count(*) FROM policies WHERE tenant_id = $1
  UNION ALL SELECT $1, 'resources:' || type, count(*) FROM resources WHERE tenant_id = $1 GROUP BY type
  ON CONFLICT (tenant_id, kind) DO UPDATE SET count = excluded.count`;

export async function completeTenant(connection: pg.ClientConfig, tenantId: string): Promise<void> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    await client.query("SET session_replication_role = replica");
    await client.query(protocols, [tenantId]);
    await client.query(counts, [tenantId]);
    const { rows } = await client.query<{ id: string }>("SELECT id FROM gateways WHERE tenant_id = $1", [tenantId]);
    const secrets = createSecretBox(benchMasterKey, "gateway-token");
    for (const { id } of rows) {
      const token = generateToken(tokenPrefixes.gateway);
      await client.query(
        "UPDATE gateways SET token_ciphertext = $3, token_hash = $4 WHERE tenant_id = $1 AND id = $2",
        [tenantId, id, secrets.seal(token, tokenContext(tenantId, id)), hashToken(token)],
      );
    }
    await client.query("CHECKPOINT");
    await client.query("VACUUM ANALYZE");
  } finally {
    await client.end();
  }
}
