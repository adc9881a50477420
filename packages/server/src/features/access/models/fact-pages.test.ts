import { finish } from "@gatehouse/policy/work";
import { beforeAll, expect, test } from "vitest";
import { systemClock } from "../../../platform/clock.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { publicKey, unique, uniqueEmail } from "../../../testing/operations/test-records.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../../../testing/test-server.ts";
import { storeDeviceSession } from "../../devices/devices.api.ts";
import { readFactPages } from "./fact-pages.ts";
import { readAllFacts } from "./facts.queries.ts";
import { listingFacts } from "./model-facts.ts";
import { ModelStore } from "./model-store.ts";
import { deviceFormat, userFormat } from "./packed/packed-facts.ts";
import { PageLists } from "./packed/page-lists.ts";

let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
});

const read = <Result>(work: (tx: TenantTx) => Promise<Result>): Promise<Result> =>
  server.database.readThrough({ kind: "tenant", tenantId: tenant.id }, ({ query }) =>
    work({ tenantId: tenant.id, query }),
  );

const newDevice = async (userId: string): Promise<string> => {
  const device = { name: unique("Laptop"), userId, hardwareId: unique("Serial"), publicKey: publicKey() };
  return (await tenant.client.must.post("/tenants/devices", device)).body.id;
};

const signInOn = (deviceId: string) => {
  const at = new Date();
  const session = { authenticatedAt: at, methods: ["hwk", "user"], providerId: null, providerSession: null };
  return server.database.transaction({ kind: "tenant", tenantId: tenant.id }, ({ query }) =>
    storeDeviceSession({ tenantId: tenant.id, query }, deviceId, session, at),
  );
};

const newResources = async (name: string): Promise<void> => {
  const { must } = tenant.client;
  const gateways: string[] = [];
  for (let index = 0; index < 2; index += 1) {
    const gateway = { name: unique("Gateway"), wireguardPort: "51820" };
    gateways.push((await must.post("/tenants/gateways", gateway)).body.id);
  }
  const networkProtocols = [{ protocol: "TCP", port: "20-25" }, { protocol: "UDP" }, { protocol: "ICMP" }];
  const protocol = (await must.post("/tenants/protocols", { name: unique("Protocol"), networkProtocols })).body.id;
  for (const type of ["PRIVATE", "SAAS", "INTERNET"]) {
    const host = `${type.toLowerCase()}.example.com`;
    const addresses = [
      { address: host, protocols: [protocol], ...(type === "PRIVATE" ? { answersWithin: ["10.9.0.0/16"] } : {}) },
      { address: `other.${host}`, protocols: [] },
    ];
    const resource = { name: unique(name), type, addresses: type === "INTERNET" ? [] : addresses };
    const { id } = (await must.post("/tenants/resources", resource)).body;
    if (type !== "PRIVATE") continue;
    const balancing = { loadBalancingMode: "AUTOMATIC", gateways: gateways.toReversed() };
    await must.post(`/tenants/resources/${id}/loadBalancing`, balancing);
  }
};

/** Compares texts, because facts are compared as texts: the order of keys matters. */
async function expectSameFacts(): Promise<void> {
  const { facts } = await read(readAllFacts);
  for (const pageSize of [1, 2, undefined]) {
    const { facts: paged } = await read((tx) => readFactPages(tx, { perform: async (work) => finish(work), pageSize }));
    const sorted = <Facts extends { readonly id: string }>(records: readonly Facts[]) =>
      records.toSorted((one, other) => (one.id < other.id ? -1 : 1)).map((record) => JSON.stringify(record));
    const users = [...paged.users].map(([, user]) => user);
    const devices = [...paged.devices].map(([, device]) => device);
    const resources = [...paged.resources].map(([, resource]) => resource);
    expect(users.map((user) => JSON.stringify(user.facts))).toEqual(sorted(facts.users));
    expect(resources.map((resource) => JSON.stringify(resource.facts))).toEqual(sorted(facts.resources));
    expect(devices.map((device) => JSON.stringify(device.facts))).toEqual(sorted(facts.devices));
    for (const kind of ["groups", "gateways", "rules"] as const) {
      expect(sorted(paged.others[kind])).toEqual(sorted<{ readonly id: string }>(facts[kind]));
    }
    expect(paged.others.policies).toEqual(facts.policies);
    // Indexes read groups and owners without decoding the rows.
    const linked = (links: Iterable<readonly [string, readonly string[]]>) =>
      [...links].map(([id, ids]) => [id, [...ids].sort()]);
    expect(linked(paged.users.links())).toEqual(users.map(({ facts: { id, groups } }) => [id, groups]));
    expect(linked(paged.devices.links())).toEqual(
      devices.map(({ facts: { id, userId } }) => [id, userId === null ? [] : [userId]]),
    );
    const [userRows, deviceRows, lists] = [userFormat(), deviceFormat(), new PageLists()];
    expect(users.map((user) => userRows.decode(userRows.encode(user, lists), 1, lists).facts)).toEqual(
      users.map((user) => user.facts),
    );
    expect(devices.map((device) => deviceRows.decode(deviceRows.encode(device, lists), 1, lists).facts)).toEqual(
      devices.map((device) => device.facts),
    );
  }
}

test("packed users, devices and resources have the facts of the database", async () => {
  const groups: string[] = [];
  for (let index = 0; index < 4; index += 1) {
    groups.push((await tenant.client.must.post("/tenants/groups", { name: unique("Group") })).body.id);
  }
  const odd = `"Quote" \\ back\u2028slash, Zoë 🙂`;
  const owners: string[] = [];
  for (const [index, firstName] of ["Ann", odd, "", "ß"].entries()) {
    const user = {
      email: uniqueEmail(),
      groups: groups.slice(index).toReversed(),
      attributes: index === 1 ? { [odd]: odd, level: 1.5e-7, big: 12_345_678_901, admin: true } : {},
    };
    const { id } = (await tenant.client.must.post("/tenants/users", user)).body;
    await tenant.client.must.put(`/tenants/users/${id}`, { firstName });
    owners.push(id);
  }
  const devices: string[] = [];
  for (const owner of owners) devices.push(await newDevice(owner));
  await tenant.client.must.put(`/tenants/devices/${devices[1]}/posture`, { diskEncrypted: true, note: odd });
  await tenant.client.must.put(`/tenants/devices/${devices[2]}/tags`, { tags: ["tag:b", "tag:a"] });
  await tenant.client.must.patch(`/tenants/devices/${devices[2]}/deactivate`);
  await newResources(`"Quote" \\ back, Zoë 🙂`);
  await expectSameFacts();
  // Sessions, their limits by group, and the limit of the tenant.
  await signInOn(devices[0] ?? "");
  await expectSameFacts();
  await tenant.client.must.put(`/tenants/groups/${groups[3]}`, { deviceSessionLifetime: 3_600 });
  await expectSameFacts();
  await tenant.client.must.put("/tenants/settings", { deviceSessionLifetime: 28_800 });
  await tenant.client.must.delete(`/tenants/users/${owners[3]}`);
  await expectSameFacts();
});

test("finds packed users by address, before and after changes", async () => {
  const { database, runner } = server;
  const store = new ModelStore({
    database,
    generations: runner.generations,
    clock: systemClock,
    evaluator: runner.evaluator,
  });
  const [one, other] = [uniqueEmail(), uniqueEmail()];
  const newUser = async (email: string): Promise<string> =>
    (await tenant.client.must.post("/tenants/users", { email })).body.id;
  const [first, second] = [await newUser(one), await newUser(other)];
  const find = async (email: string) => (await store.current(tenant.id)).userIdOf(email);
  expect([await find(one.toUpperCase()), await find(other), await find("nobody@example.com")]).toEqual([
    first,
    second,
    undefined,
  ]);
  const loaded = await store.current(tenant.id);
  expect(finish(listingFacts(loaded.model)).users.map(({ id }) => id)).toContain(first);
  await tenant.client.must.delete(`/tenants/users/${first}`);
  expect(await find(one)).toBeUndefined();
  const next = await newUser(one);
  expect([await find(one), await find(other)]).toEqual([next, second]);
  expect(store.loads.whole).toBe(1);
});
