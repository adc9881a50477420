/** Makes random changes through the API to all records that decisions depend on. */
import fc from "fast-check";
import { reportStatus } from "./network-rows.queries.ts";
import { publicKey, unique, uniqueEmail } from "./operations/test-records.ts";
import type { TestClient, TestServer, TestTenant } from "./test-server.ts";

const addresses = ["git.example.com", "db.example.com", "*.example.com", "10.0.0.0/24", "10.0.0.7"];
export const askedAddresses = [
  "git.example.com",
  "db.example.com",
  "x.example.com",
  "10.0.0.7",
  "10.0.0.8",
  "192.0.2.1",
];

export const administeredKinds = [
  "user",
  "group",
  "device",
  "gateway",
  "resource",
  "rule",
  "policy",
  "protocol",
] as const;
type Kind = (typeof administeredKinds)[number];

/** A number that selects one of any number of items. */
const pick = fc.nat(1_000);
export const administratorStep = fc.record({
  do: fc.constantFrom(
    ...(["create", "create", "create", "delete"] as const),
    ...(["rename", "join", "leave", "toggle user", "toggle device", "attributes", "posture"] as const),
    ...(["add address", "change address", "remove address", "connect", "disconnect", "maintenance"] as const),
    ...(["change policy", "change policy", "toggle policy", "reorder", "change rule", "report"] as const),
  ),
  kind: fc.constantFrom<Kind>(...administeredKinds, "policy", "resource", "user"),
  a: pick,
  b: pick,
  c: pick,
});
type Step = typeof administratorStep extends fc.Arbitrary<infer S> ? S : never;

const policyTypes = ["PRIVATE", "SAAS", "INTERNET", "SITETOSITE"] as const;
const rules = ["user.department == 'Engineering'", "device.posture.diskEncrypted == true", "user.groups.size() > 1"];

/** Changes a tenant through the API; rejected requests change nothing. */
export class Administrator {
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
  /** Ids of all records, including deleted ones. */
  readonly seen = new Set<string>();
  readonly #server: TestServer;
  readonly #tenant: TestTenant;
  readonly #client: TestClient;

  /** @param client of any replica */
  constructor(server: TestServer, tenant: TestTenant, client = tenant.client) {
    this.#server = server;
    this.#tenant = tenant;
    this.#client = client;
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
    if (kind === "gateway") await reportStatus(this.#server, this.#tenant.id, reply.body.id, "ONLINE");
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
        await client.post("/tenants/policies/reorder", {
          type,
          policies: b % 2 === 0 ? ids.reverse() : ids.sort(),
        });
        return;
      }
      case "change rule":
        await client.put(`/tenants/admission-rules/${this.#one("rule", a)}`, { rule: rules[b % 3] });
        return;
      // Raises the generation without an outbox entry, so that everything is read again.
      case "report":
        if (c % 4 === 0) await reportStatus(this.#server, this.#tenant.id, gateway, b % 2 === 0 ? "ONLINE" : "OFFLINE");
    }
  }
}
