/** What tests see of gateways' links beside what the API shows. */
import { unprepared } from "../platform/db/statement.ts";
import type { TestServer } from "./test-server.ts";

export interface LinkRow {
  readonly load: number | null;
  readonly wanted_root: string | null;
  readonly wanted_generation: number | null;
  readonly sent_root: string | null;
  readonly applied_root: string | null;
  readonly applied_generation: number | null;
  readonly error: string;
  readonly disconnected_at: string | null;
  readonly last_heartbeat: string | null;
}

/** The state of a gateway's link, as every replica sees it. */
export async function linkRowOf(server: TestServer, tenantId: string, gatewayId: string): Promise<LinkRow | undefined> {
  const select = unprepared<LinkRow, [id: string]>("SELECT * FROM gateway_links WHERE gateway_id = $1");
  const rows = await server.database.snapshot({ kind: "tenant", tenantId }, (tx) => tx.query(select, gatewayId));
  return rows[0];
}
