import * as my from "@gatehouse/contract/operations/my.operations";
import type { Actors, OperationCase } from "./operation-case.ts";
import { nothing } from "./operation-case.ts";
import { makeId, publicKey, unique } from "./test-records.ts";

/** A device of the person. */
async function ownDevice({ tenant, person }: Actors) {
  const { body } = await tenant.client.must.post("/tenants/devices", {
    name: unique("Laptop"),
    userId: person.id,
    hardwareId: unique("hardware"),
    publicKey: publicKey(),
  });
  return { parameters: { id: String(body.id) } };
}

export const myCases: readonly OperationCase[] = [
  { operation: my.readMyself, prepare: nothing },
  { operation: my.listMyDevices, prepare: nothing },
  { operation: my.readMyDevice, prepare: ownDevice },
  {
    operation: my.renameMyDevice,
    prepare: async (actors) => ({ ...(await ownDevice(actors)), body: { name: unique("Phone") } }),
  },
  { operation: my.removeMyDevice, prepare: ownDevice },
  { operation: my.listMyAccess, prepare: nothing },
  {
    operation: my.explainMyAccess,
    prepare: async ({ tenant }) => ({ body: { to: await makeId("resource", tenant.client) } }),
  },
];
