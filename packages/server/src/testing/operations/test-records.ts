/** Creates uniquely named records through the API. */
import { randomBytes, randomInt } from "node:crypto";
import { expect } from "vitest";
import { publishedTxt } from "../published-txt.ts";
import type { TestClient, TestReply } from "../test-server.ts";

/** A text that is unique in the test run. */
export function unique(prefix: string): string {
  return `${prefix} ${randomBytes(5).toString("hex")}`;
}

export function uniqueEmail(): string {
  return `person-${randomBytes(5).toString("hex")}@example.com`;
}

/** A WireGuard public key: 32 bytes in base64, of which the highest bit is not set. */
export function publicKey(): string {
  const bytes = randomBytes(32);
  bytes[31] = randomInt(128);
  return bytes.toString("base64");
}

/** A URL whose name never resolves (RFC 2606). */
export const webhookUrl = "https://hooks.invalid/gatehouse";

/** The kinds of records in a tenant. */
export type RecordNoun =
  | "user"
  | "group"
  | "role"
  | "device"
  | "gateway"
  | "protocol"
  | "resource"
  | "address"
  | "admission-rule"
  | "policy"
  | "access-test"
  | "api-key"
  | "enrolment-key"
  | "webhook"
  | "identity-provider"
  | "domain";

type Maker = (client: TestClient) => Promise<TestReply["body"]>;

async function made(reply: Promise<TestReply>): Promise<TestReply["body"]> {
  const { status, body, text } = await reply;
  expect(status, text).toBe(201);
  return body;
}

const makers: Readonly<Record<RecordNoun, Maker>> = {
  user: (client) => made(client.post("/tenants/users", { email: uniqueEmail() })),
  group: (client) => made(client.post("/tenants/groups", { name: unique("Group") })),
  role: async (client) => {
    const { body } = await client.get("/tenants/roles");
    return body.find(({ type }: { type: string }) => type === "SUPPORT");
  },
  device: async (client) =>
    made(
      client.post("/tenants/devices", {
        name: unique("Laptop"),
        userId: (await makers.user(client)).id,
        hardwareId: "C02XK0AAJGH5",
        publicKey: publicKey(),
      }),
    ),
  gateway: (client) => made(client.post("/tenants/gateways", { name: unique("Gateway"), wireguardPort: "51820" })),
  protocol: (client) =>
    made(
      client.post("/tenants/protocols", {
        name: unique("Protocol"),
        networkProtocols: [{ protocol: "TCP", port: "8443" }],
      }),
    ),
  resource: async (client) =>
    made(
      client.post("/tenants/resources", {
        name: unique("Resource"),
        type: "PRIVATE",
        addresses: [{ address: "git.example.com", protocols: [(await makers.protocol(client)).id] }],
      }),
    ),
  address: async (client) => (await makers.resource(client)).addresses[0],
  "admission-rule": (client) =>
    made(
      client.post("/tenants/admission-rules", {
        name: unique("Rule"),
        rule: "device.os == 'Linux'",
        hasTimeConstraint: false,
      }),
    ),
  policy: (client) =>
    made(client.post("/tenants/policies", { name: unique("Policy"), type: "PRIVATE", action: true, allUsers: true })),
  "access-test": async (client) =>
    made(
      client.post("/tenants/access-tests", {
        name: unique("Test"),
        subject: { type: "group", id: (await makers.group(client)).id },
        resource: { type: "resource", id: (await makers.resource(client)).id },
        expected: "denied",
      }),
    ),
  "identity-provider": async (client) => {
    // A tenant has at most 20.
    const { body } = await client.get("/tenants/identity-providers");
    for (const { id } of body.slice(0, -10)) await client.must.delete(`/tenants/identity-providers/${id}`);
    const provider = { name: unique("Provider"), issuer: "https://login.invalid", clientId: "gatehouse" };
    return made(client.post("/tenants/identity-providers", provider));
  },
  domain: async (client) => {
    // A tenant has at most 50.
    const { body } = await client.get("/tenants/domains");
    for (const { id } of body.slice(0, -20)) await client.must.delete(`/tenants/domains/${id}`);
    const name = `${randomBytes(5).toString("hex")}.example.com`;
    const domain = await made(client.post("/tenants/domains", { domain: name }));
    publishedTxt.set(domain.recordName, [domain.recordValue]);
    return domain;
  },
  webhook: async (client) => {
    // A tenant can have only a limited number, so the oldest are deleted.
    const { body } = await client.get("/tenants/webhooks");
    for (const { id } of body.slice(0, -10)) await client.must.delete(`/tenants/webhooks/${id}`);
    return made(client.post("/tenants/webhooks", { name: unique("Webhook"), url: webhookUrl }));
  },
  "enrolment-key": async (client) =>
    made(
      client.post("/tenants/enrolment-keys", {
        name: unique("Servers"),
        userId: await makeId("user", client),
        maxUses: 3,
        tags: ["build"],
      }),
    ),
  "api-key": (client) =>
    made(client.post("/tenants/api-keys", { name: unique("Key"), permissions: ["protocols:read"] })),
};

/** Creates a record and the records it needs. For roles, finds a system role. */
export function make(noun: RecordNoun, client: TestClient): Promise<TestReply["body"]> {
  return makers[noun](client);
}

/** Creates a record and returns only its id. */
export async function makeId(noun: RecordNoun, client: TestClient): Promise<string> {
  return (await make(noun, client)).id;
}
