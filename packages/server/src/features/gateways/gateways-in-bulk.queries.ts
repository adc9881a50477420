/** All gateways of a tenant, and many at once: for configurations, which are read and written as a whole. */
import type { Granted } from "../../platform/authorization/granted.ts";
import { writeInChunks } from "../../platform/db/in-chunks.ts";
import { statement } from "../../platform/db/statement.ts";
import type { SecretBox } from "../../platform/secrets/master-key.ts";
import { generateToken, hashToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import type { SiteSettings } from "./gateway-settings.rules.ts";
import { tokenContext } from "./gateways.view.ts";

export interface BulkGateway extends SiteSettings {
  readonly id: string;
  readonly name: string;
  readonly wireguardPort: number;
  readonly description: string;
  /** `""` where devices discover it by themselves. */
  readonly endpoint: string;
  readonly relayEnabled: boolean;
}

const selectAll = statement<BulkGateway, [tenantId: string]>(
  "gateways.read_all",
  `SELECT id, name, wireguard_port AS "wireguardPort", description, endpoint, relay_enabled AS "relayEnabled",
     resolvers, resolver_domains AS domains, networks, relay_port AS "relayPort"
   FROM gateways WHERE tenant_id = $1`,
);
const given = `json_to_recordset($3::json) AS given (id uuid, name text, "wireguardPort" integer, description text,
  endpoint text, "relayEnabled" boolean, resolvers text[], domains jsonb, networks text[], "relayPort" integer,
  "tokenCiphertext" text, "tokenHash" text)`;
const insertMany = statement<never, [tenantId: string, at: Date, rows: string]>(
  "gateways.insert_many",
  `INSERT INTO gateways (tenant_id, id, created_at, updated_at, name, wireguard_port, description, endpoint, relay_enabled,
                         resolvers, resolver_domains, networks, relay_port, token_ciphertext, token_hash)
   SELECT $1, id, $2, $2, name, "wireguardPort", description, endpoint, "relayEnabled",
          resolvers, domains, networks, "relayPort", decode("tokenCiphertext", 'base64'), decode("tokenHash", 'base64') FROM ${given}`,
);
const updateMany = statement<never, [tenantId: string, at: Date, rows: string]>(
  "gateways.update_many",
  `UPDATE gateways SET updated_at = $2, version = version + 1, wireguard_port = given."wireguardPort",
                       description = given.description, endpoint = given.endpoint, relay_enabled = given."relayEnabled",
                       resolvers = given.resolvers, resolver_domains = given.domains, networks = given.networks,
                       relay_port = given."relayPort"
   FROM ${given} WHERE gateways.tenant_id = $1 AND gateways.id = given.id`,
);
const deleteMany = statement<never, [tenantId: string, ids: readonly string[]]>(
  "gateways.delete_many",
  "DELETE FROM gateways WHERE tenant_id = $1 AND id = ANY ($2::uuid[])",
);

export function readAllGateways(tx: TenantTx): Promise<BulkGateway[]> {
  return tx.query(selectAll, tx.tenantId);
}

/** Makes them, each with a token of its own. Their names must be free. */
export function insertGateways(
  tx: TenantTx,
  _granted: Granted<"gateways:write">,
  gateways: readonly BulkGateway[],
  { tokens, at }: { readonly tokens: SecretBox; readonly at: Date },
): Promise<void> {
  const withTokens = gateways.map((gateway) => {
    const token = generateToken(tokenPrefixes.gateway);
    const sealed = tokens.seal(token, tokenContext(tx.tenantId, gateway.id));
    return { ...gateway, tokenCiphertext: sealed.toString("base64"), tokenHash: hashToken(token).toString("base64") };
  });
  return writeInChunks(withTokens, (rows) => tx.query(insertMany, tx.tenantId, at, rows));
}

/** Everything but their names, tokens and states. */
export function updateGateways(
  tx: TenantTx,
  _granted: Granted<"gateways:write">,
  gateways: readonly BulkGateway[],
  at: Date,
): Promise<void> {
  return writeInChunks(gateways, (rows) => tx.query(updateMany, tx.tenantId, at, rows));
}

/** With their connections to resources. No policy may name them any more. */
export async function deleteGateways(
  tx: TenantTx,
  _granted: Granted<"gateways:write">,
  ids: readonly string[],
): Promise<void> {
  await tx.query(deleteMany, tx.tenantId, ids);
}
