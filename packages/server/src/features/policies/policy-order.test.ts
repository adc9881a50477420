import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { sharedTestServer, type TestClient, type TestReply, type TestServer } from "../../testing/test-server.ts";

const policies = "/tenants/policies";

let server: TestServer;
let client: TestClient;

beforeAll(async () => {
  server = await sharedTestServer();
});
beforeEach(async () => {
  ({ client } = await server.newTenant());
});

async function makePolicies(type: string, ...names: string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const name of names) ids.push((await client.post(policies, { name, type, action: true })).body.id);
  return ids;
}

interface Placed {
  readonly id: string;
  readonly name: string;
  readonly order: number;
  readonly isDefault: boolean;
}

async function placed(type: string): Promise<Placed[]> {
  const { body } = await client.get(`${policies}?filter[type]=${type}&sort=order&limit=100`);
  return body.data;
}

const namesOf = async (type: string) => (await placed(type)).map(({ name }) => name);
const reorder = (type: string, ids: readonly string[]) => client.post(`${policies}/reorder`, { type, policies: ids });

describe("reorderPolicies", () => {
  test("applies the order to the policies of a type, and increments the versions of moved ones", async () => {
    const [a = "", b = "", c = ""] = await makePolicies("PRIVATE", "A", "B", "C");
    await makePolicies("SAAS", "S");
    const reply = await reorder("PRIVATE", [b, a, c]);
    expect(reply.status).toBe(204);
    expect(reply.headers).not.toHaveProperty("etag");
    expect(await namesOf("PRIVATE")).toEqual(["B", "A", "C"]);
    const tags = await Promise.all([a, b, c].map(async (id) => (await client.get(`${policies}/${id}`)).headers.etag));
    expect(tags).toEqual(['"2"', '"2"', '"1"']);
    expect(await reorder("PRIVATE", [b, a, c])).toMatchObject({ status: 204 });
    expect((await client.get(`${policies}/${a}`)).headers.etag).toBe('"2"');
  });

  test("compares If-Match with the tenant's generation, before the list", async () => {
    const [a = "", b = ""] = await makePolicies("PRIVATE", "A", "B");
    const generation = (await client.get("/tenants/configuration")).headers.etag ?? "";
    const reorderIf = (tag: string, ids: readonly string[]) =>
      client.post(`${policies}/reorder`, { type: "PRIVATE", policies: ids }, { "if-match": tag });
    expect(await reorderIf(generation, [b, a])).toMatchObject({ status: 204 });
    const stale = await reorderIf(generation, [a]);
    expect(stale).toMatchObject({ status: 412, body: { code: "precondition_failed" } });
    expect(stale.body.detail).toContain("the tenant's generation is now");
    expect(await namesOf("PRIVATE")).toEqual(["B", "A"]);
    expect(await reorderIf("*", [a, b])).toMatchObject({ status: 204 });
  });

  test("records the move of each policy that moved", async () => {
    const [a = "", b = ""] = await makePolicies("PRIVATE", "A", "B", "C");
    await reorder("PRIVATE", [b, a, ...(await placed("PRIVATE")).slice(2).map(({ id }) => id)]);
    const { body } = await client.get(`/tenants/events?filter[operation]=reorderPolicies`);
    const moves = body.data.map(({ before, after }: { before: Placed; after: Placed }) => ({ before, after }));
    const state = (id: string, name: string, order: number) => ({ id, name, type: "PRIVATE", order });
    expect(moves).toEqual([
      { before: state(b, "B", 2), after: state(b, "B", 1) },
      { before: state(a, "A", 1), after: state(a, "A", 2) },
    ]);
  });

  test("keeps the default policy last, whether listed or not", async () => {
    const [a = "", b = ""] = await makePolicies("INTERNET", "A", "B");
    const last = (await placed("INTERNET")).at(-1);
    expect(last).toMatchObject({ isDefault: true, order: 3 });
    const { id = "", name = "" } = last ?? {};
    expect(await reorder("INTERNET", [b, a])).toMatchObject({ status: 204 });
    expect(await namesOf("INTERNET")).toEqual(["B", "A", name]);
    expect(await reorder("INTERNET", [a, b, id])).toMatchObject({ status: 204 });
    expect(await namesOf("INTERNET")).toEqual(["A", "B", name]);
    expect(await reorder("INTERNET", [id, a, b])).toMatchObject({ status: 422, body: { code: "incomplete_order" } });
  });

  test("refuses an incomplete list of the type, and changes nothing", async () => {
    const [a = "", b = ""] = await makePolicies("PRIVATE", "A", "B");
    const [other = ""] = await makePolicies("SAAS", "S");
    const mine = client;
    ({ client } = await server.newTenant());
    const [foreign = ""] = await makePolicies("PRIVATE", "Foreign");
    client = mine;
    const cases: [string[], string[]][] = [
      [[b], ["/policies"]],
      [[], ["/policies", "/policies"]],
      [[b, a, b], ["/policies/2"]],
      [[b, a, other], ["/policies/2"]],
      [[foreign, b, a], ["/policies/0"]],
    ];
    for (const [ids, pointers] of cases) {
      expect(await reorder("PRIVATE", ids)).toMatchObject({
        status: 422,
        body: { code: "incomplete_order", errors: pointers.map((pointer) => ({ pointer })) },
      });
    }
    expect(await namesOf("PRIVATE")).toEqual(["A", "B"]);
  });
});

describe("the order", () => {
  test("is 1 to n with the default policy last, whatever happens side by side", async () => {
    const type = "INTERNET";
    const old = await makePolicies(type, ...Array.from({ length: 8 }, (_, index) => `Old ${index}`));
    const create = (name: string) => client.post(policies, { name, type, action: true });
    for (let round = 0; round < 3; round += 1) {
      const present = (await placed(type)).filter(({ isDefault }) => !isDefault).map(({ id }) => id);
      const [first = "", second = ""] = old.splice(0, 2);
      const [edited, deactivated] = old;
      const calls: Promise<TestReply>[] = [];
      for (let index = 0; index < 4; index += 1) {
        calls.push(create(`Round ${round}, ${index}`));
        calls.push(reorder(type, present.toReversed()));
        calls.push(reorder(type, [...present.slice(index), ...present.slice(0, index)]));
        calls.push(create("Taken by whoever is first"));
      }
      calls.push(...[first, second, first, second].map((id) => client.delete(`${policies}/${id}`)));
      calls.push(client.patch(`${policies}/${edited}`, { description: `Round ${round}` }));
      calls.push(client.patch(`${policies}/${deactivated}/deactivate`));
      const statuses = (await Promise.all(calls)).map(({ status }) => status);
      for (const status of statuses) expect([200, 201, 204, 404, 409, 422]).toContain(status);
      expect(statuses.filter((status) => status === 404)).toHaveLength(2);

      const now = await placed(type);
      expect(now.map(({ order }) => order)).toEqual(now.map((_, index) => index + 1));
      expect(now.findIndex(({ isDefault }) => isDefault)).toBe(now.length - 1);
      expect(now).toHaveLength(8 + 1 + 1 + (round + 1) * (4 - 2));
    }
  });

  test("of a type without policies begins at 1, even if the first policies are created concurrently", async () => {
    const names = Array.from({ length: 20 }, (_, index) => `First ${index}`);
    const made = await Promise.all(names.map((name) => client.post(policies, { name, type: "SAAS", action: true })));
    expect(made.map(({ status }) => status)).toEqual(names.map(() => 201));
    const orders = made.map(({ body }) => body.order).sort((a, b) => a - b);
    expect(orders).toEqual(names.map((_, index) => index + 1));
  });
});
