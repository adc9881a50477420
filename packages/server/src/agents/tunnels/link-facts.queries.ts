import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface DeviceLinkRow {
  readonly id: string;
  readonly number: number;
  readonly public_key: string;
  /** Where gateways last saw its packets come from, or its own link came from later; `""` where that is not known. */
  readonly source_address: string;
}

export interface GatewayLinkRow {
  readonly id: string;
  readonly number: number;
  /** `""` until its agent has told it. */
  readonly public_key: string;
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

/** What enforcement needs of a tenant beside what decisions are made from. */
export interface LinkRows {
  /** Sixteen hexadecimal digits; undefined while nobody has an address. */
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

const devices = `SELECT item.id, address.number, item.public_key, coalesce(link.source_address, '') AS source_address
  FROM devices AS item
  JOIN tunnel_addresses AS address ON address.tenant_id = item.tenant_id AND address.device_id = item.id
  LEFT JOIN device_links AS link ON link.tenant_id = item.tenant_id AND link.device_id = item.id
  WHERE item.tenant_id = $1`;
const gateways = `SELECT item.id, address.number, item.public_key, item.wireguard_port, item.endpoint,
    item.reported_endpoint, item.relay_enabled, item.maintenance_since, item.resolvers, item.resolver_domains,
    item.networks, item.relay_port
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
 * Gives an address to each device and gateway that has none: those that were there before there were addresses, or came another way
 * than through a command.
 *
 * @returns to how many
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

/** Those of the devices and gateways that there are. */
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

/** Those of the devices that there are, and every gateway. */
export async function readDeviceLinkRows(tx: TenantTx, deviceIds: readonly string[]): Promise<LinkRows> {
  const [prefixes, deviceRows, gatewayRows] = await Promise.all([
    tx.query(selectPrefix, tx.tenantId),
    tx.query(selectSomeDevices, tx.tenantId, deviceIds),
    tx.query(selectGateways, tx.tenantId),
  ]);
  return { prefix: prefixes[0]?.ipv6_prefix, devices: deviceRows, gateways: gatewayRows };
}
