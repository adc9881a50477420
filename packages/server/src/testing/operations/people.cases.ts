import * as devices from "@gatehouse/contract/operations/devices.operations";
import * as groups from "@gatehouse/contract/operations/groups.operations";
import * as users from "@gatehouse/contract/operations/users.operations";
import { type Actors, nothing, type OperationCase } from "./operation-case.ts";
import { make, makeId, publicKey, type RecordNoun, unique, uniqueEmail } from "./test-records.ts";

const existing =
  (noun: RecordNoun) =>
  async ({ tenant }: Actors) => ({ parameters: { id: await makeId(noun, tenant.client) } });

async function deactivatedUser({ tenant }: Actors) {
  const id = await makeId("user", tenant.client);
  await tenant.client.must.patch(`/tenants/users/${id}/deactivate`);
  return { parameters: { id } };
}

async function deactivatedDevice({ tenant }: Actors) {
  const id = await makeId("device", tenant.client);
  await tenant.client.must.patch(`/tenants/devices/${id}/deactivate`);
  return { parameters: { id } };
}

async function activeUser({ tenant }: Actors) {
  const { user } = await make("device", tenant.client);
  return { parameters: { id: user.id } };
}

/** A user in two groups, and one of the groups. */
async function membership({ tenant }: Actors) {
  const [id, groupId] = [await makeId("user", tenant.client), await makeId("group", tenant.client)];
  await tenant.client.must.post(`/tenants/users/${id}/groups`, { groupId });
  return { parameters: { id, groupId } };
}

/** A user in a single group. */
async function onlyMembership({ tenant }: Actors) {
  const groupId = await makeId("group", tenant.client);
  const { body } = await tenant.client.post("/tenants/users", { email: uniqueEmail(), groups: [groupId] });
  return { parameters: { id: body.id, groupId } };
}

/** A role that a user holds directly. */
async function heldRole({ tenant }: Actors) {
  const [id, userId] = [await makeId("role", tenant.client), await makeId("user", tenant.client)];
  await tenant.client.must.patch(`/tenants/users/${userId}/roles`, { addedRoles: [id] });
  return { parameters: { id, userId } };
}

/** A role that a user holds only through a group. */
async function inheritedRole({ tenant }: Actors) {
  const id = await makeId("role", tenant.client);
  const group = await tenant.client.post("/tenants/groups", { name: unique("Group"), roles: [id] });
  const { body } = await tenant.client.post("/tenants/users", { email: uniqueEmail(), groups: [group.body.id] });
  return { parameters: { id, userId: body.id } };
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
      { field: "/roles/*", noun: "role", body: (id) => ({ email: uniqueEmail(), roles: [id] }) },
      {
        field: "/*/roles/*",
        noun: "role",
        body: (id) => [{ email: uniqueEmail() }, { email: uniqueEmail(), roles: [id] }],
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
  { operation: users.inviteUser, prepare: existing("user"), conflict: activeUser },
  { operation: users.transferOwnership, prepare: activeUser, conflict: existing("user") },
  { operation: users.listUserRoles, prepare: existing("user") },
  {
    operation: users.updateUserRoles,
    prepare: async ({ tenant }) => ({
      parameters: { id: await makeId("user", tenant.client) },
      body: { addedRoles: [await makeId("role", tenant.client)] },
    }),
    references: [
      { field: "/addedRoles/*", noun: "role", body: (id) => ({ addedRoles: [id] }) },
      { field: "/removedRoles/*", noun: "role", body: (id) => ({ removedRoles: [id] }) },
    ],
    conflict: async (actors) => {
      const { id, userId } = (await inheritedRole(actors)).parameters;
      return { parameters: { id: userId }, body: { removedRoles: [id] } };
    },
  },
  {
    operation: users.addUserToGroup,
    prepare: async ({ tenant }) => ({
      parameters: { id: await makeId("user", tenant.client) },
      body: { groupId: await makeId("group", tenant.client) },
    }),
    references: [{ field: "/groupId", noun: "group", body: (groupId) => ({ groupId }) }],
  },
  {
    operation: users.updateUserGroups,
    prepare: async ({ tenant }) => ({
      parameters: { id: await makeId("user", tenant.client) },
      body: { addedGroups: [await makeId("group", tenant.client)] },
    }),
    references: [
      { field: "/addedGroups/*", noun: "group", body: (id) => ({ addedGroups: [id] }) },
      { field: "/removedGroups/*", noun: "group", body: (id) => ({ removedGroups: [id] }) },
    ],
    conflict: async (actors) => {
      const { id, groupId } = (await onlyMembership(actors)).parameters;
      return { parameters: { id }, body: { removedGroups: [groupId] } };
    },
  },
  { operation: users.removeUserFromGroup, prepare: membership, conflict: onlyMembership },

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
  {
    operation: groups.updateGroup,
    prepare: async ({ tenant }) => ({
      parameters: { id: await makeId("group", tenant.client) },
      body: { name: unique("Group"), roles: [await makeId("role", tenant.client)], maxDevices: 7 },
    }),
    references: [{ field: "/roles/*", noun: "role", body: (id) => ({ roles: [id] }) }],
    conflict: async ({ tenant }) => ({
      parameters: { id: await makeId("group", tenant.client) },
      body: { name: "Default" },
    }),
  },
  {
    operation: groups.deleteGroup,
    prepare: existing("group"),
    conflict: async (actors) => {
      const { groupId } = (await onlyMembership(actors)).parameters;
      return { parameters: { id: groupId } };
    },
  },
  { operation: groups.listRoles, prepare: nothing },
  { operation: groups.readRole, prepare: existing("role") },
  { operation: groups.listRoleUsers, prepare: existing("role") },
  { operation: groups.removeRoleFromUser, prepare: heldRole, conflict: inheritedRole },

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
  { operation: devices.rotateDeviceToken, prepare: existing("device") },
  { operation: devices.resetDeviceKey, prepare: existing("device") },
  { operation: devices.readDeviceConfiguration, prepare: existing("device") },
  { operation: devices.reactivateDevice, prepare: deactivatedDevice, conflict: existing("device") },
  {
    operation: devices.replaceDeviceTags,
    prepare: async (actors) => ({ ...(await existing("device")(actors)), body: { tags: ["build", "site:a"] } }),
  },
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
