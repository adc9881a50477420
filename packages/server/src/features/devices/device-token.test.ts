import { createHash } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { withoutTunnelAddresses } from "../../testing/link-rows.queries.ts";
import { printedRows } from "../../testing/network-rows.queries.ts";
import { make, makeId } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  server = await sharedTestServer();
});
beforeEach(async () => {
  tenant = await server.newTenant();
});

const hashOf = (token: string) => createHash("sha256").update(token).digest("hex");
const rotate = (id: string, headers = {}) =>
  tenant.client.post(`/tenants/devices/${id}/rotate-token`, undefined, headers);

describe("rotating a device's token", () => {
  test("answers with the token, and stores only its hash", async () => {
    const device = await make("device", tenant.client);
    const reply = await rotate(device.id, { "idempotency-key": "once" });
    expect(reply).toMatchObject({ status: 200, headers: { etag: '"2"' } });
    const { token } = reply.body;
    expect(reply.body).toEqual({ token });
    expect(token).toMatch(/^gatehouse_device_[0-9A-Za-z]{49}$/);
    expect(await printedRows(server, tenant.id, "device_tokens")).toEqual([expect.stringContaining(hashOf(token))]);
    // A repeated request gets the same reply, from encrypted storage.
    expect((await rotate(device.id, { "idempotency-key": "once" })).body).toEqual({ token });
    for (const table of ["devices", "audit_events", "outbox", "idempotent_replies", "device_tokens"] as const) {
      const rows = (await printedRows(server, tenant.id, table)).join("\n");
      expect(rows.length, table).toBeGreaterThan(0);
      expect(rows.includes(token), table).toBe(false);
    }
    for (const path of [
      `/tenants/devices/${device.id}`,
      "/tenants/devices",
      "/tenants/events",
      "/tenants/configuration",
    ]) {
      const { status, text } = await tenant.client.get(path);
      expect(status, path).toBe(200);
      expect(text.includes(token), path).toBe(false);
    }
  });

  test("replaces the previous token", async () => {
    const id = await makeId("device", tenant.client);
    const [first, second] = [(await rotate(id)).body.token, (await rotate(id)).body.token];
    expect(second).not.toBe(first);
    const rows = await printedRows(server, tenant.id, "device_tokens");
    expect(rows).toEqual([expect.stringContaining(hashOf(second))]);
  });

  test("is audited, and heeds If-Match", async () => {
    const id = await makeId("device", tenant.client);
    expect(await rotate(id, { "if-match": '"7"' })).toMatchObject({ status: 412 });
    expect(await rotate(id, { "if-match": '"1"' })).toMatchObject({ status: 200 });
    const { body } = await tenant.client.get(`/tenants/events?filter[target.id]=${id}&sort=-createdAt`);
    expect(body.data[0]).toMatchObject({ operation: "rotateDeviceToken" });
  });

  test("twice at once keeps one token", async () => {
    const id = await makeId("device", tenant.client);
    const replies = await Promise.all(Array.from({ length: 5 }, () => rotate(id)));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const [row, ...rest] = await printedRows(server, tenant.id, "device_tokens");
    expect(rest).toEqual([]);
    expect(replies.filter(({ body }) => row?.includes(hashOf(body.token)))).toHaveLength(1);
  });

  test("is undone with the device", async () => {
    const id = await makeId("device", tenant.client);
    await rotate(id);
    await tenant.client.must.delete(`/tenants/devices/${id}`);
    expect(await printedRows(server, tenant.id, "device_tokens")).toEqual([]);
  });
});

describe("a device's configuration", () => {
  test("is returned for a device without access", async () => {
    const { id } = await make("device", tenant.client);
    expect(await tenant.client.get(`/tenants/devices/${id}/configuration`)).toMatchObject({
      status: 200,
      body: { device: id, ipv4: expect.stringMatching(/^100\.64\./), ipv6: expect.stringMatching(/^fd/), gateways: [] },
    });
  });

  test("is returned for a device older than tunnel addresses, which gets its addresses now", async () => {
    const { id } = await make("device", tenant.client);
    await withoutTunnelAddresses(server, tenant.id);
    const first = await tenant.client.get(`/tenants/devices/${id}/configuration`);
    expect(first).toMatchObject({ status: 200, body: { ipv4: expect.stringMatching(/^100\.64\./) } });
    expect((await tenant.client.get(`/tenants/devices/${id}/configuration`)).body).toEqual(first.body);
  });

  test("answers 404 for an unknown device", async () => {
    const id = "01890a5d-ac96-774b-bcce-b302099a8057";
    expect(await tenant.client.get(`/tenants/devices/${id}/configuration`)).toMatchObject({ status: 404 });
  });
});
