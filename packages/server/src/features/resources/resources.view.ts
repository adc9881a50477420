import type { PolicyResource, Resource } from "@gatehouse/contract/records/resource";
import { isoTimestamp } from "../../platform/db/column-types.ts";
import { jsonObject } from "../../platform/db/json-object.ts";
import type { SharePart } from "../../platform/lists/serialized-record.ts";
import type { HoldSecret } from "../../platform/prepared-answer.ts";
import { addressView } from "../addresses/addresses.api.ts";
import { embeddedGatewayView, type TokenViewer } from "../gateways/gateways.api.ts";
import type { ResourceRow, WholeResourceRow } from "./resources.queries.ts";

export function resourceView(row: WholeResourceRow, tokens: TokenViewer): Resource {
  const gateways = (row.gateways ?? []).map((gateway) => embeddedGatewayView(gateway, tokens));
  const addresses = (row.addresses ?? []).map((address) => addressView(address, row.type));
  return resourceWith(row, addresses, gateways);
}

/**
 * The same record, in which gateways and protocols are shared parts. Commands change everything else.
 *
 * @param tokensWith returns the viewer of tokens
 */
export function sharedResourceView(
  row: WholeResourceRow,
  share: SharePart,
  tokensWith: (hold: HoldSecret) => TokenViewer,
): unknown {
  // A heartbeat changes when a gateway was last heard.
  const gateways = (row.gateways ?? []).map((gateway) =>
    share(`gateway ${gateway.id}`, true, (hold) => embeddedGatewayView(gateway, tokensWith(hold))),
  );
  const addresses = (row.addresses ?? []).map((address) => ({
    ...addressView(address, row.type),
    protocols: (address.protocols ?? []).map((protocol) => share(`protocol ${protocol.id}`, false, () => protocol)),
  }));
  return resourceWith(row, addresses, gateways);
}

function resourceWith<Addresses, Gateways>(row: WholeResourceRow, addresses: Addresses, gateways: Gateways) {
  return {
    id: row.id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    name: row.name,
    type: row.type,
    loadBalancingMode: row.load_balancing_mode,
    // Contract, "Status transitions".
    status: (row.gateways ?? []).some(({ status }) => status === "ONLINE") ? ("ONLINE" as const) : ("OFFLINE" as const),
    ...(row.description === "" ? {} : { description: row.description }),
    addresses,
    gateways,
  };
}

/** A resource as `policyResourceJson` selects it. */
export type PolicyResourceJson = Omit<ResourceRow, "version">;

/**
 * SQL for a resource as policies show it, as one json value.
 *
 * @param alias the name of the row of `resources`
 */
export function policyResourceJson(alias: string): string {
  return jsonObject(alias, ["id", "created_at", "updated_at", "name", "type", "load_balancing_mode", "description"]);
}

export function policyResourceView(row: PolicyResourceJson): PolicyResource {
  return {
    id: row.id,
    createdAt: isoTimestamp(row.created_at),
    updatedAt: isoTimestamp(row.updated_at),
    name: row.name,
    type: row.type,
    loadBalancingMode: row.load_balancing_mode,
    ...(row.description === "" ? {} : { description: row.description }),
  };
}
