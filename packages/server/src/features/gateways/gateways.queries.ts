import type { GatewayResource, GatewayStatus } from "@gatehouse/contract/records/gateway";
import type { Granted } from "../../platform/authorization/granted.ts";
import { withConstraints } from "../../platform/db/database-errors.ts";
import { writeInChunks } from "../../platform/db/in-chunks.ts";
import { statement } from "../../platform/db/statement.ts";
import { nameTaken } from "../../platform/name-taken.ts";
import type { SecretBox } from "../../platform/secrets/master-key.ts";
import { generateToken, hashToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import type { Heartbeat } from "./gateways.rules.ts";
import { type GatewayJson, gatewayJson, tokenContext } from "./gateways.view.ts";
import type { SiteSettings } from "./settings/gateway-settings.rules.ts";

/** A gateway with everything that its record shows. */
export interface WholeGatewayRow {
  readonly id: string;
  readonly version: number;
  readonly gateway: GatewayJson;
  readonly resources: GatewayResource[] | null;
  readonly former_tokens_end_at: string | null;
}

/** A gateway as it is written. */
export interface StoredGateway extends SiteSettings {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly wireguardPort: number;
  /** `""` if devices discover the endpoint by themselves. */
  readonly endpoint: string;
  readonly relayEnabled: boolean;
}

/** The columns of a gateway that commands need before they change it. */
export interface GatewayRow extends StoredGateway, Heartbeat {
  readonly version: number;
  readonly status: GatewayStatus;
}

/** @param withToken the SQL of a boolean: whether the caller may see tokens */
function wholeGateway(withToken: string): string {
  return `item.id, item.version, ${gatewayJson("item", withToken)} AS gateway,
    (SELECT json_agg(json_build_object('id', resource.id, 'name', resource.name)
                     ORDER BY resource.name_key, resource.id)
     FROM resource_gateways AS connected
     JOIN resources AS resource ON resource.tenant_id = connected.tenant_id AND resource.id = connected.resource_id
     WHERE connected.tenant_id = item.tenant_id AND connected.gateway_id = item.id) AS resources,
    (SELECT max(ends_at) FROM former_gateway_tokens AS former
     WHERE former.tenant_id = item.tenant_id AND former.gateway_id = item.id) AS former_tokens_end_at`;
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
const settingsColumns = `id, name, wireguard_port AS "wireguardPort", description, endpoint,
  relay_enabled AS "relayEnabled", resolvers, resolver_domains AS domains, networks, relay_port AS "relayPort"`;
const selectAll = statement<StoredGateway, [tenantId: string]>(
  "gateways.read_all",
  `SELECT ${settingsColumns} FROM gateways WHERE tenant_id = $1`,
);
const selectForChange = statement<GatewayRow, [tenantId: string, id: string]>(
  "gateways.lock",
  `SELECT ${settingsColumns}, version, status, error, deployed_on, last_online
   FROM gateways WHERE tenant_id = $1 AND id = $2 FOR UPDATE`,
);
const given = `json_to_recordset($3::json) AS given (id uuid, name text, "wireguardPort" integer, description text,
  endpoint text, "relayEnabled" boolean, resolvers text[], domains jsonb, networks text[], "relayPort" integer,
  "tokenCiphertext" text, "tokenHash" text)`;
const insert = statement<never, [tenantId: string, at: Date, rows: string]>(
  "gateways.insert",
  `INSERT INTO gateways (tenant_id, id, created_at, updated_at, name, wireguard_port, description, endpoint,
                         relay_enabled, resolvers, resolver_domains, networks, relay_port, token_ciphertext, token_hash)
   SELECT $1, id, $2, $2, name, "wireguardPort", description, endpoint, "relayEnabled", resolvers, domains, networks,
          "relayPort", decode("tokenCiphertext", 'base64'), decode("tokenHash", 'base64')
   FROM ${given}`,
);
const update = statement<never, [tenantId: string, at: Date, rows: string]>(
  "gateways.update",
  `UPDATE gateways AS item
   SET updated_at = $2, version = item.version + 1, name = given.name, wireguard_port = given."wireguardPort",
       description = given.description, endpoint = given.endpoint, relay_enabled = given."relayEnabled",
       resolvers = given.resolvers, resolver_domains = given.domains, networks = given.networks,
       relay_port = given."relayPort"
   FROM ${given} WHERE item.tenant_id = $1 AND item.id = given.id`,
);
const updateStatus = statement<never, [tenantId: string, id: string, at: Date, status: GatewayStatus]>(
  "gateways.update_status",
  `UPDATE gateways SET updated_at = $3, version = version + 1, status = $4,
     maintenance_since = CASE $4 WHEN 'MAINTENANCE' THEN coalesce(maintenance_since, $3) END
   WHERE tenant_id = $1 AND id = $2`,
);
const remove = statement<never, [tenantId: string, ids: readonly string[]]>(
  "gateways.delete",
  "DELETE FROM gateways WHERE tenant_id = $1 AND id = ANY ($2::uuid[])",
);

export function listGateways(
  tx: TenantTx,
  afterId: string,
  limit: number,
  withToken: boolean,
): Promise<WholeGatewayRow[]> {
  return tx.query(selectMany, tx.tenantId, afterId, limit, withToken);
}

export function readAllGateways(tx: TenantTx): Promise<StoredGateway[]> {
  return tx.query(selectAll, tx.tenantId);
}

export async function readGateway(tx: TenantTx, id: string, withToken: boolean): Promise<WholeGatewayRow | undefined> {
  return (await tx.query(selectWhole, tx.tenantId, id, withToken))[0];
}

/** The gateways that exist, without tokens. */
export function readGatewaysById(tx: TenantTx, ids: readonly string[]): Promise<WholeGatewayRow[]> {
  return tx.query(selectById, tx.tenantId, ids, false);
}

/** The gateways of the resource that has the address, in order of priority. Empty if the address does not exist. */
export function gatewaysOfAddress(tx: TenantTx, addressId: string, withToken: boolean): Promise<WholeGatewayRow[]> {
  return tx.query(selectOfAddress, tx.tenantId, addressId, withToken);
}

/** Reads the gateway. Nobody else can change it, or refer to it, before the transaction ends. */
export async function lockGateway(tx: TenantTx, id: string): Promise<GatewayRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, id))[0];
}

/**
 * Inserts gateways, each with its own token.
 *
 * @param tokens seals the tokens
 * @throws AppError name_taken
 */
export async function insertGateways(
  tx: TenantTx,
  _granted: Granted<"gateways:write">,
  gateways: readonly StoredGateway[],
  { tokens, at }: { readonly tokens: SecretBox; readonly at: Date },
): Promise<void> {
  const withTokens = gateways.map((gateway) => {
    const token = generateToken(tokenPrefixes.gateway);
    const sealed = tokens.seal(token, tokenContext(tx.tenantId, gateway.id));
    return { ...gateway, tokenCiphertext: sealed.toString("base64"), tokenHash: hashToken(token).toString("base64") };
  });
  await withConstraints(
    { gateways_name_unique: () => nameTaken("a gateway", gateways) },
    writeInChunks(withTokens, (rows) => tx.query(insert, tx.tenantId, at, rows)),
  );
}

/**
 * Updates gateways, except for their tokens and statuses.
 *
 * @throws AppError name_taken
 */
export async function updateGateways(
  tx: TenantTx,
  _granted: Granted<"gateways:write">,
  gateways: readonly StoredGateway[],
  at: Date,
): Promise<void> {
  await withConstraints(
    { gateways_name_unique: () => nameTaken("a gateway", gateways) },
    writeInChunks(gateways, (rows) => tx.query(update, tx.tenantId, at, rows)),
  );
}

/** Starts or ends the maintenance of a gateway. */
export async function updateGatewayStatus(
  tx: TenantTx,
  _granted: Granted<"gateways:write">,
  id: string,
  status: GatewayStatus,
  at: Date,
): Promise<void> {
  await tx.query(updateStatus, tx.tenantId, id, at, status);
}

/** Deletes gateways with their former tokens and their connections to resources. No policy may list them. */
export async function deleteGateways(
  tx: TenantTx,
  _granted: Granted<"gateways:write">,
  ids: readonly string[],
): Promise<void> {
  await tx.query(remove, tx.tenantId, ids);
}
