import { statement } from "../../../platform/db/statement.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import type { SiteSettings } from "./gateway-settings.rules.ts";

export interface SiteSettingsRow extends SiteSettings {
  readonly version: number;
}

const select = statement<SiteSettingsRow, [tenantId: string, id: string]>(
  "gateways.read_settings",
  `SELECT version, resolvers, resolver_domains AS domains, networks, relay_port AS "relayPort"
   FROM gateways WHERE tenant_id = $1 AND id = $2`,
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

/** Networks of other gateways that overlap these, at most 50. */
export function overlappingNetworks(
  tx: TenantTx,
  id: string,
  networks: readonly string[],
): Promise<{ id: string; name: string; network: string; wanted: string }[]> {
  return tx.query(selectOverlapping, tx.tenantId, id, networks);
}

/** Another gateway that relays or listens on the port. */
export async function gatewayAtPort(
  tx: TenantTx,
  id: string,
  port: number,
): Promise<{ id: string; name: string; isRelayed: boolean } | undefined> {
  return (await tx.query(selectAtPort, tx.tenantId, id, port))[0];
}
