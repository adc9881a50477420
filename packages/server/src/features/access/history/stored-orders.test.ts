import { finish } from "@gatehouse/policy/work";
import { expect, test } from "vitest";
import { readGeneration } from "../../../platform/tenancy/generation.queries.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { configurationCalls } from "../../../testing/example-configuration.ts";
import { sharedTestServer } from "../../../testing/test-server.ts";
import { readHistoryAt } from "./history.queries.ts";
import { factsOfHistory } from "./history.ts";

test("the history has the order of a document that moves a policy to the same position among fewer policies", async () => {
  const server = await sharedTestServer();
  const { id: tenantId, client } = await server.newTenant();
  const calls = configurationCalls(client);
  const apply = (...names: string[]) =>
    calls.applied({ policies: { PRIVATE: names.map((name) => ({ name, action: true })) } });
  await apply("One", "Two", "Three", "Four", "Five");
  await apply("Four", "Five", "Three");
  const { body } = await client.must.get("/tenants/events?sort=-position&limit=10");
  const moves = body.data.filter(({ before }: { before?: object }) => before !== undefined && "order" in before);
  expect(moves).toMatchObject([{ target: { name: "Three" }, before: { order: 3 }, after: { order: 3 } }]);

  const read = <T>(work: (tx: TenantTx) => Promise<T>) =>
    server.database.readThrough({ kind: "tenant", tenantId }, ({ query }) => work({ tenantId, query }));
  const generation = (await read(readGeneration)) ?? 0;
  const history = finish(factsOfHistory(await read((tx) => readHistoryAt(tx, generation))));
  const order = (policies: readonly { readonly name: string; readonly type: string }[]) =>
    policies.filter(({ type }) => type === "PRIVATE").map(({ name }) => name);
  expect(order(history.policies)).toEqual(["Four", "Five", "Three"]);
});
