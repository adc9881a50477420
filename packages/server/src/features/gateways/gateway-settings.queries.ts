import type { Granted } from "../../platform/authorization/granted.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import type { SiteDomain, SiteSettings } from "./gateway-settings.rules.ts";

export interface SiteSettingsRow extends SiteSettings {
  readonly version: number;
}

const select = statement<SiteSettingsRow, [tenantId: string, id: string]>(
  "gateways.read_settings",
  `SELECT version, resolvers, resolver_domains AS domains, networks, relay_port AS "relayPort"
   FROM gateways WHERE tenant_id = $1 AND id = $2`,
);
const update = statement<
  never,
  [
    tenantId: string,
    id: string,
    at: Date,
    resolvers: readonly string[],
    domains: string,
    networks: readonly string[] | null,
    relayPort: number | null,
  ]
>(
  "gateways.update_settings",
  `UPDATE gateways SET updated_at = $3, version = version + 1, resolvers = $4, resolver_domains = $5::jsonb, networks = $6, relay_port = $7
   WHERE tenant_id = $1 AND id = $2`,
);
const selectOverlapping = statement<
  { id: string; name: string; network: string; wanted: string },
  [tenantId: string, id: string, networks: readonly string[]]
>(
  "gateways.overlapping_networks",
  `SELECT other.id, other.name, network, wanted
   FROM gateways AS other, unnest(other.networks) AS network, unnest($3::text[]) AS wanted
   WHERE other.tenant_id = $1 AND other.id <> $2 AND network::cidr && wanted::cidr
   ORDER BY other.name, network LIMIT 50`,
);
const selectAtPort = statement<
  { id: string; name: string; isRelayed: boolean },
  [tenantId: string, id: string, port: number]
>(
  "gateways.at_relay_port",
  `SELECT id, name, coalesce(relay_port = $3, false) AS "isRelayed" FROM gateways
   WHERE tenant_id = $1 AND id <> $2 AND (relay_port = $3 OR wireguard_port = $3)
   ORDER BY relay_port = $3 DESC NULLS LAST, name LIMIT 1`,
);

export async function readSiteSettings(tx: TenantTx, id: string): Promise<SiteSettingsRow | undefined> {
  return (await tx.query(select, tx.tenantId, id))[0];
}

/** What other gateways have of the networks, 50 of it at most. */
export function overlappingNetworks(
  tx: TenantTx,
  id: string,
  networks: readonly string[],
): Promise<{ id: string; name: string; network: string; wanted: string }[]> {
  return tx.query(selectOverlapping, tx.tenantId, id, networks);
}

/** Another gateway that is relayed on the port, or listens on it. */
export async function gatewayAtPort(
  tx: TenantTx,
  id: string,
  port: number,
): Promise<{ id: string; name: string; isRelayed: boolean } | undefined> {
  return (await tx.query(selectAtPort, tx.tenantId, id, port))[0];
}

export async function updateSiteSettings(
  tx: TenantTx,
  _granted: Granted<"gateways:write">,
  id: string,
  { resolvers, domains, networks, relayPort }: SiteSettings,
  at: Date,
): Promise<void> {
  await tx.query(update, tx.tenantId, id, at, resolvers, jsonOf(domains), networks, relayPort);
}

function jsonOf(domains: readonly SiteDomain[]): string {
  return JSON.stringify(domains);
}
