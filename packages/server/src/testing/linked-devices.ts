import { expect } from "vitest";
import type { LinkedReplicas } from "./linked-replicas.ts";
import { makeId, publicKey, unique } from "./operations/test-records.ts";
import type { SimulatedKey } from "./simulated-agent.ts";
import { SimulatedDevice } from "./simulated-device.ts";
import { until } from "./until.ts";

/** The addresses of the resources that `grantAccess` creates. */
export const block = "10.20.30.0/24";

/** Functions for tests that connect devices to replicas. */
export function linkedDevices(replicas: LinkedReplicas) {
  /** @param proved the key of a device that uses the latest version of the protocol */
  async function newDevice(url = replicas.url, proved?: SimulatedKey) {
    const key = proved?.publicKey ?? publicKey();
    const userId = await makeId("user", replicas.client);
    const made = await replicas.client.post("/tenants/devices", {
      name: unique("Laptop"),
      userId,
      hardwareId: "C02XK0AAJGH5",
      publicKey: key,
    });
    expect(made.status, made.text).toBe(201);
    const { id } = made.body;
    const device = new SimulatedDevice({ url, deviceId: id, token: await rotate(id), publicKey: key });
    if (proved !== undefined) device.useKey(proved);
    replicas.opened.push(device);
    return { id: id as string, userId, device };
  }

  async function rotate(id: string): Promise<string> {
    const { status, body, text } = await replicas.client.post(`/tenants/devices/${id}/rotate-token`);
    expect(status, text).toBe(200);
    return body.token;
  }

  /** Creates a gateway with its own endpoint, and waits until it is ONLINE. */
  async function newGateway(endpoint: string, url = replicas.url) {
    const { id, gateway } = await replicas.newGateway({ url }, { endpoint });
    await gateway.connect();
    const status = async () => (await replicas.client.get(`/tenants/gateways/${id}`)).body.status;
    await until("it is ONLINE", async () => (await status()) === "ONLINE");
    return { id, gateway };
  }

  /**
   * Creates a resource behind gateways in the order of their priority, and a policy that permits everybody to access
   * it.
   */
  async function grantAccess(...gateways: readonly string[]) {
    const resource = await replicas.client.post("/tenants/resources", {
      name: unique("Resource"),
      type: "PRIVATE",
      addresses: [
        { address: block, protocols: [] },
        { address: "git.example.com", protocols: [] },
      ],
    });
    expect(resource.status, resource.text).toBe(201);
    const { id } = resource.body;
    const balanced = await replicas.client.post(`/tenants/resources/${id}/loadBalancing`, {
      loadBalancingMode: "MANUAL",
      gateways,
    });
    expect(balanced.status, balanced.text).toBe(204);
    const policy = await replicas.client.post("/tenants/policies", {
      name: unique("Policy"),
      type: "PRIVATE",
      action: true,
      allUsers: true,
      resources: [id],
    });
    expect(policy.status, policy.text).toBe(201);
    return { resourceId: id as string, policyId: policy.body.id as string };
  }

  async function connected(url = replicas.url) {
    const gateway = await newGateway("198.51.100.1");
    const granted = await grantAccess(gateway.id);
    const made = await newDevice(url);
    expect(await made.device.connect()).toBe(101);
    await until("it has its route", () => made.device.routeTo(block) === gateway.id);
    return { ...made, ...granted, gateway };
  }

  return { newDevice, rotate, newGateway, grantAccess, connected };
}
