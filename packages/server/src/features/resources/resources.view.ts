import type { Resource } from "@gatehouse/contract/records/resource";
import { addressView } from "../addresses/addresses.api.ts";
import { embeddedGatewayView, type TokenViewer } from "../gateways/gateways.api.ts";
import type { WholeResourceRow } from "./resources.queries.ts";

export function resourceView(row: WholeResourceRow, tokens: TokenViewer): Resource {
  const gateways = (row.gateways ?? []).map((gateway) => embeddedGatewayView(gateway, tokens));
  return {
    id: row.id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    name: row.name,
    type: row.type,
    loadBalancingMode: row.load_balancing_mode,
    // Contract, "Status transitions".
    status: gateways.some(({ status }) => status === "ONLINE") ? "ONLINE" : "OFFLINE",
    ...(row.description === "" ? {} : { description: row.description }),
    addresses: (row.addresses ?? []).map((address) => addressView(address, row.type)),
    gateways,
  };
}
