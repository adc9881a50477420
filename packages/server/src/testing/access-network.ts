/** The records for tests of decisions. */
import { expect } from "vitest";
import { reportStatus } from "./network-rows.queries.ts";
import { publicKey, uniqueEmail } from "./operations/test-records.ts";
import type { TestClient, TestServer, TestTenant } from "./test-server.ts";

export async function created(client: TestClient, path: string, body: object) {
  const reply = await client.post(path, body);
  expect(reply.status, reply.text).toBe(201);
  return reply.body;
}

/**
 * Engineers can access Git over SSH from a device with an encrypted disk; contractors cannot, whatever other groups
 * they are in.
 */
export async function createAccessNetwork(server: TestServer, { id: tenantId, client }: TestTenant) {
  const protocols = (await client.get("/tenants/protocols")).body;
  const ssh = protocols.find(({ name }: { name: string }) => name === "SSH").id;
  const engineers = await created(client, "/tenants/groups", { name: "Engineers" });
  const contractors = await created(client, "/tenants/groups", { name: "Contractors" });
  const person = async (groups: readonly string[]) => {
    const email = uniqueEmail();
    const user = await created(client, "/tenants/users", { email, groups });
    const device = await created(client, "/tenants/devices", {
      name: `Laptop of ${email}`,
      userId: user.id,
      hardwareId: "SERIAL-1",
      publicKey: publicKey(),
      posture: { diskEncrypted: true },
    });
    return { id: String(user.id), email, device: String(device.id) };
  };
  const gateways = [];
  for (const name of ["Frankfurt", "Dublin"]) {
    const gateway = await created(client, "/tenants/gateways", { name, wireguardPort: "51820" });
    await reportStatus(server, tenantId, gateway.id, "ONLINE");
    gateways.push({ id: String(gateway.id), name });
  }
  const git = await created(client, "/tenants/resources", {
    name: "Git",
    type: "PRIVATE",
    addresses: [{ address: "git.example.com", protocols: [ssh] }],
  });
  const loadBalancing = { loadBalancingMode: "MANUAL", gateways: gateways.map(({ id }) => id) };
  await client.must.post(`/tenants/resources/${git.id}/loadBalancing`, loadBalancing);
  const wiki = await created(client, "/tenants/resources", { name: "Wiki", type: "PRIVATE", addresses: [] });
  const rule = await created(client, "/tenants/admission-rules", {
    name: "Encrypted disk",
    rule: "device.posture.diskEncrypted == true && now < timestamp('2030-01-01T00:00:00Z')",
    hasTimeConstraint: true,
  });
  const denying = await created(client, "/tenants/policies", {
    name: "Contractors stay out",
    type: "PRIVATE",
    action: false,
    groups: [contractors.id],
    resources: [git.id],
  });
  const allowing = await created(client, "/tenants/policies", {
    name: "Engineers use Git",
    type: "PRIVATE",
    action: true,
    groups: [engineers.id],
    resources: [git.id],
    rule: rule.id,
  });
  return {
    ann: await person([engineers.id]),
    bob: await person([engineers.id, contractors.id]),
    engineers: { id: String(engineers.id), name: "Engineers" },
    gateways,
    git: { id: String(git.id), name: "Git" },
    wiki: { id: String(wiki.id), name: "Wiki" },
    denying: { id: String(denying.id), name: "Contractors stay out" },
    allowing: { id: String(allowing.id), name: "Engineers use Git" },
  };
}
