/** After any sequence of operations, the order of policies equals that of a plain list. */
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { sharedTestServer, type TestClient, type TestReply, type TestServer } from "../../testing/test-server.ts";

const policies = "/tenants/policies";
const types = ["INTERNET", "PRIVATE"] as const;
type PolicyType = (typeof types)[number];

let server: TestServer;

beforeAll(async () => {
  server = await sharedTestServer();
});

/** A policy in the reference list. */
interface Expected {
  readonly id: string;
  name: string;
  active: boolean;
}

/** The policy of a step, as a fraction of the current list. */
const place = fc.double({ min: 0, max: 0.999, noNaN: true });
const type = fc.constantFrom<PolicyType>(...types);

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("create" as const), type }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("delete" as const), type, place }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("toggle" as const), type, place }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("rename" as const), type, place }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("reorder" as const),
      type,
      keys: fc.array(fc.nat(1000), { minLength: 40, maxLength: 40 }),
      withDefault: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("reorder wrongly" as const),
      type,
      fault: fc.constantFrom("leaves one out", "repeats one", "names another type's", "puts the default first"),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** The expected state of the server: a list for each type, without the default policy. */
class Model {
  readonly lists: Record<PolicyType, Expected[]> = { INTERNET: [], PRIVATE: [] };
  readonly #client: TestClient;
  readonly #defaultId: string;
  #made = 0;

  constructor(client: TestClient, defaultId: string) {
    this.#client = client;
    this.#defaultId = defaultId;
  }

  async take(taken: Step): Promise<void> {
    const list = this.lists[taken.type];
    if (taken.do === "create") {
      this.#made += 1;
      const name = `Policy ${this.#made}`;
      const { id } = (await this.#expect(201, this.#client.post(policies, { name, type: taken.type, action: true })))
        .body;
      list.push({ id, name, active: true });
      return;
    }
    if (taken.do === "reorder") {
      const sorted = list.map((policy, index) => ({ policy, key: taken.keys[index % 40] ?? 0 }));
      sorted.sort((a, b) => a.key - b.key);
      const wanted = sorted.map(({ policy }) => policy);
      const last = taken.type === "INTERNET" && taken.withDefault ? [this.#defaultId] : [];
      await this.#expect(204, this.#reorder(taken.type, [...wanted.map(({ id }) => id), ...last]));
      this.lists[taken.type] = wanted;
      return;
    }
    if (taken.do === "reorder wrongly") {
      const ids = this.#faulty(taken.type, taken.fault);
      if (ids !== undefined) await this.#expect(422, this.#reorder(taken.type, ids));
      return;
    }
    const policy = list[Math.floor(taken.place * list.length)];
    if (policy === undefined) return;
    await this.#change(taken.do, policy);
    if (taken.do === "delete") list.splice(list.indexOf(policy), 1);
  }

  async #change(what: "delete" | "toggle" | "rename", policy: Expected): Promise<void> {
    const path = `${policies}/${policy.id}`;
    if (what === "delete") {
      await this.#expect(204, this.#client.delete(path));
    } else if (what === "rename") {
      policy.name = `${policy.name}, renamed`.slice(0, 100);
      await this.#expect(200, this.#client.patch(path, { name: policy.name }));
    } else if (policy.active) {
      policy.active = false;
      await this.#expect(200, this.#client.patch(`${path}/deactivate`));
    } else {
      policy.active = true;
      await this.#expect(201, this.#client.post(`${path}/reactivate`));
    }
  }

  #faulty(of: PolicyType, fault: string): string[] | undefined {
    const ids = this.lists[of].map(({ id }) => id);
    const [first] = ids;
    if (fault === "puts the default first")
      return of === "INTERNET" && first !== undefined ? [this.#defaultId, ...ids] : undefined;
    if (fault === "names another type's") {
      const other = this.lists[of === "INTERNET" ? "PRIVATE" : "INTERNET"][0];
      return other === undefined ? undefined : [...ids, other.id];
    }
    if (first === undefined) return undefined;
    return fault === "repeats one" ? [...ids, first] : ids.slice(1);
  }

  #reorder(of: PolicyType, ids: readonly string[]): Promise<TestReply> {
    return this.#client.post(`${policies}/reorder`, { type: of, policies: ids });
  }

  async #expect(status: number, sent: Promise<TestReply>): Promise<TestReply> {
    const reply = await sent;
    expect(reply.status, reply.text).toBe(status);
    return reply;
  }
}

async function shown(client: TestClient, of: PolicyType) {
  const { body } = await client.get(`${policies}?filter[type]=${of}&sort=order&limit=100`);
  return body.data.map(({ id, name, order, active, isDefault }: Record<string, unknown>) => ({
    id,
    name,
    order,
    active,
    isDefault,
  }));
}

test("orders are 1 to n without gaps, the default policy last, after any sequence of changes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      const { client } = await server.newTenant();
      const [standard] = await shown(client, "INTERNET");
      const model = new Model(client, standard.id);
      for (const taken of steps) {
        await model.take(taken);
        const wanted = model.lists[taken.type].map((policy, index) => ({
          ...policy,
          order: index + 1,
          isDefault: false,
        }));
        const last = taken.type === "INTERNET" ? [{ ...standard, order: wanted.length + 1 }] : [];
        expect(await shown(client, taken.type)).toEqual([...wanted, ...last]);
      }
    }),
    { numRuns: 40 },
  );
});
