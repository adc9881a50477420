import { sharedTestServer, type TestTenant } from "@gatehouse/server/testing/test-server";
import { beforeAll, expect, test } from "vitest";
import { runHere } from "../testing/run-here.ts";

let tenant: TestTenant;
let url: string;

beforeAll(async () => {
  const server = await sharedTestServer();
  tenant = await server.newTenant();
  url = await server.listen();
});

const event = (...args: string[]) => runHere(["event", ...args, "--url", url, "--api-key", tenant.key]);

async function changedGroup(name: string) {
  const { client } = tenant;
  const { id } = (await client.post("/tenants/groups", { name, description: "Old" })).body;
  await client.put(`/tenants/groups/${id}`, { description: "New" });
  const { body } = await client.get(`/tenants/events?filter[target.id]=${id}&sort=-position&limit=1`);
  return { id: String(id), event: String(body.data[0].id) };
}

const descriptionOf = async (id: string) => (await tenant.client.get(`/tenants/groups/${id}`)).body.description;

test("event revert --preview shows the changes and what they undo, and changes nothing", async () => {
  const group = await changedGroup("Previewed");
  await tenant.client.put(`/tenants/groups/${group.id}`, { description: "Newer" });
  const { code, output } = await event("revert", group.event, "--preview");
  expect(code).toBe(0);
  expect(output).toMatch(
    new RegExp(
      `^PUT /tenants/groups/${group.id}\n\nUndoes these later events:\n  .*updateGroup on group Previewed: descr`,
    ),
  );
  expect(output).toContain("Gained: nothing.");
  expect(await descriptionOf(group.id)).toBe("Newer");
});

test("event revert --yes reverts, and reports the new id of a deleted record", async () => {
  const group = await changedGroup("Reverted");
  const { code, output } = await event("revert", group.event, "--yes", "--wait=1");
  expect(code).toBe(0);
  expect(output).toContain("\nReverted.\n");
  expect(await descriptionOf(group.id)).toBe("Old");
  await tenant.client.delete(`/tenants/groups/${group.id}`);
  const { body } = await tenant.client.get(`/tenants/events?filter[target.id]=${group.id}&sort=-position&limit=1`);
  const again = await event("revert", body.data[0].id, "--yes", "--json");
  const { recreated } = JSON.parse(again.output);
  expect(recreated.formerId).toBe(group.id);
  expect(await descriptionOf(recreated.id)).toBe("Old");
});

test("event revert explains what cannot be reverted, and asks before it changes anything", async () => {
  const { client } = tenant;
  const { id } = (await client.post("/tenants/api-keys", { name: "Key", permissions: ["users:read"] })).body;
  const { body } = await client.get(`/tenants/events?filter[target.id]=${id}`);
  const refused = await event("revert", body.data[0].id, "--yes");
  expect(refused.code).toBe(1);
  expect(refused.output).toContain("Cannot be reverted:");
  expect(refused.errors).toContain("cannot be reverted");
  const unconfirmed = await event("revert", body.data[0].id);
  expect(unconfirmed).toMatchObject({ code: 2, output: "" });
  expect(unconfirmed.errors).toContain("--yes");
});

test("event revert names the number of events of a request, and --request reverts all of them", async () => {
  const { body } = await tenant.client.post("/tenants/changes", {
    changes: ["First", "Second"].map((name) => ({ method: "POST", path: "/tenants/groups", body: { name } })),
  });
  const [id] = body.changes[0].events;
  const single = await event("revert", id, "--preview");
  expect(single.output).toContain("\nReverts 1 of the 2 events of its request. Use --request to revert all of them.\n");
  const whole = await event("revert", id, "--request", "--yes");
  expect(whole.output).toMatch(/^DELETE .*\nDELETE .*\n/);
  expect(whole.output).toContain("\nReverted.\n");
  for (const change of body.changes) expect((await tenant.client.get(change.location)).status).toBe(404);
});
