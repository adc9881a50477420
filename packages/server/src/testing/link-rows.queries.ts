/** Rows of links that the API does not show, for tests. */
import { randomUUID } from "node:crypto";
import type { ConfigurationName } from "@gatehouse/agent-protocol/link/envelope";
import { tokensOfGateways } from "../agents/gateways/gateway-tokens.queries.ts";
import { claimLinks, storeReplicaGeneration } from "../agents/gateways/link-state.queries.ts";
import { unprepared } from "../platform/db/statement.ts";
import type { TestServer } from "./test-server.ts";

export interface LinkRow {
  readonly connection_id: string;
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

/** The stored state of a gateway's link. */
export async function linkRowOf(server: TestServer, tenantId: string, gatewayId: string): Promise<LinkRow | undefined> {
  const select = unprepared<LinkRow, [id: string]>("SELECT * FROM gateway_links WHERE gateway_id = $1");
  const rows = await server.database.snapshot({ kind: "tenant", tenantId }, (tx) => tx.query(select, gatewayId));
  return rows[0];
}

/**
 * Stores what a replica stores that has taken the link of a returning gateway, and has not compared yet what the
 * gateway enforces. The replica has served its other gateways up to a later generation than any.
 */
export async function claimWithoutGreeting(
  server: TestServer,
  tenantId: string,
  gatewayId: string,
  name: ConfigurationName & { readonly root: string; readonly expiresAt: number },
): Promise<void> {
  const claim = {
    gateway_id: gatewayId,
    connection_id: randomUUID(),
    replica_id: randomUUID(),
    applied_hash: name.hash,
    applied_root: name.root,
    applied_generation: name.generation,
    applied_issued_at: name.issuedAt,
    applied_expires_at: new Date(name.expiresAt).toISOString(),
  };
  await server.database.transaction({ kind: "tenant", tenantId }, async ({ query }) => {
    const tokens = await tokensOfGateways({ tenantId, query }, [gatewayId]);
    const [token = ""] = tokens.get(gatewayId)?.keys() ?? [];
    await claimLinks({ tenantId, query }, [{ ...claim, token_hash: token }], new Date(), new Date());
    await storeReplicaGeneration({ tenantId, query }, claim.replica_id, Number.MAX_SAFE_INTEGER, new Date());
  });
}

/**
 * Creates gateways with the test's tokens in one statement.
 *
 * @returns their ids in the order of the tokens
 */
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

/** Deletes the tenant's tunnel addresses, as in a database from before they existed. */
export async function withoutTunnelAddresses(server: TestServer, tenantId: string): Promise<void> {
  const remove = unprepared<never, []>("DELETE FROM tunnel_addresses WHERE tenant_id = current_tenant()");
  await server.database.transaction({ kind: "tenant", tenantId }, (tx) => tx.query(remove));
}

/**
 * Creates devices of a user with the test's tokens and keys in one statement.
 *
 * @returns their ids in the order of the tokens
 */
export async function makeDevices(
  server: TestServer,
  tenantId: string,
  userId: string,
  devices: readonly { readonly tokenHash: Buffer; readonly publicKey: string }[],
): Promise<readonly string[]> {
  const insert = unprepared<{ id: string }, [user: string, hashes: readonly Buffer[], keys: readonly string[]]>(
    `WITH item AS (
       SELECT gen_random_uuid() AS id, hash, key, place FROM unnest($2::bytea[], $3::text[]) WITH ORDINALITY AS given (hash, key, place)
     ), made AS (
       INSERT INTO devices (tenant_id, id, created_at, updated_at, name, user_id, hardware_id, public_key)
       SELECT current_tenant(), id, now(), now(), 'Device of a crowd ' || place, $1, 'hardware', key FROM item RETURNING id
     ), given AS (
       INSERT INTO device_tokens (tenant_id, device_id, token_hash, created_at)
       SELECT current_tenant(), made.id, item.hash, now() FROM made JOIN item USING (id)
     ), told AS (
       -- So that what decisions are made from is read anew.
       UPDATE tenant_generations SET generation = generation + 1 WHERE tenant_id = current_tenant()
     )
     SELECT id FROM item ORDER BY place`,
  );
  const hashes = devices.map(({ tokenHash }) => tokenHash);
  const keys = devices.map(({ publicKey }) => publicKey);
  const rows = await server.database.transaction({ kind: "tenant", tenantId }, (tx) =>
    tx.query(insert, userId, hashes, keys),
  );
  return rows.map(({ id }) => id);
}
