import { decide } from "@gatehouse/policy/decisions/decide";
import type { Destination, Subject } from "@gatehouse/policy/decisions/request";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../platform/clock.ts";
import type { TenantModel } from "../../platform/tenancy/tenant-models.ts";
import { reportStatus } from "../../testing/network-rows.queries.ts";
import { publicKey, unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { startTestServer, type TestClient, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { ModelStore } from "./model-store.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

function newStore(clock = systemClock): ModelStore {
  return new ModelStore({ database: server.database, generations: server.runner.generations, clock });
}

const addresses = ["git.example.com", "db.example.com", "*.example.com", "10.0.0.0/24", "10.0.0.7"];
const askedAddresses = ["git.example.com", "db.example.com", "x.example.com", "10.0.0.7", "10.0.0.8", "192.0.2.1"];

/** Whatever may be asked of a tenant, and what is decided. */
function allDecisions({ model }: TenantModel, ids: ReadonlySet<string>): ReadonlyMap<string, unknown> {
  const subjects: Subject[] = [...ids].flatMap((id): Subject[] => [
    { kind: "user", userId: id },
    { kind: "device", deviceId: id },
    { kind: "site", gatewayId: id },
  ]);
  const destinations: Destination[] = [
    ...[...ids].map((resourceId): Destination => ({ kind: "resource", resourceId })),
    ...askedAddresses.flatMap((address): Destination[] => [
      { kind: "address", address },
      { kind: "address", address, protocol: "TCP", port: 22 },
      { kind: "address", address, protocol: "TCP", port: 443 },
    ]),
  ];
  const decisions = new Map<string, unknown>();
  for (const subject of subjects) {
    for (const destination of destinations) {
      const request = { subject, destination, sourceIp: "192.0.2.7", now: Date.UTC(2026, 2, 4, 10) };
      decisions.set(JSON.stringify({ subject, destination }), decide(model, request));
    }
  }
  return decisions;
}

const kinds = ["user", "group", "device", "gateway", "resource", "rule", "policy", "protocol"] as const;
type Kind = (typeof kinds)[number];

/** A number that stands for one of however many there are. */
const pick = fc.nat(1_000);
const step = fc.record({
  do: fc.constantFrom(
    ...(["create", "create", "create", "delete"] as const),
    ...(["rename", "join", "leave", "toggle user", "toggle device", "attributes", "posture"] as const),
    ...(["add address", "change address", "remove address", "connect", "disconnect", "maintenance"] as const),
    ...(["change policy", "change policy", "toggle policy", "reorder", "change rule", "report"] as const),
  ),
  kind: fc.constantFrom<Kind>(...kinds, "policy", "resource", "user"),
  a: pick,
  b: pick,
  c: pick,
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const policyTypes = ["PRIVATE", "SAAS", "INTERNET", "SITETOSITE"] as const;
const rules = ["user.department == 'Engineering'", "device.posture.diskEncrypted == true", "user.groups.size() > 1"];

/** Changes a tenant through the API; what is refused changes nothing. */
class Administrator {
  readonly ids: Record<Kind, string[]> = {
    user: [],
    group: [],
    device: [],
    gateway: [],
    resource: [],
    rule: [],
    policy: [],
    protocol: [],
  };
  /** Also of what is gone. */
  readonly seen = new Set<string>();
  readonly #tenant: TestTenant;
  readonly #client: TestClient;

  constructor(tenant: TestTenant) {
    this.#tenant = tenant;
    this.#client = tenant.client;
  }

  #one(kind: Kind, number: number): string {
    const list = this.ids[kind];
    return list[number % Math.max(1, list.length)] ?? "00000000-0000-0000-0000-000000000000";
  }

  #some(kind: Kind, ...numbers: number[]): string[] {
    return this.ids[kind].length === 0 ? [] : [...new Set(numbers.map((number) => this.#one(kind, number)))];
  }

  #policy({ a, b, c }: Step): object {
    return {
      groups: a % 3 === 0 ? this.#some("group", a, b) : [],
      users: a % 3 === 1 ? this.#some("user", a, b) : [],
      devices: b % 3 === 0 ? this.#some("device", b) : [],
      allUsers: c % 4 === 0,
      resources: this.#some("resource", b, c),
      allResources: b % 4 === 0,
      ...(c % 3 === 0 ? { gateways: this.#some("gateway", c) } : {}),
      ...(a % 5 === 0 ? { sourceIps: ["192.0.2.0/24"] } : {}),
    };
  }

  async #create(given: Step): Promise<void> {
    const { kind, a, b, c } = given;
    const name = unique(kind);
    const type = policyTypes[a % 4] as string; // in bounds
    const made: Record<Kind, readonly [path: string, body: object]> = {
      user: ["users", { email: uniqueEmail(), groups: this.#some("group", a, b) }],
      group: ["groups", { name }],
      device: ["devices", { name, userId: this.#one("user", a), hardwareId: "S", publicKey: publicKey() }],
      gateway: ["gateways", { name, wireguardPort: "51820" }],
      protocol: ["protocols", { name, networkProtocols: [{ protocol: "TCP", port: a % 2 === 0 ? "22" : "443" }] }],
      resource: [
        "resources",
        {
          name,
          type: policyTypes[a % 3],
          addresses: [{ address: addresses[b % (a % 3 === 0 ? 3 : 5)], protocols: this.#some("protocol", a, c) }],
        },
      ],
      rule: ["admission-rules", { name, rule: rules[a % 3], hasTimeConstraint: false }],
      policy: [
        "policies",
        {
          name,
          type,
          action: b % 4 !== 0,
          ...this.#policy(given),
          ...(b % 4 !== 0 && c % 2 === 0 ? { rule: this.#some("rule", c)[0] } : {}),
          ...(type === "INTERNET" && b % 4 !== 0 ? { mode: ["LOCAL", "RESTRICTED", "REMOTE"][c % 3] } : {}),
        },
      ],
    };
    const [path, body] = made[kind];
    const reply = await this.#client.post(`/tenants/${path}`, body);
    if (reply.status !== 201) return;
    this.ids[kind].push(reply.body.id);
    this.seen.add(reply.body.id);
    if (kind === "gateway") await reportStatus(server, this.#tenant.id, reply.body.id, "ONLINE");
  }

  async do(given: Step): Promise<void> {
    const { do: what, kind, a, b, c } = given;
    const client = this.#client;
    const [user, device, gateway] = [this.#one("user", a), this.#one("device", a), this.#one("gateway", b)];
    const [resource, policy] = [this.#one("resource", a), this.#one("policy", a)];
    const paths = { rule: "admission-rules", policy: "policies" } as Partial<Record<Kind, string>>;
    const path = `/tenants/${paths[kind] ?? `${kind}s`}/${this.#one(kind, a)}`;
    switch (what) {
      case "create":
        return this.#create(given);
      case "delete":
        if ((await client.delete(path)).status === 204) {
          this.ids[kind] = this.ids[kind].filter((id) => !path.endsWith(id));
        }
        return;
      case "rename":
        if (kind === "policy" || kind === "resource") await client.patch(path, { name: unique("Renamed") });
        else if (kind === "group" || kind === "rule" || kind === "gateway") {
          await client.put(path, { name: unique("Renamed") });
        }
        return;
      case "join":
        await client.post(`/tenants/users/${user}/groups`, { groupId: this.#one("group", b) });
        return;
      case "leave":
        await client.delete(`/tenants/users/${user}/groups/${this.#one("group", b)}`);
        return;
      case "toggle user":
        if (b % 2 === 0) await client.patch(`/tenants/users/${user}/deactivate`);
        else await client.post(`/tenants/users/${user}/reactivate`);
        return;
      case "toggle device":
        if (b % 2 === 0) await client.patch(`/tenants/devices/${device}/deactivate`);
        else await client.post(`/tenants/devices/${device}/reactivate`);
        return;
      case "attributes":
        await client.patch(`/tenants/users/${user}`, {
          attributes: { department: b % 2 === 0 ? "Engineering" : "Sales" },
        });
        return;
      case "posture":
        await client.put(`/tenants/devices/${device}/posture`, { diskEncrypted: b % 2 === 0 });
        return;
      case "add address":
        await client.post(`/tenants/resources/${resource}/addresses`, {
          address: addresses[b % 5],
          protocols: this.#some("protocol", c),
        });
        return;
      case "change address":
      case "remove address": {
        const { body } = await client.get(`/tenants/resources/${resource}`);
        const address = body?.addresses?.[b % Math.max(1, body.addresses.length)];
        if (address === undefined) return;
        const at = `/tenants/addresses/${address.id}`;
        if (what === "change address") {
          await client.put(at, { address: addresses[c % 5], protocols: this.#some("protocol", a, b) });
        } else await client.delete(c % 2 === 0 ? at : `/tenants/resources/${resource}/addresses/${address.id}`);
        return;
      }
      case "connect":
        await client.put(`/tenants/resources/${resource}/gateways/${gateway}`);
        return;
      case "disconnect":
        await client.delete(`/tenants/resources/${resource}/gateways/${gateway}`);
        return;
      case "maintenance":
        await client.post(`/tenants/gateways/${gateway}/${c % 2 === 0 ? "enter" : "exit"}-maintenance`);
        return;
      case "change policy":
        await client.patch(`/tenants/policies/${policy}`, this.#policy(given));
        return;
      case "toggle policy":
        if (b % 2 === 0) await client.patch(`/tenants/policies/${policy}/deactivate`);
        else await client.post(`/tenants/policies/${policy}/reactivate`);
        return;
      case "reorder": {
        const type = policyTypes[a % 4];
        const { body } = await client.get(`/tenants/policies?filter[type]=${type}&sort=order&limit=100`);
        const own = body.data.filter(({ isDefault }: { isDefault?: boolean }) => isDefault !== true);
        const ids: string[] = own.map(({ id }: { id: string }) => id);
        await client.post("/tenants/policies/reorder", { type, policies: b % 2 === 0 ? ids.reverse() : ids.sort() });
        return;
      }
      case "change rule":
        await client.put(`/tenants/admission-rules/${this.#one("rule", a)}`, { rule: rules[b % 3] });
        return;
      // Raises the generation without news: then everything is read anew.
      case "report":
        if (c % 4 === 0) await reportStatus(server, this.#tenant.id, gateway, b % 2 === 0 ? "ONLINE" : "OFFLINE");
    }
  }
}

test("after any commands, a model that was kept current decides as one that is loaded anew", async () => {
  const loads = { whole: 0, changes: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 12, maxLength: 20, size: "max" }),
      async (batches) => {
        const tenant = await server.newTenant();
        const administrator = new Administrator(tenant);
        // Something to begin with.
        for (const kind of [...kinds, ...kinds]) {
          await administrator.do({ do: "create", kind, a: administrator.seen.size, b: 3, c: 2 });
        }
        const store = newStore();
        for (const batch of batches) {
          await store.current(tenant.id);
          for (const each of batch) await administrator.do(each);
          const kept = await store.current(tenant.id);
          const anew = await newStore().current(tenant.id);
          expect(kept.generation).toBe(anew.generation);
          expect(allDecisions(kept, administrator.seen)).toEqual(allDecisions(anew, administrator.seen));
          for (const { facts } of anew.model.users.values()) {
            expect(kept.userIdOf(facts.email.toUpperCase())).toBe(facts.id);
          }
          for (const { facts } of anew.model.resources.values()) expect(kept.resourceIdOf(facts.name)).toBe(facts.id);
        }
        loads.whole += store.loads.whole;
        loads.changes += store.loads.changes;
      },
    ),
    // Shrinking would take longer than to look at the commands.
    { numRuns: 5, endOnFailure: true },
  );
  // The property would say little of models that are never updated.
  expect(loads.changes).toBeGreaterThan(loads.whole);
});

describe("a tenant's model", () => {
  let tenant: TestTenant;
  beforeAll(async () => {
    tenant = await server.newTenant();
  });
  const change = () => tenant.client.post("/tenants/groups", { name: unique("Group") });

  test("is loaded once for all who ask at the same time, and updated once", async () => {
    const store = newStore();
    await Promise.all(Array.from({ length: 20 }, () => store.current(tenant.id)));
    expect(store.loads).toEqual({ whole: 1, changes: 0 });
    await change();
    const models = await Promise.all(Array.from({ length: 20 }, () => store.current(tenant.id)));
    expect(store.loads).toEqual({ whole: 1, changes: 1 });
    expect(new Set(models).size).toBe(1);
  });

  test("follows what is done while it is asked for", async () => {
    const store = newStore();
    for (let round = 0; round < 5; round += 1) {
      const asking = Promise.all(Array.from({ length: 5 }, () => store.current(tenant.id)));
      const { body } = await change();
      const model = await store.current(tenant.id);
      expect(model.model.groups.get(body.id)).toBeDefined();
      await asking;
    }
  });

  test("finds records under their new names, even where names change hands", async () => {
    const store = newStore();
    const make = async (name: string): Promise<string> =>
      (await tenant.client.post("/tenants/resources", { name, type: "SAAS", addresses: [] })).body.id;
    const [one, other] = [await make("One"), await make("Other")];
    await store.current(tenant.id);
    const rename = (id: string, name: string) => tenant.client.patch(`/tenants/resources/${id}`, { name });
    await rename(one, "Aside");
    await rename(other, "One");
    await rename(one, "Other");
    const model = await store.current(tenant.id);
    expect([model.resourceIdOf("One"), model.resourceIdOf("Other"), model.resourceIdOf("Aside")]).toEqual([
      other,
      one,
      undefined,
    ]);
    expect(store.loads).toEqual({ whole: 1, changes: 1 });
  });

  test("has policies in their new order", async () => {
    const store = newStore();
    const ids: string[] = [];
    for (const action of [true, false, true]) {
      const policy = { name: unique("Policy"), type: "SITETOSITE", action, allResources: true };
      ids.push((await tenant.client.post("/tenants/policies", policy)).body.id);
    }
    await store.current(tenant.id);
    const order = async () =>
      (await store.current(tenant.id)).model.policies.SITETOSITE.policies.map(({ facts }) => facts.id);
    for (const policies of [[...ids].reverse(), [ids[1], ids[0], ids[2]], ids]) {
      await tenant.client.post("/tenants/policies/reorder", { type: "SITETOSITE", policies });
      expect(await order()).toEqual(policies);
    }
    expect(store.loads).toEqual({ whole: 1, changes: 3 });
  });

  test("is dropped when nobody asks for it, when news was missed, and when its tenant is deleted", async () => {
    const clock = new TestClock();
    const store = newStore(clock);
    const other = await server.newTenant();
    await store.current(tenant.id);
    clock.advance(9 * 60_000);
    await store.current(other.id);
    store.dropIdle();
    expect(store.tenants).toEqual([tenant.id, other.id]);
    clock.advance(2 * 60_000);
    store.dropIdle();
    expect(store.tenants).toEqual([other.id]);
    store.changed({
      tenantId: other.id,
      generation: 9,
      changes: [{ type: "tenant", id: other.id, change: "deleted" }],
    });
    expect(store.tenants).toEqual([]);
    await store.current(tenant.id);
    store.missed();
    expect(store.tenants).toEqual([]);
    await server.operator.delete(`/operator/tenants/${other.id}`);
    const gone = await store.current(other.id);
    expect(gone.model.users.size).toBe(0);
    expect(store.tenants).toEqual([]);
  });

  test("is read anew where a change left no news", async () => {
    const store = newStore();
    const { body } = await tenant.client.post("/tenants/gateways", { name: unique("Gateway"), wireguardPort: "51820" });
    await store.current(tenant.id);
    await reportStatus(server, tenant.id, body.id, "ONLINE");
    expect((await store.current(tenant.id)).model.gateways.get(body.id)?.status).toBe("ONLINE");
    expect(store.loads.whole).toBe(2);
  });
});
