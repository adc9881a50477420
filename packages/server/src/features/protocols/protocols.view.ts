import type { Protocol } from "@gatehouse/contract/records/protocol";
import type { ProtocolRow } from "./protocols.queries.ts";

export function protocolView(row: Omit<ProtocolRow, "version">): Protocol {
  return { id: row.id, name: row.name, networkProtocols: row.network_protocols, type: row.type };
}
