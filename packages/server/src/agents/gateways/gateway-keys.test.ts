import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { linkedReplicas } from "../../testing/linked-replicas.ts";
import { unique } from "../../testing/operations/test-records.ts";
import { until } from "../../testing/until.ts";

const replicas = linkedReplicas();
const zeroKey = `${"A".repeat(43)}=`;

/** Another encoding of the same point: X25519 ignores the highest bit. */
function aliasOf(publicKey: string): string {
  const bytes = Buffer.from(publicKey, "base64");
  bytes[31] = (bytes[31] ?? 0) | 0x80;
  return bytes.toString("base64");
}

async function newUser(): Promise<string> {
  const { body, text, status } = await replicas.client.post("/tenants/users", { email: `${randomUUID()}@example.com` });
  expect(status, text).toBe(201);
  return body.id;
}

const enrol = async (publicKey: string) =>
  replicas.client.post("/tenants/devices", {
    name: unique("Laptop"),
    userId: await newUser(),
    hardwareId: "HW",
    publicKey,
  });

const read = async (id: string) => (await replicas.client.get(`/tenants/gateways/${id}`)).body;

test.each([
  "another gateway",
  "another gateway, in another encoding",
  "a device",
  "a device, in another encoding",
  "nobody, because it is of small order",
])("a gateway that claims the key of %s is refused alone, with status ERROR and an event", async (owner) => {
  const honest = await replicas.newGateway();
  await honest.gateway.connect();
  await until("it is ONLINE", async () => (await read(honest.id)).status === "ONLINE");
  const deviceKey = Buffer.alloc(32, 7).toString("base64");
  if (owner.startsWith("a device")) expect((await enrol(deviceKey)).status).toBe(201);
  const owned = {
    "another gateway": honest.gateway.publicKey,
    "another gateway, in another encoding": aliasOf(honest.gateway.publicKey),
    "a device": deviceKey,
    "a device, in another encoding": aliasOf(deviceKey),
  };
  const claimed = new Map(Object.entries(owned)).get(owner) ?? zeroKey;
  const rogue = await replicas.newGateway({ publicKey: claimed });
  await rogue.gateway.connect();
  await until("it is refused", () => rogue.gateway.goodbyes.length > 0);
  expect(rogue.gateway.goodbyes).toMatchObject([{ type: "goodbye", reason: "key_refused" }]);
  await until("it is in error", async () => (await read(rogue.id)).status === "ERROR");
  expect((await read(rogue.id)).error).toContain(claimed);
  const events = await replicas.client.get(`/tenants/events?filter[target.id]=${rogue.id}&limit=100`);
  expect(events.body.data).toContainEqual(expect.objectContaining({ operation: "reportGatewayState" }));
  expect(await read(honest.id)).toMatchObject({ status: "ONLINE" });
  expect(honest.gateway.goodbyes).toEqual([]);
  // With its own key, the same gateway is admitted.
  rogue.gateway.cut();
  const repaired = { publicKey: Buffer.alloc(32, 9).toString("base64") };
  await rogue.gateway.connect(repaired);
  await until("it is ONLINE", async () => (await read(rogue.id)).status === "ONLINE");
  expect((await read(rogue.id)).error).toBeFalsy();
});

test("a device cannot be enrolled with a gateway's key in any encoding, or with one of small order", async () => {
  const { id, gateway } = await replicas.newGateway();
  await gateway.connect();
  await until("it is ONLINE", async () => (await read(id)).status === "ONLINE");
  expect(await enrol(gateway.publicKey)).toMatchObject({ status: 409, body: { code: "device_key_taken" } });
  for (const refused of [zeroKey, aliasOf(zeroKey), aliasOf(gateway.publicKey)]) {
    expect(await enrol(refused)).toMatchObject({
      status: 400,
      body: { code: "invalid_body", errors: [{ pointer: "/publicKey" }] },
    });
  }
});
