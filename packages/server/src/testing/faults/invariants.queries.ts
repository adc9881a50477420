/** Invariants of a tenant's rows that hold whenever no command is running. */
import type pg from "pg";

/** Queries that find violations. `$1` is the tenant. */
const invariants: Readonly<Record<string, string>> = {
  "a resource has its making in the record once": everyRecordWasMade("resources", "resource"),
  "a protocol has its making in the record once": everyRecordWasMade("protocols", "protocol", "type = 'CUSTOM'"),
  "a key has its making in the record once": everyRecordWasMade("api_keys", "api-key"),
  "a record is as the last entry about it says": `
    SELECT resources.id, resources.name, latest.after ->> 'name' AS recorded
    FROM resources CROSS JOIN LATERAL (
      SELECT after FROM audit_events AS event
      WHERE event.tenant_id = $1 AND event.target_id = resources.id ORDER BY event.generation DESC LIMIT 1
    ) AS latest
    WHERE resources.tenant_id = $1 AND latest.after ->> 'name' IS DISTINCT FROM resources.name`,
  "what the record says is deleted is gone": `
    SELECT target_id FROM audit_events AS event
    WHERE tenant_id = $1 AND target_type = 'resource' AND after IS NULL
      AND EXISTS (SELECT FROM resources WHERE tenant_id = $1 AND id = event.target_id)`,
  "a resource has all of its addresses": `
    SELECT id FROM resources AS item WHERE tenant_id = $1 AND 2 <>
      (SELECT count(*) FROM addresses WHERE tenant_id = $1 AND resource_id = item.id)`,
  "an entry of the record has its entry in the outbox": `
    SELECT generation FROM audit_events WHERE tenant_id = $1
    EXCEPT SELECT generation FROM outbox WHERE tenant_id = $1`,
  "an entry of the outbox has its entry in the record": `
    SELECT generation FROM outbox WHERE tenant_id = $1
    EXCEPT SELECT generation FROM audit_events WHERE tenant_id = $1`,
  "generations have no gaps": `
    SELECT generation FROM tenant_generations AS tenant WHERE tenant_id = $1 AND generation <>
      (SELECT count(*) FROM outbox WHERE tenant_id = $1 AND outbox.generation BETWEEN 1 AND tenant.generation)`,
  "the number of events is right": `
    SELECT event_count FROM tenant_generations WHERE tenant_id = $1 AND event_count - pruned_count <>
      (SELECT count(*) FROM audit_events WHERE tenant_id = $1)`,
  "every entry is sealed once, at its position": `
    SELECT position FROM audit_events WHERE tenant_id = $1
    EXCEPT ALL SELECT generate_series(first_position, first_position + octet_length(entry_hashes) / 32 - 1)
    FROM audit_seals WHERE tenant_id = $1`,
  "the numbers of records are right": `
    SELECT kind, count, counted FROM record_counts FULL JOIN (
      SELECT 'users' AS kind, count(*) AS counted FROM users WHERE tenant_id = $1
      UNION ALL SELECT 'groups', count(*) FROM groups WHERE tenant_id = $1
      UNION ALL SELECT 'devices', count(*) FROM devices WHERE tenant_id = $1
      UNION ALL SELECT 'policies', count(*) FROM policies WHERE tenant_id = $1
      UNION ALL SELECT 'access_tests', count(*) FROM access_tests WHERE tenant_id = $1
      UNION ALL SELECT 'resources:' || type, count(*) FROM resources WHERE tenant_id = $1 GROUP BY type
    ) AS real USING (kind)
    WHERE coalesce(tenant_id, $1) = $1 AND coalesce(count, 0) <> coalesce(counted, 0)`,
  "a reply to be told again is whole": `
    SELECT key_hash FROM idempotent_replies WHERE tenant_id = $1 AND reply_ciphertext IS NULL`,
};

function everyRecordWasMade(table: string, type: string, condition = "true"): string {
  return `SELECT id FROM ${table} AS item WHERE tenant_id = $1 AND ${condition} AND 1 <>
    (SELECT count(*) FROM audit_events
     WHERE tenant_id = $1 AND target_type = '${type}' AND target_id = item.id AND before IS NULL)`;
}

/** Returns the violations by the name of the invariant; empty if there are none. */
export async function brokenInvariants(client: pg.Client, tenantId: string): Promise<Record<string, unknown[]>> {
  const broken: Record<string, unknown[]> = {};
  for (const [name, text] of Object.entries(invariants)) {
    const { rows } = await client.query(text, [tenantId]);
    if (rows.length > 0) broken[name] = rows;
  }
  return broken;
}
