import * as deviceSessions from "@gatehouse/contract/operations/device-sessions.operations";
import { type Actors, nothing, type OperationCase } from "./operation-case.ts";
import { makeId, publicKey, unique, uniqueEmail } from "./test-records.ts";

const existing = async ({ tenant }: Actors) => ({ parameters: { id: await makeId("device", tenant.client) } });

/** A user in a group, with a device. */
async function groupWithDevice({ tenant }: Actors): Promise<string> {
  const id = await makeId("group", tenant.client);
  const { body } = await tenant.client.must.post("/tenants/users", { email: uniqueEmail(), groups: [id] });
  const device = { name: unique("Laptop"), userId: body.id, hardwareId: unique("Serial"), publicKey: publicKey() };
  await tenant.client.must.post("/tenants/devices", device);
  return id;
}

/** A device on which nobody can sign in, because its user was deleted. */
async function deviceWithoutUser({ tenant }: Actors): Promise<string> {
  const userId = await makeId("user", tenant.client);
  const device = { name: unique("Laptop"), userId, hardwareId: unique("Serial"), publicKey: publicKey() };
  const { body } = await tenant.client.must.post("/tenants/devices", device);
  await tenant.client.must.delete(`/tenants/users/${userId}`);
  return body.id;
}

export const deviceSessionCases: readonly OperationCase[] = [
  { operation: deviceSessions.listDeviceSessions, prepare: nothing },
  {
    operation: deviceSessions.endDeviceSession,
    prepare: existing,
    conflict: async (actors) => ({ parameters: { id: await deviceWithoutUser(actors) } }),
  },
  {
    operation: deviceSessions.requireSignIn,
    prepare: async (actors) => ({ body: { groups: [await groupWithDevice(actors)] } }),
    references: [
      { field: "/devices/*", noun: "device", body: (id) => ({ devices: [id] }) },
      { field: "/users/*", noun: "user", body: (id) => ({ users: [id] }) },
      { field: "/groups/*", noun: "group", body: (id) => ({ groups: [id] }) },
    ],
    conflict: async (actors) => ({ body: { devices: [await deviceWithoutUser(actors)] } }),
  },
];
