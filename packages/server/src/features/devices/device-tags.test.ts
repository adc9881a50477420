import { beforeAll, expect, test } from "vitest";
import { make, makeId, unique } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestTenant } from "../../testing/test-server.ts";

let tenant: TestTenant;

beforeAll(async () => {
  tenant = await (await sharedTestServer()).newTenant();
});

const tagsOf = async (id: string) => (await tenant.client.must.get(`/tenants/devices/${id}`)).body.tags;

test("tags are replaced as a whole, and the same tags change nothing", async () => {
  const id = await makeId("device", tenant.client);
  expect(await tagsOf(id)).toEqual([]);
  const path = `/tenants/devices/${id}/tags`;
  const { headers } = await tenant.client.must.put(path, { tags: ["build", "site:a"] });
  expect(await tagsOf(id)).toEqual(["build", "site:a"]);
  expect((await tenant.client.must.put(path, { tags: ["build", "site:a"] })).headers.etag).toBe(headers.etag);
  await tenant.client.must.put(path, { tags: [] });
  expect(await tagsOf(id)).toEqual([]);
});

test.each([
  [["Build"]],
  [["a b"]],
  [[""]],
  [["-a"]],
  [["a".repeat(64)]],
  [["a", "a"]],
  [Array.from({ length: 33 }, (_, index) => `t${index}`)],
])("refuses %j", async (tags) => {
  const id = await makeId("device", tenant.client);
  const { status, body } = await tenant.client.put(`/tenants/devices/${id}/tags`, { tags });
  expect({ status, code: body.code }).toEqual({ status: 400, code: "invalid_body" });
  expect(await tagsOf(id)).toEqual([]);
});

test("tags decide about access through rules, and a revert restores them", async () => {
  const { client } = tenant;
  const [device, resource] = [await make("device", client), await make("resource", client)];
  const rule = await client.must.post("/tenants/admission-rules", {
    name: unique("Rule"),
    rule: "'build' in device.tags",
    hasTimeConstraint: false,
  });
  await client.must.post("/tenants/policies", {
    name: unique("Policy"),
    type: "PRIVATE",
    action: true,
    devices: [device.id],
    resources: [resource.id],
    rule: rule.body.id,
  });
  const isAllowed = async () => {
    const question = {
      subject: { type: "device", id: device.id },
      action: { name: "connect" },
      resource: { type: "resource", id: resource.id },
    };
    return (await client.must.post("/access/v1/evaluation", question)).body.decision;
  };
  expect(await isAllowed()).toBe(false);
  const { headers } = await client.must.put(`/tenants/devices/${device.id}/tags`, { tags: ["build"] });
  expect(await isAllowed()).toBe(true);
  const reverted = await client.must.post(`/tenants/events/${headers["gatehouse-event"]}/revert`, {});
  expect(reverted.status).toBeLessThan(300);
  expect(await tagsOf(device.id)).toEqual([]);
  expect(await isAllowed()).toBe(false);
});
