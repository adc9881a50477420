import { finish } from "@gatehouse/policy/work";
import { beforeAll, expect, test } from "vitest";
import { systemClock } from "../../../platform/clock.ts";
import { unprepared } from "../../../platform/db/statement.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { listedFacts } from "../../../testing/listed-facts.ts";
import { publicKey, unique, uniqueEmail } from "../../../testing/operations/test-records.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../../../testing/test-server.ts";
import { storeDeviceSession } from "../../devices/devices.api.ts";
import { readFactPages } from "./fact-pages.ts";
import { readAllFacts, readChangedFacts } from "./facts.queries.ts";
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
  expect(listedFacts(loaded.model).users.map(({ id }) => id)).toContain(first);
  await tenant.client.must.delete(`/tenants/users/${first}`);
  expect(await find(one)).toBeUndefined();
  const next = await newUser(one);
  expect([await find(one), await find(other)]).toEqual([next, second]);
  expect(store.loads.whole).toBe(1);
});

/** Inserts resources with 100 addresses, each of which has 100 protocols: 10,000 references for each resource. */
async function insertLargeResources(tenantId: string, count: number): Promise<void> {
  const statements = [
    `INSERT INTO protocols (tenant_id, id, created_at, updated_at, name, type, network_protocols)
     SELECT $1, gen_random_uuid(), now(), now(), 'Large ' || number, 'CUSTOM',
       json_build_array(json_build_object('protocol', 'TCP', 'port', number::text))
     FROM generate_series(1, 100) AS number`,
    `INSERT INTO resources (tenant_id, id, created_at, updated_at, name, type)
     SELECT $1, gen_random_uuid(), now(), now(), 'Large ' || number, 'PRIVATE'
     FROM generate_series(1, ${count}) AS number`,
    `INSERT INTO addresses (tenant_id, id, created_at, updated_at, resource_id, address, is_ip)
     SELECT $1, gen_random_uuid(), now(), now(), id, 'host-' || number || '.example.com', false
     FROM resources CROSS JOIN generate_series(1, 100) AS number WHERE tenant_id = $1`,
    `INSERT INTO address_protocols (tenant_id, address_id, protocol_id, position)
     SELECT $1, address.id, protocol.id, row_number() OVER (PARTITION BY address.id ORDER BY protocol.id)
     FROM addresses AS address CROSS JOIN protocols AS protocol
     WHERE address.tenant_id = $1 AND protocol.tenant_id = $1 AND protocol.name LIKE 'Large %'`,
  ];
  await server.database.transaction({ kind: "tenant", tenantId }, async ({ query }) => {
    for (const text of statements) await query(unprepared<never, [tenantId: string]>(text), tenantId);
  });
}

test("a page of resources is limited by their addresses and protocols", async () => {
  const { id: tenantId } = await server.newTenant();
  await insertLargeResources(tenantId, 7);
  const rows: number[] = [];
  const counted = <Result>(work: (tx: TenantTx) => Promise<Result>) =>
    server.database.readThrough({ kind: "tenant", tenantId }, ({ query }) =>
      work({
        tenantId,
        query: async (asked, ...parameters) => {
          const found = await query(asked, ...parameters);
          if (asked.name?.endsWith("_resources") === true && !asked.name.includes("ports")) rows.push(found.length);
          return found;
        },
      }),
    );
  const paged = await counted((tx) => readFactPages(tx, { perform: async (work) => finish(work) }));
  expect(rows).toEqual([3, 3, 1]);
  const resources = [...paged.facts.resources].map(([, { facts }]) => facts);
  expect(resources).toHaveLength(7);
  expect(resources[6]?.addresses[99]?.protocols).toHaveLength(100);
  // One statement cannot read all resources after the deletion of an address, so a snapshot does not try.
  await server.database.transaction({ kind: "tenant", tenantId }, async ({ query }) => {
    const insert = `INSERT INTO outbox (tenant_id, generation, created_at, changes)
      SELECT $1, 1000000, now(), '[{"type": "address", "id": "00000000-0000-7000-8000-000000000000", "change": "deleted"}]'`;
    await query(unprepared<never, [tenantId: string]>(insert), tenantId);
  });
  const cut = await server.database.snapshot({ kind: "tenant", tenantId }, ({ query }) =>
    readChangedFacts({ tenantId, query }, 999_999, true),
  );
  expect([cut.isCut, cut.facts.resources.length]).toEqual([true, 0]);
  const changed = await counted((tx) => readChangedFacts(tx, 999_999));
  expect(changed.isCut).toBe(false);
  expect(changed.facts.resources).toEqual(resources);
});
