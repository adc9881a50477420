import * as apiKeys from "@gatehouse/contract/operations/api-keys.operations";
import * as enrolmentKeys from "@gatehouse/contract/operations/enrolment-keys.operations";
import * as events from "@gatehouse/contract/operations/events.operations";
import * as tenants from "@gatehouse/contract/operations/tenants.operations";
import { activeUser, personClient, signInAs } from "../signed-in-person.ts";
import { type Actors, nothing, type OperationCase } from "./operation-case.ts";
import { makeId, unique, uniqueEmail } from "./test-records.ts";

const existingKey = async ({ tenant }: Actors) => ({ parameters: { id: await makeId("api-key", tenant.client) } });

const existingEnrolmentKey = async ({ tenant }: Actors) => ({
  parameters: { id: await makeId("enrolment-key", tenant.client) },
});

/** A person who created an API key. */
async function personWithKey({ tenant, server }: Actors) {
  const { id } = await activeUser(server, tenant, uniqueEmail(), ["ADMIN"]);
  const person = personClient(server, await signInAs(server, tenant.id, id));
  await person.post("/tenants/api-keys", { name: unique("Key"), role: "AUDITOR" });
  return { parameters: { id } };
}

const newTenant = () => ({ name: unique("Tenant"), ownerEmail: uniqueEmail() });

async function existingTenant({ operator }: Actors) {
  const { body } = await operator.post("/operator/tenants", newTenant());
  return { parameters: { id: String(body.tenant.id) } };
}

export const administrationCases: readonly OperationCase[] = [
  { operation: apiKeys.listApiKeys, prepare: nothing },
  {
    operation: apiKeys.createApiKey,
    prepare: async () => ({ body: { name: unique("Key"), role: "AUDITOR", sourceIps: ["192.0.2.7"] } }),
  },
  { operation: apiKeys.readApiKey, prepare: existingKey },
  { operation: apiKeys.deleteApiKey, prepare: existingKey },
  { operation: apiKeys.listApiKeysOfUser, prepare: personWithKey },
  { operation: apiKeys.deleteApiKeysOfUser, prepare: personWithKey },
  {
    operation: apiKeys.rotateApiKey,
    prepare: async (actors) => ({ ...(await existingKey(actors)), body: { graceSeconds: 60 } }),
    conflict: async (actors) => {
      const { parameters } = await existingKey(actors);
      await actors.tenant.client.must.post(`/tenants/api-keys/${parameters.id}/rotate`, {});
      return { parameters, body: {} };
    },
  },

  { operation: enrolmentKeys.listEnrolmentKeys, prepare: nothing },
  {
    operation: enrolmentKeys.createEnrolmentKey,
    prepare: async ({ tenant }) => ({
      body: { name: unique("Servers"), userId: await makeId("user", tenant.client), maxUses: 2, tags: ["build"] },
    }),
    references: [{ field: "/userId", noun: "user", body: (userId) => ({ name: unique("Servers"), userId }) }],
    conflict: async ({ tenant }) => {
      const userId = await makeId("user", tenant.client);
      await tenant.client.must.patch(`/tenants/users/${userId}/deactivate`);
      return { body: { name: unique("Servers"), userId } };
    },
  },
  { operation: enrolmentKeys.readEnrolmentKey, prepare: existingEnrolmentKey },
  {
    operation: enrolmentKeys.updateEnrolmentKey,
    prepare: async (actors) => ({ ...(await existingEnrolmentKey(actors)), body: { name: unique("Servers") } }),
  },
  { operation: enrolmentKeys.revokeEnrolmentKey, prepare: existingEnrolmentKey },
  { operation: enrolmentKeys.deleteEnrolmentKey, prepare: existingEnrolmentKey },

  { operation: events.listEvents, prepare: nothing },
  { operation: events.exportEvents, prepare: nothing },
  { operation: events.streamEvents, prepare: nothing },
  { operation: events.readSigningKey, prepare: nothing },
  {
    operation: events.readEventEffect,
    prepare: async ({ tenant }) => {
      const { headers } = await tenant.client.post("/tenants/groups", { name: unique("Group") });
      return { parameters: { id: headers["gatehouse-event"] ?? "none" } };
    },
  },

  { operation: tenants.listTenants, prepare: nothing },
  {
    operation: tenants.createTenant,
    prepare: async () => ({ body: newTenant() }),
    conflict: async ({ operator }) => {
      const body = newTenant();
      await operator.must.post("/operator/tenants", body);
      return { body };
    },
  },
  { operation: tenants.readTenant, prepare: existingTenant },
  { operation: tenants.deleteTenant, prepare: existingTenant },
];
