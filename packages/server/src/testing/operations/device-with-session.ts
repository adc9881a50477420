/** Devices whose sessions can be ended, for operations that end them. */
import { storeDeviceSession } from "../../features/devices/devices.api.ts";
import type { Actors } from "./operation-case.ts";
import { publicKey, unique } from "./test-records.ts";

/** Gives a user a device on which the user has signed in. */
export async function addDeviceWithSession(
  { tenant, server }: Actors,
  userId: string,
  providerId: string | null = null,
): Promise<void> {
  const device = { name: unique("Laptop"), userId, hardwareId: unique("Serial"), publicKey: publicKey() };
  const { body } = await tenant.client.must.post("/tenants/devices", device);
  const at = new Date();
  const session = { authenticatedAt: at, methods: ["hwk"], providerId, providerSession: null };
  await server.database.transaction({ kind: "tenant", tenantId: tenant.id }, ({ query }) =>
    storeDeviceSession({ tenantId: tenant.id, query }, body.id, session, at),
  );
}
