/** However a record is deleted, the audit record describes all records that remain. */
import { beforeAll, describe, expect, test } from "vitest";
import { compareLiveRecords } from "./compare-live-records.ts";
import { unprepared } from "./platform/db/statement.ts";
import { type DeletedReference, deletedReferences, isReferred } from "./testing/deleted-references.queries.ts";
import { configurationCalls } from "./testing/example-configuration.ts";
import { make } from "./testing/operations/test-records.ts";
import { type DeletableNoun, type ReferredRecord, referredRecord } from "./testing/referred-record.ts";
import { personClient, signInAs } from "./testing/signed-in-person.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "./testing/test-server.ts";

interface Deletable {
  /** The table of the records. */
  readonly table: string;
  /** The path of a record, without its id. */
  readonly path: string;
  /** The routes that can delete the record, besides its own operation. */
  readonly by: readonly ("set" | "revert" | "document" | "section" | "owner" | "resource")[];
}

const everywhere = ["set", "revert", "document", "section"] as const;
const deletable: Readonly<Record<DeletableNoun, Deletable>> = {
  user: { table: "users", path: "/tenants/users", by: everywhere },
  group: { table: "groups", path: "/tenants/groups", by: everywhere },
  device: { table: "devices", path: "/tenants/devices", by: ["set", "revert", "owner"] },
  gateway: { table: "gateways", path: "/tenants/gateways", by: everywhere },
  resource: { table: "resources", path: "/tenants/resources", by: everywhere },
  address: { table: "addresses", path: "/tenants/addresses", by: ["set", "document", "resource"] },
  protocol: { table: "protocols", path: "/tenants/protocols", by: everywhere },
  "admission-rule": { table: "admission_rules", path: "/tenants/admission-rules", by: everywhere },
  policy: { table: "policies", path: "/tenants/policies", by: everywhere },
  "access-test": { table: "access_tests", path: "/tenants/access-tests", by: ["set", "revert"] },
  webhook: { table: "webhooks", path: "/tenants/webhooks", by: ["set"] },
  "api-key": { table: "api_keys", path: "/tenants/api-keys", by: ["set"] },
  "enrolment-key": { table: "enrolment_keys", path: "/tenants/enrolment-keys", by: [] },
  "identity-provider": {
    table: "identity_providers",
    path: "/tenants/identity-providers",
    by: ["document", "section"],
  },
  domain: { table: "tenant_domains", path: "/tenants/domains", by: [] },
};

/** References that no test creates, with the reasons for which their loss needs no entry of its own. */
const observed = "Entries do not describe the connections of agents.";
const ofUser = "It goes with its user, and grants nothing without the user.";
const ofProvider = "It goes with its identity provider, and grants nothing without the provider.";
const unaudited: Readonly<Record<string, string>> = {
  "authorization_codes.session_id": "It is short-lived, and grants nothing without the session.",
  "device_gateway_sources.device_id": observed,
  "device_gateway_sources.gateway_id": observed,
  "device_links.device_id": observed,
  "device_links.gateway_id": observed,
  "external_identities.provider_id": ofProvider,
  "external_identities.user_id": ofUser,
  "gateway_links.gateway_id": observed,
  "group_roles.role_id": "Roles cannot be deleted.",
  "mails.link_id": "Entries do not describe mails.",
  "mails.user_id": "Entries do not describe mails.",
  "mapped_memberships.group_id": "It only marks a membership, whose end has an entry.",
  "mapped_memberships.provider_id": "It only marks a membership, which remains.",
  "recovery_codes.user_id": ofUser,
  "tunnel_addresses.tenant_id": "The network of a tenant is not deleted.",
  "user_roles.role_id": "Roles cannot be deleted.",
  "webhook_deliveries.webhook_id": "Entries do not describe deliveries.",
};

let server: TestServer;
let references: readonly DeletedReference[];
beforeAll(async () => {
  server = await sharedTestServer();
  references = await server.database.transaction({ kind: "operator" }, deletedReferences);
});

const keyOf = ({ table, column }: DeletedReference) => `${table}.${column}`;

/** The references to a record that should exist, but do not. */
function missing(tenant: TestTenant, { table }: Deletable, id: string): Promise<readonly string[]> {
  return server.database.transaction({ kind: "tenant", tenantId: tenant.id }, async (tx) => {
    const found: string[] = [];
    for (const reference of references) {
      if (reference.parent !== table || keyOf(reference) in unaudited) continue;
      if (!(await isReferred(tx, reference, id))) found.push(keyOf(reference));
    }
    return found;
  });
}

function differences({ id: tenantId }: TestTenant): Promise<readonly string[]> {
  return server.database.transaction({ kind: "tenant", tenantId }, ({ query }) =>
    compareLiveRecords({ tenantId, query }),
  );
}

/** The comparison accepts that a user's enrolment keys are gone with the user, because once they had no entries. */
async function expectDeletedKey({ client }: TestTenant, userId: string): Promise<void> {
  const { body } = await client.must.get("/tenants/events?filter[target.type]=enrolment-key&sort=-position&limit=1");
  const [{ before, after }] = body.data;
  expect({ user: before?.user.id, after }).toEqual({ user: userId, after: undefined });
}

/** A value without a name: neither a record with the name nor a reference to it. */
function without(value: unknown, name: string): unknown {
  if (Array.isArray(value)) {
    const isNamed = (item: unknown) =>
      item === name ||
      (typeof item === "object" &&
        item !== null &&
        Object.entries(item).some(([key, own]) => isKey(key) && own === name));
    return value.filter((item) => !isNamed(item)).map((item) => without(item, name));
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, own]) => [key, without(own, name)]));
}

const isKey = (field: string) => ["name", "email", "address"].includes(field);

type Delete = (tenant: TestTenant, path: string, record: ReferredRecord) => Promise<unknown>;

const routes: Readonly<Record<string, Delete>> = {
  single: ({ client }, path) => client.must.delete(path),
  set: ({ client }, path) => client.must.post("/tenants/changes", { changes: [{ method: "DELETE", path }] }),
  async revert({ client }, _path, { id }) {
    const { body } = await client.must.get(`/tenants/events?filter[target.id]=${id}&sort=position&limit=1`);
    await client.must.post(`/tenants/events/${body.data[0].id}/revert`);
  },
  async document({ client }, _path, { name }) {
    const calls = configurationCalls(client);
    await calls.applied(without(await calls.exported(), name) as object); // a document again
  },
  async section({ client }, path, { name }) {
    const calls = configurationCalls(client);
    const section = path.split("/")[2]?.replace(/-(.)/, (_all, letter: string) => letter.toUpperCase()) ?? "";
    const remaining = without(await calls.exported(), name) as Readonly<Record<string, object>>; // a document again
    await calls.applied({ [section]: remaining[section] });
  },
  async owner(tenant, path, { id }) {
    const { body } = await tenant.client.must.get(path);
    const browser = personClient(server, await signInAs(server, tenant.id, body.user.id));
    const { status, text } = await browser.delete(`/tenants/my/devices/${id}`);
    expect(status, text).toBe(204);
  },
  async resource({ client }, _path, { id }) {
    const { body } = await client.must.get("/tenants/resources");
    const resources: readonly { id: string; addresses: readonly { id: string }[] }[] = body.data ?? body;
    const owner = resources.find(({ addresses }) => addresses.some((address) => address.id === id));
    await client.must.delete(`/tenants/resources/${owner?.id}/addresses/${id}`);
  },
};

describe.each(Object.entries(deletable))("%s", (noun, kind) => {
  test.each(["single", ...kind.by])("by the route %s", async (route) => {
    const tenant = await server.newTenant();
    const record = await referredRecord(noun as DeletableNoun, server, tenant); // a key of the table
    expect(await missing(tenant, kind, record.id)).toEqual([]);
    expect(await differences(tenant)).toEqual([]);
    const path = `${kind.path}/${record.id}`;
    await routes[route]?.(tenant, path, record);
    const { status } = await tenant.client.get(path);
    expect(status).toBe(404);
    expect(await differences(tenant)).toEqual([]);
    if (noun === "user") await expectDeletedKey(tenant, record.id);
  });
});

test("an enrolment key can be gone without an entry only if its user is gone", async () => {
  const tenant = await server.newTenant();
  const { id, user } = await make("enrolment-key", tenant.client);
  await server.database.transaction({ kind: "tenant", tenantId: tenant.id }, ({ query }) =>
    query(unprepared<never, [id: string]>("DELETE FROM enrolment_keys WHERE id = $1"), id),
  );
  expect(await differences(tenant)).toEqual([`The enrolment key ${id} is gone, but no entry records its deletion.`]);
  await tenant.client.must.delete(`/tenants/users/${user.id}`);
  expect(await differences(tenant)).toEqual([]);
});

test("every reference is of a record that a test deletes, or has a reason", () => {
  const tables = new Set(Object.values(deletable).map(({ table }) => table));
  const known = references.filter((reference) => tables.has(reference.parent) || keyOf(reference) in unaudited);
  expect(references.filter((each) => !known.includes(each))).toEqual([]);
  const keys = new Set(references.map(keyOf));
  expect(Object.keys(unaudited).filter((key) => !keys.has(key))).toEqual([]);
});
