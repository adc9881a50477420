import { statement } from "../platform/db/statement.ts";
import type { KeyColumns } from "../platform/known-keys.ts";
import type { TenantTx } from "../platform/tenancy/tenant-tx.ts";

export interface DeviceLinkRow {
  readonly id: string;
  readonly number: number;
  readonly public_key: string;
  /** The latest source address of its own connection; `""` if unknown. */
  readonly source_address: string;
  readonly source_seen_at: string | null;
  /** The latest source addresses that gateways observed. */
  readonly gateway_sources: readonly {
    readonly gateway: string;
    readonly address: string;
    readonly at: string;
  }[];
}

export interface GatewayLinkRow extends KeyColumns {
  readonly id: string;
  readonly number: number;
  readonly wireguard_port: number;
  readonly endpoint: string;
  readonly reported_endpoint: string;
  readonly relay_enabled: boolean;
  readonly maintenance_since: string | null;
  readonly resolvers: readonly string[];
  readonly resolver_domains: readonly { readonly domain: string; readonly resolvers: readonly string[] }[];
  readonly networks: readonly string[] | null;
  readonly relay_port: number | null;
}

/** The rows that enforcement needs in addition to the facts of decisions. */
export interface LinkRows {
  /** Sixteen hexadecimal digits; undefined before the first address is assigned. */
  readonly prefix: string | undefined;
  readonly devices: readonly DeviceLinkRow[];
  readonly gateways: readonly GatewayLinkRow[];
}

const give = statement<{ given: number }, [tenantId: string]>(
  "link_facts.give_addresses",
  "SELECT give_tunnel_addresses($1) AS given",
);
const selectPrefix = statement<{ ipv6_prefix: string }, [tenantId: string]>(
  "link_facts.prefix",
  "SELECT ipv6_prefix FROM tunnel_networks WHERE tenant_id = $1",
);

const devices = `SELECT item.id, address.number, item.public_key, coalesce(link.source_address, '') AS source_address,
    link.source_seen_at, coalesce((
      SELECT json_agg(json_build_object('gateway', own.gateway_id, 'address', own.source_address, 'at', own.seen_at))
      FROM device_gateway_sources AS own WHERE own.tenant_id = item.tenant_id AND own.device_id = item.id
    ), '[]') AS gateway_sources
  FROM devices AS item
  JOIN tunnel_addresses AS address ON address.tenant_id = item.tenant_id AND address.device_id = item.id
  LEFT JOIN device_links AS link ON link.tenant_id = item.tenant_id AND link.device_id = item.id
  WHERE item.tenant_id = $1`;
const gateways = `SELECT item.id, address.number, item.public_key, item.wireguard_port, item.endpoint,
    item.reported_endpoint, item.relay_enabled, item.maintenance_since, item.resolvers, item.resolver_domains,
    item.networks, item.relay_port, item.key_proved, item.key_reset_until
  FROM gateways AS item
  JOIN tunnel_addresses AS address ON address.tenant_id = item.tenant_id AND address.gateway_id = item.id
  WHERE item.tenant_id = $1`;
const selectDevices = statement<DeviceLinkRow, [tenantId: string]>("link_facts.devices", devices);
const selectGateways = statement<GatewayLinkRow, [tenantId: string]>("link_facts.gateways", gateways);
const selectSomeDevices = statement<DeviceLinkRow, [tenantId: string, ids: readonly string[]]>(
  "link_facts.some_devices",
  `${devices} AND item.id = ANY ($2::uuid[])`,
);
const selectSomeGateways = statement<GatewayLinkRow, [tenantId: string, ids: readonly string[]]>(
  "link_facts.some_gateways",
  `${gateways} AND item.id = ANY ($2::uuid[])`,
);

/**
 * Assigns a tunnel address to each device and gateway without one: records that are older than tunnel addresses, or
 * that no command created.
 *
 * @returns the number of assigned addresses
 */
export async function giveTunnelAddresses(tx: TenantTx): Promise<number> {
  return (await tx.query(give, tx.tenantId))[0]?.given ?? 0;
}

export async function readLinkRows(tx: TenantTx): Promise<LinkRows> {
  const [prefixes, deviceRows, gatewayRows] = await Promise.all([
    tx.query(selectPrefix, tx.tenantId),
    tx.query(selectDevices, tx.tenantId),
    tx.query(selectGateways, tx.tenantId),
  ]);
  return { prefix: prefixes[0]?.ipv6_prefix, devices: deviceRows, gateways: gatewayRows };
}

/** Reads the rows of some devices and gateways. Deleted ones are missing. */
export async function readSomeLinkRows(
  tx: TenantTx,
  deviceIds: readonly string[],
  gatewayIds: readonly string[],
): Promise<LinkRows> {
  const [prefixes, deviceRows, gatewayRows] = await Promise.all([
    tx.query(selectPrefix, tx.tenantId),
    deviceIds.length === 0 ? [] : tx.query(selectSomeDevices, tx.tenantId, deviceIds),
    gatewayIds.length === 0 ? [] : tx.query(selectSomeGateways, tx.tenantId, gatewayIds),
  ]);
  return { prefix: prefixes[0]?.ipv6_prefix, devices: deviceRows, gateways: gatewayRows };
}

/** Reads the rows of some devices, and of every gateway. */
export async function readDeviceLinkRows(tx: TenantTx, deviceIds: readonly string[]): Promise<LinkRows> {
  const [prefixes, deviceRows, gatewayRows] = await Promise.all([
    tx.query(selectPrefix, tx.tenantId),
    tx.query(selectSomeDevices, tx.tenantId, deviceIds),
    tx.query(selectGateways, tx.tenantId),
  ]);
  return { prefix: prefixes[0]?.ipv6_prefix, devices: deviceRows, gateways: gatewayRows };
}
