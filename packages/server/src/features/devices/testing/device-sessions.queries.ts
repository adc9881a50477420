import type { Database } from "../../../platform/db/database.ts";
import { statement } from "../../../platform/db/statement.ts";

const setProvider = statement<never, [tenantId: string, deviceId: string, providerId: string]>(
  "tests.name_session_provider",
  "UPDATE device_sessions SET provider_id = $3 WHERE tenant_id = $1 AND device_id = $2",
);

const setSince = statement<never, [tenantId: string, since: Date]>(
  "tests.set_device_sessions_since",
  "UPDATE tenant_settings SET device_sessions_since = $2 WHERE tenant_id = $1",
);

/** Changes when the tenant set the lifetime of device sessions. */
export async function limitSessionsSince(database: Database, tenantId: string, since: Date): Promise<void> {
  await database.transaction({ kind: "tenant", tenantId }, ({ query }) => query(setSince, tenantId, since));
}

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

const setWaiting = statement<never, [tenantId: string, deviceId: string]>(
  "tests.set_device_waiting",
  "UPDATE devices SET approval_pending = true, active = false WHERE tenant_id = $1 AND id = $2",
);

/** Makes a device wait for an administrator. */
export async function letDeviceWait(database: Database, tenantId: string, deviceId: string): Promise<void> {
  await database.transaction({ kind: "tenant", tenantId }, ({ query }) => query(setWaiting, tenantId, deviceId));
}

const insertMany = statement<never, [tenantId: string, userId: string, count: number]>(
  "tests.insert_many_devices",
  `INSERT INTO devices (tenant_id, id, created_at, updated_at, name, user_id, hardware_id, public_key, app_version, os,
                        os_version, tags)
   SELECT $1, gen_random_uuid(), now(), now(), 'Device ' || number, $2::uuid, 'serial-' || number,
          encode(set_byte(sha256(convert_to($2::uuid::text || number, 'UTF8')), 31, 0), 'base64'), '', '', '', '{}'
   FROM generate_series(1, $3) AS number`,
);

/** Gives a user many devices at once. Models learn of them when they change. */
export async function insertManyDevices(
  database: Database,
  tenantId: string,
  userId: string,
  count: number,
): Promise<void> {
  await database.transaction({ kind: "tenant", tenantId }, ({ query }) => query(insertMany, tenantId, userId, count));
}
