/**
 * Fills a tenant with records that are difficult for lists: equal except for case, tied, without values, or full of
 * wildcards.
 */
import { resourceTypes } from "@gatehouse/contract/records/address";
import { policyTypes } from "@gatehouse/contract/records/policy";
import { signInMethods } from "@gatehouse/contract/records/session";
import { expect } from "vitest";
import { insertSignInAttempt } from "../../features/sign-in/sign-in.api.ts";
import { newId } from "../../platform/ids.ts";
import { setLastConnection } from "../last-connection.queries.ts";
import { makeId, publicKey } from "../operations/test-records.ts";
import { signInAs } from "../signed-in-person.ts";
import type { TestReply, TestServer, TestTenant } from "../test-server.ts";

/**
 * Names that differ only in case, or that are special in LIKE, SQL, JSON, URLs, comma-separated lists or sort orders.
 */
const trickyNames = [
  ..."alpha|Alpha|ALPHA|alpha 1|alpha 10|alpha 2|alpha-1|alpha_1|alphaX1|Beta|beta|BETA|beta's|beta''s".split("|"),
  ...'beta"s|100%|100 %|%|%%|_|__|a_c|abc|a%c|a\\c|a\\\\c|\\|\\%|a,b|,|a, b|null|NULL|true|0|00|1e3'.split("|"),
  ..."-1|'; DROP TABLE resources; --|$1|$name|[eq]|filter[name]|a&b=c|a+b|a b|#?/|~|{}|[]|é|É|e\u0301".split("|"),
  ..."Zürich|zürich|ZÜRICH|Москва|москва|Ωmega|ωmega|日本|한국|🔒|🔓|\ufffd|\ue000|z|Z|ä".split("|"),
  "x".repeat(120),
  "X".repeat(119),
];

async function done(reply: Promise<TestReply>): Promise<TestReply["body"]> {
  const { status, body, text } = await reply;
  expect(status, text).toBeLessThan(300);
  return body;
}

/** Cycles through all subsets of a few ids. */
function subset(ids: readonly string[], number: number): string[] {
  return ids.slice(0, 5).filter((_, bit) => (number >> bit) % 2 === 1);
}

/** A range of the names, different for each kind of record. */
function namesFrom(start: number, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => trickyNames[(start + index * 3) % trickyNames.length] ?? "name");
}

export async function seedLists(server: TestServer, tenant: TestTenant): Promise<void> {
  const groups = await seedGroups(tenant);
  const users = await seedUsers(server, tenant, groups);
  const devices = await seedDevices(server, tenant, users);
  const resources = await seedResources(tenant);
  await seedSignIns(server, tenant, users);
  await seedPolicies(tenant, { groups, users, devices, resources });
  await seedAccessTests(tenant, { groups, users, devices, resources });
  // After the policies, so that they lose a user too. The user's devices remain, deactivated and without a user.
  for (const id of users.slice(0, 2)) await done(tenant.client.delete(`/tenants/users/${id}`));
}

async function seedGroups({ client }: TestTenant): Promise<string[]> {
  const roles = (await done(client.get("/tenants/roles")))
    .filter(({ type }: { type: string }) => type !== "OWNER")
    .map(({ id }: { id: string }) => id);
  const ids: string[] = [];
  for (const [index, name] of [...new Set(namesFrom(0, 22))].entries()) {
    const fields = { name, roles: subset(roles, index), isSamlDefaultGroup: index === 7, maxDevices: index % 4 };
    ids.push((await done(client.post("/tenants/groups", fields))).id);
  }
  return ids;
}

async function seedUsers(
  server: TestServer,
  { id: tenantId, client }: TestTenant,
  groups: string[],
): Promise<string[]> {
  const emails = Array.from({ length: 40 }, (_, index) => {
    const local = ["ann", "Ann.Lee", "BEN_", "b%n", "ΑΣ", "Zoë"][index % 6];
    return `${local}+${index % 7}${String.fromCharCode(97 + (index % 26))}@${index % 2 === 0 ? "example.com" : "Example.ORG"}`;
  });
  const invited = emails.map((email, index) => ({ email, groups: subset(groups, index) }));
  const ids: string[] = (await done(client.post("/tenants/users", invited))).map(({ id }: { id: string }) => id);
  const roles: string[] = (await done(client.get("/tenants/roles")))
    .filter(({ type }: { type: string }) => type !== "OWNER")
    .map(({ id }: { id: string }) => id);
  const firstNames = ["ann", "Ann", "ANN", "", "Ben", "ben", "Émile", "émile"];
  for (const [index, id] of ids.entries()) {
    const path = `/tenants/users/${id}`;
    const names = {
      firstName: firstNames[index % firstNames.length],
      lastName: index % 5 === 0 ? "" : `Lee ${index % 4}`,
    };
    await done(client.put(path, names));
    if (index % 3 === 0) await done(client.patch(`${path}/roles`, { addedRoles: subset(roles, index) }));
    if (index % 8 === 1) await done(client.patch(`${path}/deactivate`));
    // Some have the same time.
    const at = new Date(Date.UTC(2026, 0, 1 + (index % 6), 12, 0, 0, index % 2));
    if (index % 4 !== 2) await setLastConnection(server, tenantId, "users", id, at);
  }
  return ids;
}

/** Sessions and attempts, some at the same time, and some attempts without a user. */
async function seedSignIns(server: TestServer, { id: tenantId }: TestTenant, users: readonly string[]): Promise<void> {
  const now = Date.now();
  for (const [index, userId] of users.entries()) {
    const at = new Date(now - (index % 7) * 60_000);
    await signInAs(server, tenantId, userId, { now: at });
    const attempt = {
      id: newId(),
      userId: index % 6 === 0 ? null : userId,
      userName: index % 6 === 0 ? null : (["ann@example.com", "Ann@Example.com", "b%n@example.com"][index % 3] ?? ""),
      method: signInMethods[index % signInMethods.length] ?? "passkey",
      address: `192.0.2.${index % 4}`,
      userAgent: "Test",
      reason: index % 2 === 0 ? null : (["the link has expired", "THE LINK", "100%"][index % 3] ?? ""),
    };
    await server.database.transaction({ kind: "tenant", tenantId }, ({ query }) =>
      insertSignInAttempt({ tenantId, query }, attempt, at),
    );
  }
}

async function seedDevices(
  server: TestServer,
  { id: tenantId, client }: TestTenant,
  users: string[],
): Promise<string[]> {
  const ids: string[] = [];
  const owners = users.filter((_, index) => index % 8 !== 1);
  for (const [index, name] of namesFrom(1, 45).entries()) {
    const userId = owners[index % 18] ?? "";
    await done(client.patch(`/tenants/users/${userId}`, { maxDevices: 10 }));
    const hardwareId = ["hw", "HW", "Hw_1", "hw%1", "ÄB"][index % 5];
    const fields = { name, userId, hardwareId: `${hardwareId}${index % 4}`, publicKey: publicKey() };
    const { id } = await done(client.post("/tenants/devices", fields));
    const at = new Date(Date.UTC(2026, 0, 1 + (index % 5)));
    if (index % 3 !== 0) await setLastConnection(server, tenantId, "devices", id, at);
    ids.push(id);
  }
  return ids;
}

async function seedResources({ client }: TestTenant): Promise<string[]> {
  const make = (noun: "gateway" | "protocol") => Promise.all([1, 2, 3].map(() => makeId(noun, client)));
  const [gateways, protocols] = await Promise.all([make("gateway"), make("protocol")]);
  const ids: string[] = [];
  for (const [index, name] of trickyNames.entries()) {
    const used = subset(protocols, index >> 1);
    const addresses = used.map((id, address) => ({ address: `host-${address}`, protocols: [id] }));
    const type = resourceTypes[index % 3] ?? "PRIVATE";
    const { id } = await done(client.post("/tenants/resources", { name, type, addresses }));
    const connected = { loadBalancingMode: "MANUAL", gateways: subset(gateways, index) };
    await done(client.post(`/tenants/resources/${id}/loadBalancing`, connected));
    ids.push(id);
  }
  return ids;
}

type Named = Readonly<Record<"groups" | "users" | "devices" | "resources", string[]>>;

async function seedAccessTests(
  { client }: TestTenant,
  { groups, users, devices, resources }: Readonly<Record<"groups" | "users" | "devices" | "resources", string[]>>,
): Promise<void> {
  for (const [index, name] of [...new Set(namesFrom(2, 40))].entries()) {
    const subjects = [
      { type: "everyone" },
      { type: "group", id: groups[index % 3] },
      { type: "user", id: users[index % 5] },
      { type: "device", id: devices[index % 4] },
    ];
    const resource =
      index % 3 === 0
        ? { type: "address", id: ["git.example.com", "192.0.2.1", "2001:db8::1"][(index % 7) % 3] }
        : { type: "resource", id: resources[index % 6] };
    const expected = index % 2 === 0 ? "denied" : "allowed";
    const fields = { name, subject: subjects[index % 4], resource, expected };
    await done(client.post("/tenants/access-tests", fields));
  }
}

async function seedPolicies({ client }: TestTenant, named: Named): Promise<void> {
  const rules = [await makeId("admission-rule", client), await makeId("admission-rule", client)];
  for (const [index, name] of [...new Set(namesFrom(2, 22))].entries()) {
    const type = policyTypes[index % 3] ?? "PRIVATE";
    const action = index % 4 !== 0;
    const rule = action && index % 3 === 0 ? { rule: rules[index % 2] } : {};
    const { groups, users, devices, resources } = named;
    const lists = {
      groups: subset(groups, index),
      users: subset(users, index >> 1),
      devices: subset(devices, index >> 2),
      resources: subset(resources, index),
    };
    const { id } = await done(client.post("/tenants/policies", { name, type, action, ...rule, ...lists }));
    if (index % 5 === 0) await done(client.patch(`/tenants/policies/${id}/deactivate`));
  }
}
