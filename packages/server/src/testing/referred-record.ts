/** Creates a record of any kind, and everything that can refer to it without blocking its deletion. */
import { expect } from "vitest";
import { BrowserPage, enrolmentLinkFor } from "./browser-page.ts";
import { make, publicKey, type RecordNoun, unique, uniqueEmail } from "./operations/test-records.ts";
import { signInOnDevice } from "./signed-in-device.ts";
import { personClient, signInAs } from "./signed-in-person.ts";
import type { TestServer, TestTenant } from "./test-server.ts";
import { VirtualPasskey } from "./virtual-passkey.ts";

export type DeletableNoun = Exclude<RecordNoun, "role">;

export interface ReferredRecord {
  readonly id: string;
  /** The name in configuration documents: the email address of a user. */
  readonly name: string;
}

/** Creates a record, and everything that can refer to it. */
export async function referredRecord(
  noun: DeletableNoun,
  server: TestServer,
  tenant: TestTenant,
): Promise<ReferredRecord> {
  switch (noun) {
    case "user":
      return (await makePerson(server, tenant)).user;
    case "device":
      return (await makePerson(server, tenant)).device;
    case "identity-provider": {
      const provider = await make(noun, tenant.client);
      await makePerson(server, tenant, provider.id);
      return provider;
    }
    case "address": {
      const resource = await makeResource(tenant);
      const { id, address } = resource.addresses[0];
      return { id, name: address };
    }
    case "api-key": {
      const { id, name, key } = await make(noun, tenant.client);
      await server.client(key).must.post("/console/session");
      return { id, name };
    }
    default:
      return referred(noun, tenant);
  }
}

async function referred(noun: DeletableNoun, tenant: TestTenant): Promise<ReferredRecord> {
  const { must } = tenant.client;
  switch (noun) {
    case "group": {
      const group = await make(noun, tenant.client);
      await must.put(`/tenants/groups/${group.id}`, { roles: [await supportRole(tenant)] });
      const user = await make("user", tenant.client);
      await must.post(`/tenants/users/${user.id}/groups`, { groupId: group.id });
      await makePolicy(tenant, { groups: [group.id] });
      return group;
    }
    case "gateway": {
      const [first, gateway] = [await make(noun, tenant.client), await make(noun, tenant.client)];
      const gateways = [first.id, gateway.id];
      const [one, other] = [await make("resource", tenant.client), await make("resource", tenant.client)];
      for (const id of gateways) await must.put(`/tenants/resources/${one.id}/gateways/${id}`);
      const balancing = { loadBalancingMode: "MANUAL", gateways: gateways.toReversed() };
      await must.post(`/tenants/resources/${other.id}/loadBalancing`, balancing);
      await must.post(`/tenants/gateways/${gateway.id}/rotate-token`);
      return gateway;
    }
    case "resource":
      return makeResource(tenant);
    case "policy": {
      const lists = ["group", "user", "device", "resource", "gateway"] as const;
      const named: Record<string, readonly string[]> = {};
      for (const each of lists) named[`${each}s`] = [(await make(each, tenant.client)).id];
      return makePolicy(tenant, named);
    }
    case "webhook": {
      const webhook = await make(noun, tenant.client);
      await must.post(`/tenants/webhooks/${webhook.id}/rotate-secret`);
      return webhook;
    }
    case "domain": {
      const { id, domain } = await make(noun, tenant.client);
      return { id, name: domain };
    }
    default:
      return make(noun, tenant.client);
  }
}

/** A user with a device, and everything that belongs to a user. @param providerId where the user signs in */
async function makePerson(
  server: TestServer,
  tenant: TestTenant,
  providerId?: string,
): Promise<{ readonly user: ReferredRecord; readonly device: ReferredRecord }> {
  const { must } = tenant.client;
  const { body: user } = await must.post("/tenants/users", { email: uniqueEmail() });
  const enrolled = await new BrowserPage(server).enrol(
    await enrolmentLinkFor(server, tenant.id, user),
    new VirtualPasskey("http://localhost:8080"),
  );
  expect(enrolled.status).toBeLessThan(300);
  await must.patch(`/tenants/users/${user.id}/roles`, { addedRoles: [await supportRole(tenant)] });
  const settings = { name: unique("Laptop"), userId: user.id, hardwareId: unique("Serial"), publicKey: publicKey() };
  const { body: device } = await must.post("/tenants/devices", settings);
  const authTime = server.runner.clock.now();
  const through = providerId === undefined ? {} : { providerId };
  await signInOnDevice({ server, tenant, userId: user.id, deviceId: device.id, authTime, ...through });
  const browser = personClient(server, await signInAs(server, tenant.id, user.id));
  const view = await browser.post("/tenants/views", { list: "users", name: "Own" });
  expect(view.status, view.text).toBe(201);
  await must.post("/tenants/enrolment-keys", { name: unique("Servers"), userId: user.id });
  await makePolicy(tenant, { users: [user.id], devices: [device.id] });
  return { user: { id: user.id, name: user.email }, device };
}

/** A resource with two gateways, which an inactive policy names. */
async function makeResource(tenant: TestTenant) {
  const resource = await make("resource", tenant.client);
  for (const each of [await make("gateway", tenant.client), await make("gateway", tenant.client)]) {
    await tenant.client.must.put(`/tenants/resources/${resource.id}/gateways/${each.id}`);
  }
  const policy = await makePolicy(tenant, { resources: [resource.id] });
  await tenant.client.must.patch(`/tenants/policies/${policy.id}/deactivate`);
  return resource;
}

async function makePolicy(tenant: TestTenant, settings: object): Promise<ReferredRecord> {
  const policy = { name: unique("Policy"), type: "PRIVATE", action: true, ...settings };
  return (await tenant.client.must.post("/tenants/policies", policy)).body;
}

async function supportRole(tenant: TestTenant): Promise<string> {
  return (await make("role", tenant.client)).id;
}
