import { randomBytes } from "node:crypto";
import * as enrolmentLinks from "@gatehouse/contract/operations/enrolment-links.operations";
import * as signIn from "@gatehouse/contract/operations/sign-in.operations";
import { insertPasskey } from "../../features/passkeys/passkeys.queries.ts";
import { newId } from "../../platform/ids.ts";
import { signInAs } from "../signed-in-person.ts";
import { addDeviceWithSession } from "./device-with-session.ts";
import { type Actors, nothing, type OperationCase } from "./operation-case.ts";
import { makeId, unique } from "./test-records.ts";

async function signedInUser({ tenant, server }: Actors) {
  const id = await makeId("user", tenant.client);
  await signInAs(server, tenant.id, id);
  return { parameters: { id } };
}

async function session(actors: Actors) {
  const { parameters } = await signedInUser(actors);
  const { body } = await actors.tenant.client.must.get(`/tenants/sessions?filter[user.id]=${parameters.id}`);
  return { parameters: { id: String(body.data[0].id) } };
}

async function passkey({ tenant, server }: Actors) {
  const [id, passkeyId] = [await makeId("user", tenant.client), newId()];
  await server.database.transaction({ kind: "tenant", tenantId: tenant.id }, ({ query }) =>
    insertPasskey(
      { tenantId: tenant.id, query },
      {
        id: passkeyId,
        userId: id,
        name: "Laptop",
        credentialId: randomBytes(32),
        publicKey: randomBytes(77),
        counter: 0,
        transports: [],
        backedUp: false,
      },
      new Date(),
    ),
  );
  return { parameters: { id, passkeyId } };
}

/** A user with two passkeys, one of which can be deleted. */
async function oneOfTwoPasskeys(actors: Actors) {
  const { parameters } = await passkey(actors);
  const { tenant, server } = actors;
  await server.database.transaction({ kind: "tenant", tenantId: tenant.id }, ({ query }) =>
    insertPasskey(
      { tenantId: tenant.id, query },
      {
        id: newId(),
        userId: parameters.id,
        name: "Phone",
        credentialId: randomBytes(32),
        publicKey: randomBytes(77),
        counter: 0,
        transports: [],
        backedUp: true,
      },
      new Date(),
    ),
  );
  return { parameters };
}

/** A user with an enrolment link. */
async function enrolmentLink({ tenant }: Actors) {
  const id = await makeId("user", tenant.client);
  const { body } = await tenant.client.must.post(`/tenants/users/${id}/enrolment-links`);
  return { parameters: { id, linkId: String(body.id) } };
}

async function deactivatedUser({ tenant }: Actors) {
  const id = await makeId("user", tenant.client);
  await tenant.client.must.patch(`/tenants/users/${id}/deactivate`);
  return { parameters: { id } };
}

export const signInCases: readonly OperationCase[] = [
  { operation: signIn.listSessions, prepare: nothing },
  { operation: signIn.endSession, prepare: session },
  {
    operation: signIn.endUserSessions,
    prepare: async (actors) => {
      const request = await signedInUser(actors);
      await addDeviceWithSession(actors, request.parameters.id);
      return request;
    },
  },
  {
    operation: signIn.listPasskeys,
    prepare: async (actors) => ({ parameters: { id: (await passkey(actors)).parameters.id } }),
  },
  {
    operation: signIn.renamePasskey,
    prepare: async (actors) => ({ ...(await passkey(actors)), body: { name: unique("Passkey") } }),
  },
  { operation: signIn.deletePasskey, prepare: oneOfTwoPasskeys, conflict: passkey },
  {
    operation: signIn.resetPasskeys,
    prepare: async (actors) => {
      const { id } = (await passkey(actors)).parameters;
      await addDeviceWithSession(actors, id);
      return { parameters: { id } };
    },
  },
  { operation: signIn.listSignIns, prepare: nothing },
  {
    operation: enrolmentLinks.createEnrolmentLink,
    prepare: async ({ tenant }) => ({ parameters: { id: await makeId("user", tenant.client) }, body: {} }),
    conflict: deactivatedUser,
  },
  {
    operation: enrolmentLinks.listEnrolmentLinks,
    prepare: async (actors) => ({ parameters: { id: (await enrolmentLink(actors)).parameters.id } }),
  },
  { operation: enrolmentLinks.deleteEnrolmentLink, prepare: enrolmentLink },
];
