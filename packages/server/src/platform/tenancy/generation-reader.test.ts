import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { TenantState } from "./generation.queries.ts";
import { GenerationReader } from "./generation-reader.ts";

/** A reader whose queries the test answers. */
function byHand() {
  const asked: { readonly tenantId: string; readonly answer: (generation: number) => void }[] = [];
  const reader = new GenerationReader(
    (tenantId) =>
      new Promise((answer) => {
        asked.push({ tenantId, answer: (generation) => answer({ generation, observations: 0 }) });
      }),
  );
  return { asked, reader };
}

test("requests in one turn of the event loop share a query, one for each tenant", async () => {
  const { asked, reader } = byHand();
  const answers = [reader.current("a"), reader.current("b"), reader.current("a")];
  expect(asked).toEqual([]);
  await turn();
  expect(asked.map(({ tenantId }) => tenantId)).toEqual(["a", "b"]);
  asked[0]?.answer(7);
  asked[1]?.answer(3);
  expect(await Promise.all(answers)).toEqual([7, 3, 7]);
});

test("a request after the query was sent does not get its answer", async () => {
  const { asked, reader } = byHand();
  const before = reader.current("a");
  await turn();
  // The query was sent. A commit may happen between its answer and this request.
  const after = reader.current("a");
  await turn();
  expect(asked).toHaveLength(2);
  asked[0]?.answer(7);
  asked[1]?.answer(8);
  expect([await before, await after]).toEqual([7, 8]);
});

test("a query that fails, fails for all requests that share it, and the next request starts another", async () => {
  let fail = true;
  const reader = new GenerationReader(() =>
    fail ? Promise.reject(new Error("away")) : Promise.resolve<TenantState>({ generation: 1, observations: 0 }),
  );
  const shared = await Promise.allSettled([reader.current("a"), reader.current("a")]);
  expect(shared.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  fail = false;
  expect(await reader.current("a")).toBe(1);
});
