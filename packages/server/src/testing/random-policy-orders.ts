/** Random commands that create, move and delete policies. Some of them are refused. */
import { expect } from "vitest";
import { configurationCalls } from "./example-configuration.ts";
import type { TestClient } from "./test-server.ts";

const path = "/tenants/policies";
const types = ["PRIVATE", "INTERNET"] as const;
type PolicyType = (typeof types)[number];

interface ListedPolicy {
  readonly id: string;
  readonly isDefault: boolean;
}

interface Request {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: object;
}

/** Numbers from which a step is made. */
export interface OrderDraw {
  readonly kind: number;
  readonly type: number;
  readonly keys: readonly number[];
}

/** One tenant, to which steps are applied. */
export class RandomPolicyOrders {
  readonly #client: TestClient;
  #names = 0;

  constructor(client: TestClient) {
    this.#client = client;
  }

  /** The ids of the policies of a type in their order, without the default policy. */
  async idsOf(type: PolicyType): Promise<readonly string[]> {
    const { body } = await this.#client.must.get(`${path}?filter[type]=${type}&sort=order&limit=100`);
    return body.data.filter(({ isDefault }: ListedPolicy) => !isDefault).map(({ id }: ListedPolicy) => id);
  }

  /** @returns whether the step was accepted */
  async take({ kind, type: typeIndex, keys }: OrderDraw): Promise<boolean> {
    const type = pick(types, typeIndex);
    const ids = await this.idsOf(type);
    const [first = 0] = keys;
    switch (kind) {
      case 0:
        return this.#send(this.#creation(type));
      case 1:
        return this.#send({ method: "POST", path: `${path}/reorder`, body: { type, policies: shuffled(ids, keys) } });
      case 2:
        return this.#send({ method: "DELETE", path: `${path}/${pick(ids, first)}` });
      case 3: {
        const body = { sourceIps: [`192.0.2.${first}`], description: `${first}` };
        return this.#send({ method: "PATCH", path: `${path}/${pick(ids, first)}`, body });
      }
      case 4:
        return this.#send({ method: "POST", path: "/tenants/changes", body: { changes: this.#set(type, ids, keys) } });
      case 5:
        return this.#apply(type, keys);
      default:
        return this.#revert(first, kind);
    }
  }

  #creation(type: PolicyType): Request {
    this.#names += 1;
    return { method: "POST", path, body: { name: `Policy ${this.#names}`, type, action: this.#names % 2 === 0 } };
  }

  /** A set that moves, deletes and creates policies of one type. */
  #set(type: PolicyType, ids: readonly string[], keys: readonly number[]): readonly Request[] {
    const gone = pick(ids, keys[1] ?? 0);
    const left = ids.filter((id) => id !== gone);
    const order = (policies: readonly string[]): Request => ({
      method: "POST",
      path: `${path}/reorder`,
      body: { type, policies },
    });
    const created = { ...this.#creation(type), as: "new" };
    const sets: readonly (readonly Request[])[] = [
      [created, this.#creation(type)],
      [created, order(shuffled([...ids, "@new"], keys))],
      [order(shuffled(ids, keys)), { method: "DELETE", path: `${path}/${gone}` }, created],
      [{ method: "DELETE", path: `${path}/${gone}` }, order(shuffled(left, keys)), this.#creation(pick(types, 1))],
      [order(shuffled(ids, keys)), order(ids.toReversed())],
    ];
    return pick(sets, keys[0] ?? 0);
  }

  /** A document with the policies of a type in another order, fewer old ones and more new ones. */
  async #apply(type: PolicyType, keys: readonly number[]): Promise<boolean> {
    const calls = configurationCalls(this.#client);
    const { policies } = await calls.exported();
    const kept = (policies?.[type] ?? []).filter((_: unknown, index: number) => (keys[index] ?? 0) % 4 > 0);
    const added = Array.from({ length: (keys[0] ?? 0) % 3 }, () => {
      this.#names += 1;
      return { name: `Policy ${this.#names}`, action: false };
    });
    const reply = await calls.apply({ policies: { [type]: shuffled([...kept, ...added], keys) } });
    expect(reply.status, reply.text).toBe(200);
    return true;
  }

  async #revert(index: number, kind: number): Promise<boolean> {
    const { body } = await this.#client.must.get("/tenants/events?filter[target.type]=policy&sort=-position&limit=10");
    const events: readonly { readonly id: string }[] = body.data;
    const event = pick(events, index);
    const scope = kind % 2 === 0 ? "?scope=request" : "";
    return this.#send({ method: "POST", path: `/tenants/events/${event?.id}/revert${scope}` });
  }

  async #send({ method, path: to, body }: Request): Promise<boolean> {
    const { status, text } = await this.#client.send(method, to, body);
    expect(status, text).toBeLessThan(500);
    return status < 300;
  }
}

function pick<T>(items: readonly T[], index: number): T {
  return items[index % items.length] as T; // undefined in an empty list, which the server refuses
}

function shuffled<T>(items: readonly T[], keys: readonly number[]): readonly T[] {
  const keyed = items.map((item, index) => ({ item, key: keys[index % keys.length] ?? 0 }));
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}
