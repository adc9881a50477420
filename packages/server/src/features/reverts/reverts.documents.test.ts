/** The changes of an applied document are not reverted: its entries name records instead of containing their ids. */
import { beforeAll, expect, test } from "vitest";
import { configurationCalls, emptied, whole } from "../../testing/example-configuration.ts";
import { type RevertingClient, revertingClient } from "../../testing/reverting-client.ts";
import { sharedTestServer, type TestClient } from "../../testing/test-server.ts";

let client: TestClient;
let by: RevertingClient;
let calls: ReturnType<typeof configurationCalls>;

beforeAll(async () => {
  ({ client } = await (await sharedTestServer()).newTenant());
  by = revertingClient(client);
  calls = configurationCalls(client);
  await calls.applied(whole);
});

const changed = {
  ...whole,
  groups: whole.groups.map((group) => ({ ...group, description: "Changed" })),
  resources: whole.resources.map(({ gateways: _gateways, ...resource }) => ({ ...resource, description: "Changed" })),
  policies: { ...whole.policies, PRIVATE: whole.policies.PRIVATE.toReversed(), SAAS: [] },
};
const empty = {
  version: 1,
  ...emptied,
  defaultInternetPolicy: { mode: "RESTRICTED" },
  identityProviders: [],
};

test.each([
  ["changes", changed],
  ["deletes", empty],
  ["creates", whole],
])("a document that %s records", async (_, document) => {
  await calls.applied(document);
  const before = await calls.exported();
  const path = "/tenants/events?filter[operation]=applyConfiguration&sort=-position&limit=100";
  const [latest, ...others] = (await client.must.get(path)).body.data;
  const events = [
    latest,
    ...others.filter(({ generation }: { generation: number }) => generation === latest.generation),
  ];
  expect(new Set(events.map(({ target }) => target.type)).size).toBeGreaterThan(2);
  for (const { id, target } of events) {
    const what = JSON.stringify(target);
    // No change of an identity provider can be reverted.
    const own = target.type === "identity-provider" ? "unsupported" : "configuration";
    for (const [preview, refused, code] of [
      [await by.preview(id), await by.revert(id), own],
      [await by.previewRequest(id), await by.revertRequest(id), "configuration"],
    ] as const) {
      expect(preview, what).toMatchObject({ status: 200, body: { changes: [], cannot: [{ code }] } });
      expect(refused, what).toMatchObject({ status: 409, body: { code: "not_revertible" } });
      expect(refused.body.errors, what).toEqual([
        { pointer: `/tenants/events/${id}`, message: expect.stringContaining(`${code}: `) },
      ]);
    }
  }
  expect(await calls.exported()).toEqual(before);
});
