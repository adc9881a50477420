/** Addresses of resources whose gateways are out of service, in configurations for current and earlier devices. */
import { deviceLinkSubprotocols } from "@gatehouse/agent-protocol/device/frames";
import { expect, test } from "vitest";
import { block, linkedDevices } from "../../testing/linked-devices.ts";
import { linkedReplicas } from "../../testing/linked-replicas.ts";
import { SimulatedKey } from "../../testing/simulated-agent.ts";
import { until } from "../../testing/until.ts";

const replicas = linkedReplicas();
const { newDevice, newGateway, grantAccess } = linkedDevices(replicas);
const unserved = { addresses: [block], names: ["git.example.com"] };

test("maintenance of the only gateway makes its addresses unserved, except on devices of earlier versions", async () => {
  const { id: gatewayId } = await newGateway("198.51.100.1");
  const { policyId } = await grantAccess(gatewayId);
  const devices = await Promise.all(
    deviceLinkSubprotocols.map(async (subprotocol) => {
      const key = new SimulatedKey();
      const made = await newDevice(replicas.url, key);
      made.device.useKey(key, undefined, subprotocol);
      expect(await made.device.connect()).toBe(101);
      await until("it has its route", () => made.device.routeTo(block) === gatewayId);
      expect(made.device.content).not.toHaveProperty("unserved");
      return made;
    }),
  );
  await replicas.client.must.post(`/tenants/gateways/${gatewayId}/enter-maintenance`);
  for (const { device } of devices) await until("the route is gone", () => device.content?.gateways.length === 0);
  expect(devices.map(({ device }) => device.content?.unserved)).toEqual([unserved, undefined, undefined, undefined]);
  const [current] = devices;
  const { body } = await replicas.client.get(`/tenants/devices/${current?.id}/configuration`);
  expect(body).toEqual(current?.device.content);

  const earlier = devices.slice(1).map(({ device }) => device);
  const sent = earlier.map((device) => device.sent);
  await replicas.client.must.patch(`/tenants/policies/${policyId}/deactivate`);
  await until("nothing is unserved", () => current?.device.content?.unserved === undefined);
  await replicas.client.must.post(`/tenants/policies/${policyId}/reactivate`);
  await until("it is unserved", () => current?.device.content?.unserved !== undefined);
  await replicas.client.must.post(`/tenants/gateways/${gatewayId}/exit-maintenance`);
  for (const { device } of devices) await until("the route is back", () => device.routeTo(block) === gatewayId);
  // Changes of the unserved addresses alone were not sent.
  expect(earlier.map((device) => device.sent)).toEqual(sent.map((count) => count + 1));
  expect(current?.device.content).not.toHaveProperty("unserved");
});

test("moves addresses to another gateway in service instead of listing them as unserved", async () => {
  const { id: one } = await newGateway("198.51.100.1");
  const { id: two } = await newGateway("198.51.100.2");
  await grantAccess(one, two);
  const { device } = await newDevice(replicas.url, new SimulatedKey());
  await device.connect();
  await until("it has its route", () => device.routeTo(block) === one);
  await replicas.client.must.post(`/tenants/gateways/${one}/enter-maintenance`);
  await until("the route moves", () => device.routeTo(block) === two);
  expect(device.content).not.toHaveProperty("unserved");
  await replicas.client.must.post(`/tenants/gateways/${two}/enter-maintenance`);
  await until("it is unserved", () => device.content?.unserved !== undefined);
  expect(device.content).toMatchObject({ gateways: [], unserved });
  for (const id of [one, two]) await replicas.client.must.delete(`/tenants/gateways/${id}`);
  await until("nothing is unserved", () => device.content?.unserved === undefined);
});

test("lists nothing as unserved for a gateway that was never deployed, until it is taken out of service", async () => {
  const { id } = await replicas.newGateway({}, { endpoint: "198.51.100.1" });
  await grantAccess(id);
  const { device } = await newDevice(replicas.url, new SimulatedKey());
  await device.connect();
  await until("it has a configuration", () => device.content !== undefined);
  expect(device.content).not.toHaveProperty("unserved");
  await replicas.client.must.post(`/tenants/gateways/${id}/enter-maintenance`);
  await until("it is unserved", () => device.content?.unserved !== undefined);
  expect(device.content).toMatchObject({ gateways: [], unserved });
});
