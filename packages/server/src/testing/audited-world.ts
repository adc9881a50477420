/** A tenant with rows in many tables, for tests that edit them. */
import { expect } from "vitest";
import { BrowserPage, enrolmentLinkFor } from "./browser-page.ts";
import { configurationCalls } from "./example-configuration.ts";
import { make, publicKey, type RecordNoun, unique } from "./operations/test-records.ts";
import { signInOnDevice } from "./signed-in-device.ts";
import { activeUser, ownerOf } from "./signed-in-person.ts";
import type { TestServer, TestTenant } from "./test-server.ts";
import { VirtualPasskey } from "./virtual-passkey.ts";

const nouns: readonly RecordNoun[] = ["access-test", "enrolment-key", "webhook", "identity-provider", "domain"];

export async function auditedWorld(server: TestServer): Promise<TestTenant> {
  const tenant = await server.newTenant();
  const { must } = tenant.client;
  await configurationCalls(tenant.client).applied({
    gateways: [{ name: "From a document", wireguardPort: 51_820, networks: ["10.9.0.0/16"] }],
    users: [await ownerOf(tenant), { email: "document@example.com" }].map(({ email }) => ({ email })),
  });
  for (const noun of nouns) await make(noun, tenant.client);
  const { body: group } = await must.post("/tenants/groups", { name: "Engineers", idpMapping: ["engineers"] });
  const { body: roles } = await must.get("/tenants/roles");
  const support = roles.find(({ type }: { type: string }) => type === "SUPPORT").id;
  await must.put(`/tenants/groups/${group.id}`, { name: "Engineers", roles: [support], maxDevices: 3 });
  const { body: protocol } = await must.post("/tenants/protocols", {
    name: "Build",
    networkProtocols: [{ protocol: "TCP", port: "8443" }],
  });
  const { body: second } = await must.post("/tenants/gateways", { name: "Second", wireguardPort: "51822" });
  const { body: gateway } = await must.post("/tenants/gateways", { name: "Office", wireguardPort: "51821" });
  await must.put(`/tenants/gateways/${gateway.id}/settings`, { networks: ["10.8.0.0/16"], resolvers: ["10.8.0.53"] });
  const { body: resource } = await must.post("/tenants/resources", {
    name: "Build server",
    type: "PRIVATE",
    addresses: [{ address: "build.example.com", protocols: [protocol.id], answersWithin: ["10.8.0.0/16"] }],
  });
  await must.put(`/tenants/resources/${resource.id}/gateways/${second.id}`);
  await must.put(`/tenants/resources/${resource.id}/gateways/${gateway.id}`);
  const { id: userId } = await activeUser(server, tenant, "person@example.com", ["AUDITOR"]);
  await must.post(`/tenants/users/${userId}/groups`, { groupId: group.id });
  const { body: device } = await must.post("/tenants/devices", {
    name: "Laptop",
    userId,
    hardwareId: unique("Serial"),
    publicKey: publicKey(),
  });
  const { body: rule } = await must.post("/tenants/admission-rules", {
    name: "Linux",
    rule: "device.os == 'Linux'",
    hasTimeConstraint: false,
  });
  await must.post("/tenants/policies", {
    name: "Builders",
    type: "PRIVATE",
    action: true,
    groups: [group.id],
    users: [userId],
    devices: [device.id],
    resources: [resource.id],
    gateways: [second.id, gateway.id],
    rule: rule.id,
  });
  await must.put("/tenants/settings", { deviceApproval: "administrator" });
  await must.post("/tenants/api-keys", { name: "Monitoring", permissions: ["users:read"] });
  await must.post("/tenants/groups", { name: "Repeated" }, { "idempotency-key": "1" });
  const { body: person } = await must.post("/tenants/users", { email: "enrolling@example.com" });
  await must.patch(`/tenants/users/${person.id}`, { maxDevices: 4 });
  const token = await enrolmentLinkFor(server, tenant.id, person);
  const enrolled = await new BrowserPage(server).enrol(token, new VirtualPasskey("http://localhost:8080"));
  expect(enrolled.status).toBeLessThan(300);
  await signInOnDevice({ server, tenant, userId, deviceId: device.id, authTime: server.runner.clock.now() });
  await server.tasks.get("audit-checkpoints")?.runNow();
  return tenant;
}
