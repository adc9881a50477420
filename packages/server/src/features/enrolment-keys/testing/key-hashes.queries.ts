import type { Database } from "../../../platform/db/database.ts";
import { statement } from "../../../platform/db/statement.ts";

const select = statement<{ hash: Buffer }, [tenantId: string, id: string]>(
  "testing.enrolment_key_hashes",
  "SELECT key_hash AS hash FROM enrolment_keys WHERE tenant_id = $1 AND id = $2 AND length(key_hash) = 32",
);

/** The stored hashes of a key. */
export async function readKeyHashes(database: Database, tenantId: string, id: string): Promise<Buffer[]> {
  const rows = await database.transaction({ kind: "tenant", tenantId }, ({ query }) => query(select, tenantId, id));
  return rows.map(({ hash }) => hash);
}
