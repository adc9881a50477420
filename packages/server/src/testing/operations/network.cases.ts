import * as addresses from "@gatehouse/contract/operations/addresses.operations";
import * as gateways from "@gatehouse/contract/operations/gateways.operations";
import * as protocols from "@gatehouse/contract/operations/protocols.operations";
import * as resources from "@gatehouse/contract/operations/resources.operations";
import { expect } from "vitest";
import type { TestClient } from "../test-server.ts";
import { type Actors, nothing, type OperationCase } from "./operation-case.ts";
import { make, makeId, type RecordNoun, unique } from "./test-records.ts";

const existing =
  (noun: RecordNoun) =>
  async ({ tenant }: Actors) => ({ parameters: { id: await makeId(noun, tenant.client) } });

async function predefinedProtocol({ tenant }: Actors) {
  const { body } = await tenant.client.get("/tenants/protocols");
  return { parameters: { id: body.find(({ name }: { name: string }) => name === "SSH").id } };
}

/** A gateway after an action. */
async function after(action: string, { tenant }: Actors) {
  const id = await makeId("gateway", tenant.client);
  await tenant.client.must.post(`/tenants/gateways/${id}/${action}`);
  return { parameters: { id } };
}

/** A different port after each new gateway, derived from their number. */
async function freeRelayPort(client: TestClient): Promise<number> {
  const { body } = await client.get("/tenants/gateways");
  return 20_000 + body.length;
}

/** Creates a policy that names a record, so that the record cannot be deleted. */
async function namedByPolicy(client: TestClient, field: "resources" | "gateways", noun: RecordNoun) {
  const id = await makeId(noun, client);
  const policy = { name: unique("Policy"), type: "PRIVATE", action: true, [field]: [id] };
  expect((await client.post("/tenants/policies", policy)).status).toBe(201);
  return { parameters: { id } };
}

export const networkCases: readonly OperationCase[] = [
  { operation: gateways.listGateways, prepare: nothing },
  {
    operation: gateways.createGateway,
    prepare: async () => ({
      body: { name: unique("Gateway"), wireguardPort: "51820", endpoint: "gateway.example.com" },
    }),
    conflict: async ({ tenant }) => ({
      body: { name: (await make("gateway", tenant.client)).name, wireguardPort: "51820" },
    }),
  },
  { operation: gateways.readGateway, prepare: existing("gateway") },
  {
    operation: gateways.updateGateway,
    prepare: async ({ tenant }) => ({
      parameters: { id: await makeId("gateway", tenant.client) },
      body: { name: unique("Gateway"), description: "In the data centre." },
    }),
    conflict: async ({ tenant }) => ({
      parameters: { id: await makeId("gateway", tenant.client) },
      body: { name: (await make("gateway", tenant.client)).name },
    }),
  },
  {
    operation: gateways.deleteGateway,
    prepare: existing("gateway"),
    conflict: ({ tenant }) => namedByPolicy(tenant.client, "gateways", "gateway"),
  },

  { operation: gateways.readGatewaySettings, prepare: existing("gateway") },
  {
    operation: gateways.replaceGatewaySettings,
    prepare: async ({ tenant }) => ({
      parameters: { id: await makeId("gateway", tenant.client) },
      body: {
        resolvers: ["10.80.0.53"],
        domains: [{ domain: "internal.example.com", resolvers: ["fd80::53"] }],
        networks: null,
        relayPort: String(await freeRelayPort(tenant.client)),
      },
    }),
    conflict: async ({ tenant }) => {
      const other = await makeId("gateway", tenant.client);
      const relayPort = String(await freeRelayPort(tenant.client));
      await tenant.client.must.put(`/tenants/gateways/${other}/settings`, { relayPort });
      return { parameters: { id: await makeId("gateway", tenant.client) }, body: { relayPort } };
    },
  },
  { operation: gateways.enableGatewayRelay, prepare: existing("gateway") },
  {
    operation: gateways.disableGatewayRelay,
    prepare: async (actors) => after("enable-relay", actors),
  },
  { operation: gateways.enterGatewayMaintenance, prepare: existing("gateway") },
  {
    operation: gateways.exitGatewayMaintenance,
    prepare: async (actors) => after("enter-maintenance", actors),
  },
  {
    operation: gateways.rotateGatewayToken,
    prepare: async ({ tenant }) => ({
      parameters: { id: await makeId("gateway", tenant.client) },
      body: { graceSeconds: 60 },
    }),
    conflict: async ({ tenant }) => {
      const id = await makeId("gateway", tenant.client);
      for (let times = 0; times < 10; times += 1) await tenant.client.must.post(`/tenants/gateways/${id}/rotate-token`);
      return { parameters: { id }, body: {} };
    },
  },
  { operation: gateways.resetGatewayKey, prepare: existing("gateway") },
  { operation: gateways.rotateSigningKey, prepare: async () => ({ body: { reason: unique("Leak") } }) },
  { operation: gateways.readGatewaySync, prepare: existing("gateway") },
  { operation: gateways.testGatewayConfiguration, prepare: existing("gateway") },

  { operation: protocols.listProtocols, prepare: nothing },
  {
    operation: protocols.createProtocol,
    prepare: async () => ({
      body: { name: unique("Protocol"), networkProtocols: [{ protocol: "UDP", port: 4500 }, { protocol: "ICMP" }] },
    }),
    conflict: async () => ({ body: { name: "SSH", networkProtocols: [{ protocol: "TCP", port: "2222" }] } }),
  },
  { operation: protocols.readProtocol, prepare: existing("protocol") },
  { operation: protocols.deleteProtocol, prepare: existing("protocol"), conflict: predefinedProtocol },

  { operation: resources.listResources, prepare: nothing },
  {
    operation: resources.createResource,
    prepare: async ({ tenant }) => ({ body: resourceWith(await makeId("protocol", tenant.client)) }),
    references: [{ field: "/addresses/*/protocols/*", noun: "protocol", body: resourceWith }],
    conflict: async ({ tenant }) => ({
      body: { name: (await make("resource", tenant.client)).name, type: "PRIVATE", addresses: [] },
    }),
  },
  { operation: resources.readResource, prepare: existing("resource") },
  {
    operation: resources.updateResource,
    prepare: async ({ tenant }) => ({
      parameters: { id: await makeId("resource", tenant.client) },
      body: { name: unique("Resource"), description: "The code forge." },
    }),
    conflict: async ({ tenant }) => ({
      parameters: { id: await makeId("resource", tenant.client) },
      body: { name: (await make("resource", tenant.client)).name },
    }),
  },
  {
    operation: resources.deleteResource,
    prepare: existing("resource"),
    conflict: ({ tenant }) => namedByPolicy(tenant.client, "resources", "resource"),
  },
  {
    operation: resources.configureLoadBalancing,
    prepare: async ({ tenant }) => ({
      parameters: { id: await makeId("resource", tenant.client) },
      body: { loadBalancingMode: "AUTOMATIC", gateways: [await makeId("gateway", tenant.client)] },
    }),
    references: [
      { field: "/gateways/*", noun: "gateway", body: (id) => ({ loadBalancingMode: "MANUAL", gateways: [id] }) },
    ],
  },

  {
    operation: resources.addResourceAddress,
    prepare: async ({ tenant }) => ({
      parameters: { id: await makeId("resource", tenant.client) },
      body: {
        address: "wiki.example.com",
        protocols: [await makeId("protocol", tenant.client)],
        answersWithin: ["10.0.0.0/8"],
      },
    }),
    references: [
      { field: "/protocols/*", noun: "protocol", body: (id) => ({ address: "wiki.example.com", protocols: [id] }) },
    ],
  },
  {
    operation: resources.removeResourceAddress,
    prepare: async ({ tenant }) => {
      const { id, addresses: owned } = await make("resource", tenant.client);
      return { parameters: { id, addressId: owned[0].id } };
    },
  },
  {
    operation: resources.connectGateway,
    prepare: async ({ tenant }) => ({
      parameters: {
        id: await makeId("resource", tenant.client),
        gatewayId: await makeId("gateway", tenant.client),
      },
    }),
  },
  {
    operation: resources.disconnectGateway,
    prepare: async ({ tenant }) => {
      const id = await makeId("resource", tenant.client);
      const gatewayId = await makeId("gateway", tenant.client);
      await tenant.client.must.put(`/tenants/resources/${id}/gateways/${gatewayId}`);
      return { parameters: { id, gatewayId } };
    },
  },

  { operation: addresses.listAddresses, prepare: nothing },
  { operation: addresses.readAddress, prepare: existing("address") },
  {
    operation: addresses.updateAddress,
    prepare: async ({ tenant }) => ({
      parameters: { id: await makeId("address", tenant.client) },
      body: { address: "192.168.10.0/24", protocols: [await makeId("protocol", tenant.client)] },
    }),
    references: [
      { field: "/protocols/*", noun: "protocol", body: (id) => ({ address: "192.168.10.1", protocols: [id] }) },
    ],
  },
  { operation: addresses.deleteAddress, prepare: existing("address") },
  { operation: addresses.listAddressGateways, prepare: existing("address") },
];

function resourceWith(protocolId: string) {
  return {
    name: unique("Resource"),
    type: "PRIVATE",
    addresses: [{ address: "*.corp.example.com", protocols: [protocolId] }],
  };
}
