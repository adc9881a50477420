import { redactedToken } from "@gatehouse/contract/records/gateway";
import { beforeAll, describe, expect, test } from "vitest";
import { printedRows } from "../../../testing/network-rows.queries.ts";
import { make } from "../../../testing/operations/test-records.ts";
import { sharedTestServer, type TestServer } from "../../../testing/test-server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await sharedTestServer();
});

describe("a gateway's token", () => {
  test("is shown to keys that hold gateways:token, and to no other, wherever a gateway is shown", async () => {
    const tenant = await server.newTenant();
    const gateway = await make("gateway", tenant.client);
    const resource = await make("resource", tenant.client);
    await tenant.client.must.post(`/tenants/resources/${resource.id}/loadBalancing`, {
      loadBalancingMode: "MANUAL",
      gateways: [gateway.id],
    });
    const paths = [
      "/tenants/gateways",
      `/tenants/gateways/${gateway.id}`,
      "/tenants/resources",
      `/tenants/resources/${resource.id}`,
      `/tenants/addresses/${resource.addresses[0].id}/gateways`,
    ];
    const reading = ["gateways:read", "resources:read", "addresses:read"] as const;
    const without = server.client(await tenant.keyWith(...reading));
    const withToken = server.client(await tenant.keyWith(...reading, "gateways:token"));
    for (const path of paths) {
      const [hidden, shown] = await Promise.all([without.get(path), withToken.get(path)]);
      expect(hidden.text).not.toContain(gateway.token);
      expect(hidden.text).toContain(`"token":"${redactedToken}"`);
      expect(shown.text).toContain(`"token":"${gateway.token}"`);
    }
  });

  test("is not shown to a key that may create and update gateways only", async () => {
    const tenant = await server.newTenant();
    const writer = server.client(await tenant.keyWith("gateways:write"));
    const made = await writer.post("/tenants/gateways", { name: "Edge", wireguardPort: "51820" });
    expect(made).toMatchObject({ status: 201, body: { token: redactedToken } });
    const changed = await writer.put(`/tenants/gateways/${made.body.id}`, { description: "x" });
    expect(changed).toMatchObject({ status: 200, body: { token: redactedToken } });
    const { body } = await tenant.client.get(`/tenants/gateways/${made.body.id}`);
    expect(body.token).toMatch(/^gatehouse_gw_/);
  });

  test("is stored encrypted and hashed, and is absent from audit entries, the outbox and stored replies", async () => {
    const tenant = await server.newTenant();
    const body = { name: "Edge", wireguardPort: "51820" };
    const idempotent = { "idempotency-key": "one" };
    const made = await tenant.client.post("/tenants/gateways", body, idempotent);
    const { token, id } = made.body;
    await tenant.client.must.put(`/tenants/gateways/${id}`, { description: "x" });
    await tenant.client.must.delete(`/tenants/gateways/${id}`);
    const again = await tenant.client.post("/tenants/gateways", body, idempotent);
    expect(again).toMatchObject({ status: 201, headers: { "idempotent-replayed": "true" }, body: made.body });
    await tenant.client.must.post("/tenants/gateways", { ...body, name: "Another" });
    const forms = [token, token.slice("gatehouse_gw_".length), Buffer.from(token).toString("hex")];
    for (const table of ["gateways", "audit_events", "outbox", "idempotent_replies"] as const) {
      const rows = await printedRows(server, tenant.id, table);
      expect(rows, table).not.toEqual([]);
      for (const form of forms) expect(rows.join("\n"), table).not.toContain(form);
    }
    expect((await printedRows(server, tenant.id, "audit_events")).join("\n")).toContain(redactedToken);
  });
});

describe("the record of changes", () => {
  test("records each command on a gateway, with the resources of a deleted one", async () => {
    const tenant = await server.newTenant();
    const { token: _, ...made } = await make("gateway", tenant.client);
    const resource = await make("resource", tenant.client);
    await tenant.client.must.post(`/tenants/resources/${resource.id}/loadBalancing`, {
      loadBalancingMode: "MANUAL",
      gateways: [made.id],
    });
    await tenant.client.must.delete(`/tenants/gateways/${made.id}`);
    const { body } = await tenant.client.get(`/tenants/events?filter[target.id]=${made.id}`);
    const change = { actor: expect.anything(), target: { type: "gateway", id: made.id, name: made.name } };
    const redacted = { ...made, token: redactedToken };
    const gone = { ...redacted, resources: [{ id: resource.id, name: resource.name }] };
    expect(body.data).toMatchObject([
      { ...change, operation: "createGateway", after: redacted },
      { ...change, operation: "deleteGateway", before: gone },
    ]);
    expect(body.data[0]).not.toHaveProperty("before");
    expect(body.data[1]).not.toHaveProperty("after");
  });
});
