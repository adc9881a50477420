/** What tests see of gateways' links beside what the API shows. */
import { unprepared } from "../platform/db/statement.ts";
import type { TestServer } from "./test-server.ts";

export interface LinkRow {
  readonly load: number | null;
  readonly wanted_root: string | null;
  readonly wanted_generation: number | null;
  readonly sent_root: string | null;
  readonly applied_root: string | null;
  readonly applied_generation: number | null;
  readonly error: string;
  readonly disconnected_at: string | null;
  readonly last_heartbeat: string | null;
}

/** The state of a gateway's link, as every replica sees it. */
export async function linkRowOf(server: TestServer, tenantId: string, gatewayId: string): Promise<LinkRow | undefined> {
  const select = unprepared<LinkRow, [id: string]>("SELECT * FROM gateway_links WHERE gateway_id = $1");
  const rows = await server.database.snapshot({ kind: "tenant", tenantId }, (tx) => tx.query(select, gatewayId));
  return rows[0];
}

/** Makes gateways with tokens of the test's own, in one statement. @returns their ids, in the order of the tokens */
export async function makeGateways(
  server: TestServer,
  tenantId: string,
  tokenHashes: readonly Buffer[],
): Promise<readonly string[]> {
  const insert = unprepared<{ id: string }, [hashes: readonly Buffer[]]>(
    `WITH made AS (
       INSERT INTO gateways (tenant_id, id, created_at, updated_at, name, wireguard_port, token_ciphertext, token_hash)
       SELECT current_tenant(), gen_random_uuid(), now(), now(), 'Gateway of a crowd ' || item.place, 51820, '', item.hash
       FROM unnest($1::bytea[]) WITH ORDINALITY AS item (hash, place) ORDER BY item.place RETURNING id
     ), told AS (
       -- So that what decisions are made from is read anew.
       UPDATE tenant_generations SET generation = generation + 1 WHERE tenant_id = current_tenant()
     )
     SELECT id FROM made`,
  );
  const rows = await server.database.transaction({ kind: "tenant", tenantId }, (tx) => tx.query(insert, tokenHashes));
  return rows.map(({ id }) => id);
}

/** Takes the tenant's addresses away, as of before there were any. */
export async function withoutTunnelAddresses(server: TestServer, tenantId: string): Promise<void> {
  const remove = unprepared<never, []>("DELETE FROM tunnel_addresses WHERE tenant_id = current_tenant()");
  await server.database.transaction({ kind: "tenant", tenantId }, (tx) => tx.query(remove));
}
