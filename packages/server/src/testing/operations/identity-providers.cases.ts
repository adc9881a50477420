import * as operations from "@gatehouse/contract/operations/identity-providers.operations";
import { addDeviceWithSession } from "./device-with-session.ts";
import { type Actors, nothing, type OperationCase } from "./operation-case.ts";
import { makeId, unique } from "./test-records.ts";

const existing = async ({ tenant }: Actors) => ({
  parameters: { id: await makeId("identity-provider", tenant.client) },
});

export const identityProviderCases: readonly OperationCase[] = [
  { operation: operations.listIdentityProviders, prepare: nothing },
  {
    operation: operations.createIdentityProvider,
    prepare: async (actors) => {
      await existing(actors); // deletes old providers if needed
      return { body: { name: unique("Provider"), issuer: "https://login.invalid", clientId: "gatehouse" } };
    },
  },
  { operation: operations.readIdentityProvider, prepare: existing },
  {
    operation: operations.patchIdentityProvider,
    prepare: async (actors) => ({ ...(await existing(actors)), body: { name: unique("Provider") } }),
    conflict: async (actors) => ({ ...(await existing(actors)), body: { enabled: true } }),
  },
  {
    operation: operations.deleteIdentityProvider,
    prepare: async (actors) => {
      const request = await existing(actors);
      const userId = await makeId("user", actors.tenant.client);
      await addDeviceWithSession(actors, userId, request.parameters.id);
      return request;
    },
  },
  { operation: operations.testIdentityProvider, prepare: existing },
];
