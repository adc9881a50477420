import * as devices from "@gatehouse/contract/operations/devices.operations";
import * as groups from "@gatehouse/contract/operations/groups.operations";
import * as users from "@gatehouse/contract/operations/users.operations";
import { type Actors, nothing, type OperationCase } from "./operation-case.ts";
import { makeId, publicKey, type RecordNoun, unique, uniqueEmail } from "./test-records.ts";

const existing =
  (noun: RecordNoun) =>
  async ({ tenant }: Actors) => ({ parameters: { id: await makeId(noun, tenant.client) } });

async function deactivatedUser({ tenant }: Actors) {
  const id = await makeId("user", tenant.client);
  await tenant.client.patch(`/tenants/users/${id}/deactivate`);
  return { parameters: { id } };
}

async function deactivatedDevice({ tenant }: Actors) {
  const id = await makeId("device", tenant.client);
  await tenant.client.patch(`/tenants/devices/${id}/deactivate`);
  return { parameters: { id } };
}

export const peopleCases: readonly OperationCase[] = [
  { operation: users.listUsers, prepare: nothing },
  {
    operation: users.createUsers,
    prepare: async ({ tenant }) => ({
      body: { email: uniqueEmail(), groups: [await makeId("group", tenant.client)] },
    }),
    references: [
      { field: "/groups/*", noun: "group", body: (id) => ({ email: uniqueEmail(), groups: [id] }) },
      {
        field: "/*/groups/*",
        noun: "group",
        body: (id) => [{ email: uniqueEmail() }, { email: uniqueEmail(), groups: [id] }],
      },
    ],
    conflict: async () => ({ body: { email: "Owner@Example.com" } }),
  },
  { operation: users.readUser, prepare: existing("user") },
  {
    operation: users.updateUserProfile,
    prepare: async ({ tenant }) => ({
      parameters: { id: await makeId("user", tenant.client) },
      body: { firstName: "Robin", lastName: "", image: "https://example.com/robin.png" },
    }),
  },
  {
    operation: users.updateUserSettings,
    prepare: async ({ tenant }) => ({
      parameters: { id: await makeId("user", tenant.client) },
      body: { maxDevices: null, attributes: { department: "Engineering", level: 3, contractor: false } },
    }),
  },
  { operation: users.deleteUser, prepare: existing("user") },
  { operation: users.deactivateUser, prepare: existing("user") },
  { operation: users.reactivateUser, prepare: deactivatedUser, conflict: existing("user") },

  { operation: groups.listGroups, prepare: nothing },
  {
    operation: groups.createGroup,
    prepare: async ({ tenant }) => ({
      body: { name: unique("Group"), roles: [await makeId("role", tenant.client)], idpMapping: ["engineering"] },
    }),
    references: [{ field: "/roles/*", noun: "role", body: (id) => ({ name: unique("Group"), roles: [id] }) }],
    conflict: async () => ({ body: { name: "Default" } }),
  },
  { operation: groups.readGroup, prepare: existing("group") },
  { operation: groups.listRoles, prepare: nothing },
  { operation: groups.readRole, prepare: existing("role") },

  { operation: devices.listDevices, prepare: nothing },
  {
    operation: devices.enrolDevice,
    prepare: async ({ tenant }) => ({ body: deviceOf(await makeId("user", tenant.client)) }),
    references: [{ field: "/userId", noun: "user", body: deviceOf }],
    conflict: async (actors) => {
      const user = await deactivatedUser(actors);
      return { body: deviceOf(user.parameters.id) };
    },
  },
  { operation: devices.readDevice, prepare: existing("device") },
  { operation: devices.deleteDevice, prepare: existing("device") },
  { operation: devices.deactivateDevice, prepare: existing("device") },
  { operation: devices.reactivateDevice, prepare: deactivatedDevice, conflict: existing("device") },
  {
    operation: devices.replaceDevicePosture,
    prepare: async (actors) => ({
      ...(await existing("device")(actors)),
      body: { diskEncrypted: false, screenLockSeconds: 120, antivirus: "none" },
    }),
  },
];

function deviceOf(userId: string) {
  return {
    name: unique("Laptop"),
    userId,
    hardwareId: "C02XK0AAJGH5",
    publicKey: publicKey(),
    os: "Linux",
    posture: { diskEncrypted: true, firewall: "on", patchLevel: 12 },
  };
}
