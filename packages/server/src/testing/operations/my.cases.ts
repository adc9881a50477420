import * as my from "@gatehouse/contract/operations/my.operations";
import * as views from "@gatehouse/contract/operations/views.operations";
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

async function newView() {
  return { body: { list: "users", name: unique("View"), filters: { q: "a" } } };
}

async function ownView({ person }: Actors) {
  const { body } = await person.client.must.post("/tenants/views", (await newView()).body);
  return { parameters: { id: String(body.id) } };
}

async function takenName({ person }: Actors) {
  const { body } = await newView();
  await person.client.must.post("/tenants/views", body);
  return { body };
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
  { operation: views.listViews, prepare: nothing },
  { operation: views.createView, prepare: newView, conflict: takenName },
  { operation: views.readView, prepare: ownView },
  {
    operation: views.updateView,
    prepare: async (actors) => ({ ...(await ownView(actors)), body: { name: unique("View") } }),
    conflict: async (actors) => ({
      ...(await ownView(actors)),
      body: { name: (await takenName(actors)).body.name },
    }),
  },
  { operation: views.deleteView, prepare: ownView },
];
