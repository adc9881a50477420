import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  server = await startTestServer();
  tenant = await server.newTenant();
});
afterAll(() => server.close());

describe("resources", () => {
  test("are created, read, changed and deleted", async () => {
    const protocols = await tenant.client.get("/tenants/protocols");
    const ssh = protocols.body.find(({ name }: { name: string }) => name === "SSH").id;
    const made = await tenant.client.post("/tenants/resources", {
      name: " Git ",
      type: "PRIVATE",
      addresses: [{ address: "GIT.corp.example.com", protocols: [ssh] }],
    });
    expect(made.status).toBe(201);
    expect(made.headers.location).toBe(`/tenants/resources/${made.body.id}`);
    expect(made.body).toMatchObject({
      name: "Git",
      status: "OFFLINE",
      addresses: [{ address: "git.corp.example.com" }],
    });
    const read = await tenant.client.get(`/tenants/resources/${made.body.id}`);
    expect(read.body).toEqual(made.body);
    const renamed = await tenant.client.patch(
      `/tenants/resources/${made.body.id}`,
      { name: "Forge" },
      { "if-match": '"1"' },
    );
    expect(renamed).toMatchObject({ status: 204, headers: { etag: '"2"' } });
    const stale = await tenant.client.patch(
      `/tenants/resources/${made.body.id}`,
      { name: "Late" },
      { "if-match": '"1"' },
    );
    expect(stale).toMatchObject({ status: 412, body: { code: "precondition_failed" } });
    const list = await tenant.client.get("/tenants/resources?filter[type]=PRIVATE&sort=-name");
    expect(list.body).toMatchObject({ total: 1, page: 0, limit: 10, hasNext: false, data: [{ name: "Forge" }] });
    const gone = await tenant.client.delete(`/tenants/resources/${made.body.id}`);
    expect(gone.status).toBe(204);
    expect(await tenant.client.get(`/tenants/resources/${made.body.id}`)).toMatchObject({ status: 404 });
  });
});
