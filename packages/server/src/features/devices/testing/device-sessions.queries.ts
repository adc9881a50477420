import type { Database } from "../../../platform/db/database.ts";
import { statement } from "../../../platform/db/statement.ts";

const setProvider = statement<never, [tenantId: string, deviceId: string, providerId: string]>(
  "tests.name_session_provider",
  "UPDATE device_sessions SET provider_id = $3 WHERE tenant_id = $1 AND device_id = $2",
);

/** Makes the session of a device one that began with a sign-in at a provider. */
export async function nameProvider(
  database: Database,
  tenantId: string,
  deviceId: string,
  providerId: string,
): Promise<void> {
  await database.transaction({ kind: "tenant", tenantId }, ({ query }) =>
    query(setProvider, tenantId, deviceId, providerId),
  );
}
