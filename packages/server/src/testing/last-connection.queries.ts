import { unprepared } from "../platform/db/statement.ts";
import type { TestServer } from "./test-server.ts";

/** Sets the last connection of a user or a device, which gateways report in production. */
export async function setLastConnection(
  server: TestServer,
  tenantId: string,
  table: "users" | "devices",
  id: string,
  at: Date,
): Promise<void> {
  const update = unprepared<never, [id: string, at: Date]>(`UPDATE ${table} SET last_connection = $2 WHERE id = $1`);
  await server.database.transaction({ kind: "tenant", tenantId }, (transaction) => transaction.query(update, id, at));
}
