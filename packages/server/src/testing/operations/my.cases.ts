import * as my from "@gatehouse/contract/operations/my.operations";
import * as views from "@gatehouse/contract/operations/views.operations";
import { proveNewKey } from "../new-wireguard-key.ts";
import { SimulatedKey } from "../simulated-agent.ts";
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

/** A device of the person that does not run the agent. */
async function ownApp({ tenant, person }: Actors) {
  const { body } = await tenant.client.must.post("/tenants/devices", {
    name: unique("Phone"),
    userId: person.id,
    hardwareId: "wireguard-app",
    publicKey: publicKey(),
    agent: false,
  });
  return { parameters: { id: String(body.id) } };
}

async function newApp({ person }: Actors) {
  return { body: { name: unique("Phone"), ...(await proveNewKey(person.client)) } };
}

/** A key that another device of the person has already. */
async function takenKey({ person }: Actors) {
  const key = new SimulatedKey();
  const answer = await proveNewKey(person.client, key);
  await person.client.must.post("/tenants/my/devices", { name: unique("Phone"), ...answer });
  return { body: { name: unique("Tablet"), ...(await proveNewKey(person.client, key)) } };
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
  { operation: my.createMyKeyChallenge, prepare: async () => ({ body: { publicKey: publicKey() } }) },
  { operation: my.addMyDevice, prepare: newApp, conflict: takenKey },
  { operation: my.signInMyDevice, prepare: ownApp, conflict: ownDevice },
  { operation: my.readMyDeviceConfiguration, prepare: ownApp },
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
