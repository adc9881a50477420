import type { GatewayResource, GatewayStatus } from "@gatehouse/contract/records/gateway";
import { AppError } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import { withConstraints } from "../../platform/db/database-errors.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import type { Heartbeat } from "./gateways.rules.ts";
import { type GatewayJson, gatewayJson } from "./gateways.view.ts";

/** A gateway with what its own record shows beside it. */
export interface WholeGatewayRow {
  readonly id: string;
  readonly version: number;
  readonly gateway: GatewayJson;
  readonly resources: GatewayResource[] | null;
}

/** What administrators set of a gateway. */
export interface GatewaySettings {
  readonly name: string;
  readonly description: string;
  readonly wireguard_port: number;
  /** `""` where devices discover it by themselves. */
  readonly endpoint: string;
}

export interface GatewayRow extends GatewaySettings, Heartbeat {
  readonly id: string;
  readonly version: number;
  readonly status: GatewayStatus;
  readonly relay_enabled: boolean;
}

/** @param withToken the placeholder of a boolean: whether the caller may see tokens */
function wholeGateway(withToken: string): string {
  return `item.id, item.version, ${gatewayJson("item", withToken)} AS gateway,
    (SELECT json_agg(json_build_object('id', resource.id, 'name', resource.name)
                     ORDER BY resource.name_key, resource.id)
     FROM resource_gateways AS connected
     JOIN resources AS resource ON resource.tenant_id = connected.tenant_id AND resource.id = connected.resource_id
     WHERE connected.tenant_id = item.tenant_id AND connected.gateway_id = item.id) AS resources`;
}

const selectMany = statement<WholeGatewayRow, [tenantId: string, afterId: string, limit: number, withToken: boolean]>(
  "gateways.list",
  `SELECT ${wholeGateway("$4")} FROM gateways AS item WHERE item.tenant_id = $1 AND item.id > $2
   ORDER BY item.id LIMIT $3`,
);
const selectWhole = statement<WholeGatewayRow, [tenantId: string, id: string, withToken: boolean]>(
  "gateways.read",
  `SELECT ${wholeGateway("$3")} FROM gateways AS item WHERE item.tenant_id = $1 AND item.id = $2`,
);
const selectById = statement<WholeGatewayRow, [tenantId: string, ids: readonly string[], withToken: boolean]>(
  "gateways.read_many",
  `SELECT ${wholeGateway("$3")} FROM gateways AS item WHERE item.tenant_id = $1 AND item.id = ANY ($2::uuid[])
   ORDER BY item.id`,
);
const selectOfAddress = statement<WholeGatewayRow, [tenantId: string, addressId: string, withToken: boolean]>(
  "gateways.of_address",
  `SELECT ${wholeGateway("$3")}
   FROM addresses AS address
   JOIN resource_gateways AS link ON link.tenant_id = address.tenant_id AND link.resource_id = address.resource_id
   JOIN gateways AS item ON item.tenant_id = link.tenant_id AND item.id = link.gateway_id
   WHERE address.tenant_id = $1 AND address.id = $2 ORDER BY link.priority`,
);
const selectForChange = statement<GatewayRow, [tenantId: string, id: string]>(
  "gateways.lock",
  `SELECT id, version, name, description, wireguard_port, endpoint, status, error, deployed_on, last_online, relay_enabled
   FROM gateways WHERE tenant_id = $1 AND id = $2 FOR UPDATE`,
);
const insert = statement<
  never,
  [
    tenantId: string,
    id: string,
    at: Date,
    name: string,
    description: string,
    wireguardPort: number,
    endpoint: string,
    tokenCiphertext: Buffer,
    tokenHash: Buffer,
  ]
>(
  "gateways.insert",
  `INSERT INTO gateways (tenant_id, id, created_at, updated_at, name, description, wireguard_port, endpoint,
                         token_ciphertext, token_hash)
   VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8, $9)`,
);
const update = statement<
  never,
  [tenantId: string, id: string, at: Date, name: string, description: string, wireguardPort: number, endpoint: string]
>(
  "gateways.update",
  `UPDATE gateways
   SET updated_at = $3, version = version + 1, name = $4, description = $5, wireguard_port = $6, endpoint = $7
   WHERE tenant_id = $1 AND id = $2`,
);
const updateState = statement<
  never,
  [tenantId: string, id: string, at: Date, status: GatewayStatus, relayEnabled: boolean]
>(
  "gateways.update_state",
  `UPDATE gateways SET updated_at = $3, version = version + 1, status = $4, relay_enabled = $5,
     maintenance_since = CASE $4 WHEN 'MAINTENANCE' THEN coalesce(maintenance_since, $3) END
   WHERE tenant_id = $1 AND id = $2`,
);
const remove = statement<never, [tenantId: string, id: string]>(
  "gateways.delete",
  "DELETE FROM gateways WHERE tenant_id = $1 AND id = $2",
);
export function listGateways(
  tx: TenantTx,
  afterId: string,
  limit: number,
  withToken: boolean,
): Promise<WholeGatewayRow[]> {
  return tx.query(selectMany, tx.tenantId, afterId, limit, withToken);
}

export async function readGateway(tx: TenantTx, id: string, withToken: boolean): Promise<WholeGatewayRow | undefined> {
  return (await tx.query(selectWhole, tx.tenantId, id, withToken))[0];
}

/** Those of the gateways that there are, without tokens. */
export function readGatewaysById(tx: TenantTx, ids: readonly string[]): Promise<WholeGatewayRow[]> {
  return tx.query(selectById, tx.tenantId, ids, false);
}

/** The gateways of the resource that an address belongs to, in order of priority; none when there is no such address. */
export function gatewaysOfAddress(tx: TenantTx, addressId: string, withToken: boolean): Promise<WholeGatewayRow[]> {
  return tx.query(selectOfAddress, tx.tenantId, addressId, withToken);
}

/** Reads the gateway and keeps others from changing it, or referring to it, until the transaction ends. */
export async function lockGateway(tx: TenantTx, id: string): Promise<GatewayRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, id))[0];
}

const nameTaken = (name: string) => ({
  gateways_name_unique: () =>
    new AppError("name_taken", {
      detail: `A gateway is already called ${JSON.stringify(name)}.`,
      errors: [{ pointer: "/name", message: "is taken" }],
    }),
});

export interface NewGatewayRow extends GatewaySettings {
  readonly id: string;
  readonly tokenCiphertext: Buffer;
  /** Finds the gateway that presents the token. */
  readonly tokenHash: Buffer;
}

/** @throws AppError name_taken */
export async function insertGateway(
  tx: TenantTx,
  _granted: Granted<"gateways:write">,
  row: NewGatewayRow,
  at: Date,
): Promise<void> {
  const { id, name, description, wireguard_port: port, endpoint, tokenCiphertext, tokenHash } = row;
  await withConstraints(
    nameTaken(name),
    tx.query(insert, tx.tenantId, id, at, name, description, port, endpoint, tokenCiphertext, tokenHash),
  );
}

/** @throws AppError name_taken */
export async function updateGateway(
  tx: TenantTx,
  _granted: Granted<"gateways:write">,
  id: string,
  settings: GatewaySettings,
  at: Date,
): Promise<void> {
  const { name, description, wireguard_port: port, endpoint } = settings;
  await withConstraints(nameTaken(name), tx.query(update, tx.tenantId, id, at, name, description, port, endpoint));
}

/** Stores what administrators switch: whether it is in maintenance, and whether it relays. */
export async function updateGatewayState(
  tx: TenantTx,
  _granted: Granted<"gateways:write">,
  { id, status, relay_enabled: relayEnabled }: Pick<GatewayRow, "id" | "status" | "relay_enabled">,
  at: Date,
): Promise<void> {
  await tx.query(updateState, tx.tenantId, id, at, status, relayEnabled);
}

/** Deletes the gateway with its former tokens and its connections to resources. No policy may name it any more. */
export async function deleteGateway(tx: TenantTx, _granted: Granted<"gateways:write">, id: string): Promise<void> {
  await tx.query(remove, tx.tenantId, id);
}
