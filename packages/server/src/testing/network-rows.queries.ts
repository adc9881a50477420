/** Rows of gateways and resources that tests read and write without the API. */
import { unprepared } from "../platform/db/statement.ts";
import type { TestServer } from "./test-server.ts";

const inside = (tenantId: string) => ({ kind: "tenant", tenantId }) as const;

/** Creates many gateways without tokens, for which requests would take too long. */
export async function insertGateways(server: TestServer, tenantId: string, count: number): Promise<void> {
  const insert = unprepared<never, [count: number]>(
    `INSERT INTO gateways (tenant_id, id, created_at, updated_at, name, wireguard_port, token_ciphertext, token_hash)
     SELECT current_tenant(), gen_random_uuid(), now(), now(), 'Gateway ' || number, 51820, '',
            sha256(convert_to(current_tenant()::text || number, 'UTF8'))
     FROM generate_series(1, $1) AS number`,
  );
  await server.database.transaction(inside(tenantId), (transaction) => transaction.query(insert, count));
}

/** Sets a gateway's status like its reports do, which raises the generation. */
export async function reportStatus(
  server: TestServer,
  tenantId: string,
  gatewayId: string,
  status: string,
): Promise<void> {
  const update = unprepared<never, [gatewayId: string, status: string]>(
    `WITH reported AS (UPDATE gateways SET status = $2 WHERE tenant_id = current_tenant() AND id = $1)
     UPDATE tenant_generations SET generation = generation + 1 WHERE tenant_id = current_tenant()`,
  );
  await server.database.transaction(inside(tenantId), (transaction) => transaction.query(update, gatewayId, status));
}

/** Deletes the tenant's outbox entries, as if they were old. */
export async function deleteOutbox(server: TestServer, tenantId: string): Promise<void> {
  const remove = unprepared<never, [tenantId: string]>("DELETE FROM outbox WHERE tenant_id = $1");
  await server.database.transaction({ kind: "operator" }, (transaction) => transaction.query(remove, tenantId));
}

/** Stores an IP address without the checks of the API, as earlier versions did. */
export async function storeIpAddress(server: TestServer, tenantId: string, id: string, address: string): Promise<void> {
  const update = unprepared<never, [id: string, address: string]>(
    "UPDATE addresses SET address = $2, is_ip = true WHERE tenant_id = current_tenant() AND id = $1",
  );
  await server.database.transaction(inside(tenantId), (transaction) => transaction.query(update, id, address));
}

/** Stores ports of a protocol without the checks of the API, as earlier versions did. */
export async function storePorts(server: TestServer, tenantId: string, id: string, ports: object[]): Promise<void> {
  const update = unprepared<never, [id: string, ports: string]>(
    "UPDATE protocols SET network_protocols = $2::json WHERE tenant_id = current_tenant() AND id = $1",
  );
  await server.database.transaction(inside(tenantId), (transaction) =>
    transaction.query(update, id, JSON.stringify(ports)),
  );
}

/** Every column of every row of a tenant's table, as PostgreSQL prints them: bytes in hexadecimal. */
export async function printedRows(
  server: TestServer,
  tenantId: string,
  table:
    | "gateways"
    | "former_gateway_tokens"
    | "devices"
    | "device_tokens"
    | "audit_events"
    | "outbox"
    | "idempotent_replies",
): Promise<readonly string[]> {
  const select = unprepared<{ text: string }, []>(`SELECT item::text AS text FROM ${table} AS item`);
  const rows = await server.database.snapshot(inside(tenantId), (transaction) => transaction.query(select));
  return rows.map(({ text }) => text);
}

/** The outbox entries of a tenant's latest commands, the latest first. */
export async function latestNews(server: TestServer, tenantId: string, count: number): Promise<readonly object[]> {
  const select = unprepared<{ changes: readonly object[] }, [count: number]>(
    "SELECT changes FROM outbox ORDER BY generation DESC LIMIT $1",
  );
  const rows = await server.database.snapshot(inside(tenantId), (transaction) => transaction.query(select, count));
  return rows.flatMap(({ changes }) => changes);
}

/** The reports of a gateway's agent. */
export interface Reported {
  readonly lastOnline?: Date | null;
  readonly deployedOn?: Date | null;
  readonly error?: string;
}

/** Sets a gateway's reports, but not its status. Omitted fields are as before the first report. */
export async function reportHeartbeat(
  server: TestServer,
  tenantId: string,
  gatewayId: string,
  { lastOnline = null, deployedOn = null, error = "" }: Reported,
): Promise<void> {
  const update = unprepared<
    never,
    [gatewayId: string, lastOnline: Date | null, deployedOn: Date | null, error: string]
  >(
    `WITH reported AS (
       UPDATE gateways SET last_online = $2, deployed_on = $3, error = $4 WHERE tenant_id = current_tenant() AND id = $1
     )
     UPDATE tenant_generations SET generation = generation + 1 WHERE tenant_id = current_tenant()`,
  );
  await server.database.transaction(inside(tenantId), (transaction) =>
    transaction.query(update, gatewayId, lastOnline, deployedOn, error),
  );
}

/** Sets a gateway's reported load like its heartbeats do, without an outbox entry. */
export async function reportLoad(
  server: TestServer,
  tenantId: string,
  gatewayId: string,
  load: number,
  roundTripTimeMs: number,
): Promise<void> {
  const store = unprepared<never, [gatewayId: string, load: number, roundTripTimeMs: number]>(
    `INSERT INTO gateway_links (tenant_id, gateway_id, load, round_trip_time_ms) VALUES (current_tenant(), $1, $2, $3)
     ON CONFLICT (tenant_id, gateway_id) DO UPDATE SET load = $2, round_trip_time_ms = $3`,
  );
  await server.database.transaction(inside(tenantId), (tx) => tx.query(store, gatewayId, load, roundTripTimeMs));
}

/** The hashes of a gateway's current token and of its previous tokens with their expiry, the latest first. */
export async function tokensOf(
  server: TestServer,
  tenantId: string,
  gatewayId: string,
): Promise<{ readonly current: string; readonly former: readonly { hash: string; endsAt: string }[] }> {
  const selectCurrent = unprepared<{ hash: string }, [gatewayId: string]>(
    "SELECT encode(token_hash, 'hex') AS hash FROM gateways WHERE id = $1",
  );
  const selectFormer = unprepared<{ hash: string; endsAt: string }, [gatewayId: string]>(
    `SELECT encode(token_hash, 'hex') AS hash, ends_at AS "endsAt" FROM former_gateway_tokens
     WHERE gateway_id = $1 ORDER BY ends_at DESC`,
  );
  const [current, former] = await server.database.snapshot(inside(tenantId), (transaction) =>
    Promise.all([transaction.query(selectCurrent, gatewayId), transaction.query(selectFormer, gatewayId)]),
  );
  return { current: current[0]?.hash ?? "none", former };
}

/** The priorities of a resource's gateways, in order. */
export async function prioritiesOf(
  server: TestServer,
  tenantId: string,
  resourceId: string,
): Promise<readonly number[]> {
  const select = unprepared<{ priority: number }, [resourceId: string]>(
    "SELECT priority FROM resource_gateways WHERE resource_id = $1 ORDER BY priority",
  );
  const rows = await server.database.snapshot(inside(tenantId), (transaction) => transaction.query(select, resourceId));
  return rows.map(({ priority }) => priority);
}
