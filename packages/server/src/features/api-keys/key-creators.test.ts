import { beforeAll, expect, test } from "vitest";
import { unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { activeUser, personClient, signInAs } from "../../testing/signed-in-person.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;
beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
});

test("a key records who created it: a person, a key, or the system", async () => {
  const person = await activeUser(server, tenant, uniqueEmail(), ["ADMIN"]);
  const client = personClient(server, await signInAs(server, tenant.id, person.id));
  const make = { name: unique("Key"), role: "AUDITOR" };
  const { body: byPerson } = await client.post("/tenants/api-keys", make);
  expect(byPerson.createdBy).toEqual({ type: "user", id: person.id, name: person.email });
  const { body: byKey } = await tenant.client.must.post("/tenants/api-keys", make);
  expect(byKey.createdBy).toMatchObject({ type: "api-key", name: "First key" });
  // The actor that rotates a key learns the new one.
  const { body: rotated } = await tenant.client.must.post(`/tenants/api-keys/${byPerson.id}/rotate`, {});
  expect(rotated.createdBy).toEqual(byKey.createdBy);
  const { body: keys } = await tenant.client.must.get("/tenants/api-keys");
  expect(keys[0].createdBy).toEqual({ type: "system", name: "Gatehouse" });
});

test("the keys that a person created are listed and revoked, and no others", async () => {
  const people = await Promise.all([1, 2].map(() => activeUser(server, tenant, uniqueEmail(), ["ADMIN"])));
  const keys = await Promise.all(
    people.map(async ({ id }) => {
      const client = personClient(server, await signInAs(server, tenant.id, id));
      return (await client.post("/tenants/api-keys", { name: unique("Key"), role: "AUDITOR" })).body;
    }),
  );
  const [[leaver, colleague], [key, other]] = [people, keys];
  const path = `/tenants/users/${leaver?.id}/api-keys`;
  const { key: secret, ...shown } = key;
  // A key outlives its creator's access until somebody revokes it.
  await tenant.client.must.patch(`/tenants/users/${leaver?.id}/deactivate`);
  expect((await tenant.client.must.get(path)).body).toEqual([shown]);
  expect((await server.client(secret).get("/tenants/groups")).status).toBe(200);
  expect((await tenant.client.delete(path, { "if-match": '"99"' })).status).toBe(412);
  expect((await tenant.client.delete(path)).status).toBe(204);
  expect((await tenant.client.must.get(path)).body).toEqual([]);
  expect((await tenant.client.must.get(`/tenants/users/${colleague?.id}/api-keys`)).body).toMatchObject([
    { id: other.id },
  ]);
  const { body: events } = await tenant.client.must.get("/tenants/events?filter[operation]=deleteApiKeysOfUser");
  expect(events.data).toMatchObject([{ target: { type: "api-key", id: key.id }, before: { name: key.name } }]);
  const reader = server.client(await tenant.keyWith("users:read", "users:write"));
  expect((await reader.get(path)).body.code).toBe("permission_denied");
});
