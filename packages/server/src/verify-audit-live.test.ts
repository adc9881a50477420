/** Edits by a superuser, without audit entries. `audit verify --live` must find the changed records. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readConfig } from "./config.ts";
import { headsFileName } from "./platform/audit/signed-heads.ts";
import { createLog } from "./platform/log.ts";
import { BrowserPage, enrolmentLinkFor } from "./testing/browser-page.ts";
import { copyTenant } from "./testing/tenant-copy.queries.ts";
import { createDatabase, type TestDatabase } from "./testing/test-database.ts";
import { startTestServer, type TestServer, type TestTenant, testMasterKey } from "./testing/test-server.ts";
import { VirtualPasskey } from "./testing/virtual-passkey.ts";
import { type TenantReport, type VerifyAuditOptions, verifyRecords } from "./verify-audit.ts";

let folder: string;
let own: TestDatabase;
let owner: pg.Client;
let server: TestServer;
let tenant: TestTenant;
let keyId: string;
let webhookId: string;
let groupId: string;
let userId: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gatehouse-test-"));
  own = await createDatabase();
  owner = new pg.Client(own.connection);
  await owner.connect();
  const settings = {
    auditHeadsFile: path.join(folder, headsFileName),
    audit: { checkpointSeconds: 86_400, retentionDays: undefined },
  };
  server = await startTestServer({ connection: own.connection, settings });
  tenant = await server.newTenant();
  const client = tenant.client.must;
  const key = await client.post("/tenants/api-keys", { name: "Monitoring", permissions: ["users:read"] });
  await client.post(`/tenants/api-keys/${key.body.id}/rotate`);
  keyId = key.body.id;
  const webhook = await client.post("/tenants/webhooks", { url: "https://hooks.example.com/gatehouse" });
  webhookId = webhook.body.id;
  await client.post(`/tenants/webhooks/${webhookId}/rotate-secret`);
  groupId = (await client.post("/tenants/groups", { name: "Auditors" })).body.id;
  const { body: person } = await client.post("/tenants/users", { email: "person@example.com" });
  userId = person.id;
  const enrolled = await new BrowserPage(server).enrol(
    await enrolmentLinkFor(server, tenant.id, person),
    new VirtualPasskey("http://localhost:8080"),
  );
  expect(enrolled.status).toBeLessThan(300);
  await client.post("/tenants/access-tests", {
    name: "Enforced",
    enforced: true,
    subject: { type: "user", id: userId },
    resource: { type: "address", id: "192.0.2.1" },
    expected: "allowed",
  });
  await client.post("/tenants/domains", { domain: "example.com" });
  const provider = { name: "Provider", issuer: "https://login.example.com", clientId: "gatehouse" };
  await client.post("/tenants/identity-providers", provider);
});
/** Records that documents created and changed. The entries contain type names of roles, and only changed roles. */
let documentGroupId: string;
let documentUserId: string;
beforeAll(async () => {
  const client = tenant.client.must;
  const { body: current } = await client.get("/tenants/configuration");
  const apply = async (roles: readonly string[]) => {
    const groups = [...current.groups, { name: "From a document", roles }];
    const users = [...current.users, { email: "listed@example.com", roles, groups: ["From a document"] }];
    await client.post("/tenants/configuration/apply", { version: 1, groups, users });
  };
  await apply(["BASIC", "BILLING"]);
  await apply(["BASIC", "BILLING", "SUPPORT"]);
  await apply(["BASIC", "SUPPORT"]);
  documentGroupId = (await client.get("/tenants/groups?filter[name]=From a document")).body.data[0].id;
  documentUserId = (await client.get("/tenants/users?filter[email]=listed@example.com")).body.data[0].id;
  await client.post("/tenants/users", { email: "other@example.com", groups: [documentGroupId] });
});
afterAll(async () => {
  await Promise.all([server.close(), owner.end()]);
  await own.drop();
  await rm(folder, { recursive: true });
});

async function reportsOf(options: VerifyAuditOptions): Promise<readonly TenantReport[]> {
  const flags = { dataDir: folder, masterKey: testMasterKey.toString("base64") };
  const config = readConfig({ flags, environment: {} });
  const { signal } = new AbortController();
  const reports: TenantReport[] = [];
  for await (const report of verifyRecords(server.database, config, createLog("silent"), signal, options)) {
    reports.push(report);
  }
  return reports;
}

const problems = async () => (await reportsOf({ live: true, tenantId: tenant.id })).flatMap(({ findings }) => findings);

const id = {
  key: () => keyId,
  webhook: () => webhookId,
  group: () => groupId,
  user: () => userId,
  documentGroup: () => documentGroupId,
  documentUser: () => documentUserId,
  none: () => undefined,
};
test.each<[string, keyof typeof id, string, RegExp]>([
  ["permissions of a key", "key", "UPDATE api_keys SET permissions = '{users:write}' WHERE id = $2", /^The API key/],
  ["a key without expiry", "key", "UPDATE api_keys SET expires_at = NULL WHERE id = $2", /^The API key/],
  ["a deleted key", "key", "DELETE FROM api_keys WHERE id = $2", /is gone/],
  [
    "an inserted key",
    "key",
    `INSERT INTO api_keys (tenant_id, id, created_at, updated_at, name, prefix, key_hash, permissions)
     SELECT tenant_id, gen_random_uuid(), created_at, updated_at, name, prefix, sha256('another'), permissions
     FROM api_keys WHERE id = $2`,
    /exists, and no entry created it/,
  ],
  ["a webhook's URL", "webhook", "UPDATE webhooks SET url = 'https://example.net/' WHERE id = $2", /^The webhook/],
  [
    "the public key of a passkey",
    "none",
    "UPDATE passkeys SET public_key = '\\x00' WHERE tenant_id = $1",
    /^The passkey .* is not as its latest entry left it/,
  ],
  [
    "an inserted passkey",
    "user",
    `INSERT INTO passkeys (tenant_id, id, created_at, user_id, name, credential_id, public_key)
     VALUES ($1, gen_random_uuid(), now(), $2, 'Another', uuid_send(gen_random_uuid()), '\\x00')`,
    /^The passkey .* exists, and no entry created it/,
  ],
  ["a deleted passkey", "none", "DELETE FROM passkeys WHERE tenant_id = $1", /^The passkey .* is gone/],
  [
    "an identity provider",
    "none",
    "UPDATE identity_providers SET issuer = 'https://login.example.net', enabled = true WHERE tenant_id = $1",
    /^The identity provider .* is not as its latest entry left it/,
  ],
  [
    "an account at a provider",
    "user",
    `INSERT INTO external_identities (tenant_id, id, created_at, provider_id, issuer, subject, user_id)
     SELECT tenant_id, gen_random_uuid(), now(), id, issuer, 'subject', $2 FROM identity_providers
     WHERE tenant_id = $1`,
    /^The user .* has an account at the identity provider .*, but no entry links it/,
  ],
  [
    "a proven domain",
    "none",
    "UPDATE tenant_domains SET verified_at = created_at WHERE tenant_id = $1",
    /^The domain .* is not as its latest entry left it/,
  ],
  [
    "a recovery code",
    "user",
    "INSERT INTO recovery_codes (tenant_id, user_id, created_at, code_hash) VALUES ($1, $2, now(), sha256('code'))",
    /^The user .* has a recovery code, but no entry records its creation/,
  ],
  [
    "a setting",
    "none",
    "UPDATE tenant_settings SET configuration_lifetime = 604800 WHERE tenant_id = $1",
    /^The settings of the tenant differ from their latest entries/,
  ],
  [
    "the deleted settings",
    "none",
    "DELETE FROM tenant_settings WHERE tenant_id = $1",
    /^The settings of the tenant are gone/,
  ],
  [
    "a deleted access test",
    "none",
    "DELETE FROM access_tests WHERE tenant_id = $1",
    /^The access test .* is gone, but no entry records its deletion/,
  ],
  [
    "a deleted role",
    "none",
    "DELETE FROM roles WHERE tenant_id = $1 AND type = 'BILLING'",
    /^The tenant has 0 roles of the type BILLING/,
  ],
  [
    "the type of a role",
    "none",
    `DELETE FROM roles WHERE tenant_id = $1 AND type = 'BASIC';
     UPDATE roles SET type = 'BASIC' WHERE tenant_id = $1 AND type = 'OWNER';
     INSERT INTO roles (tenant_id, id, created_at, updated_at, type, name, description)
     SELECT tenant_id, gen_random_uuid(), created_at, updated_at, 'OWNER', 'Another', description FROM roles
     WHERE tenant_id = $1 AND type = 'BASIC'`,
    /^The user .* holds the role BASIC/,
  ],
  [
    "the role of a group",
    "group",
    "INSERT INTO group_roles SELECT tenant_id, $2, id FROM roles WHERE tenant_id = $1 AND type = 'ADMIN'",
    /^The group .* holds the role ADMIN/,
  ],
  [
    "the role of a group of a document",
    "documentGroup",
    "INSERT INTO group_roles SELECT tenant_id, $2, id FROM roles WHERE tenant_id = $1 AND type = 'ADMIN'",
    /^The group .* holds the role ADMIN/,
  ],
  [
    "a role that a document removed from a group",
    "documentGroup",
    "INSERT INTO group_roles SELECT tenant_id, $2, id FROM roles WHERE tenant_id = $1 AND type = 'BILLING'",
    /^The group .* holds the role BILLING/,
  ],
  [
    "the role of a user of a document",
    "documentUser",
    "INSERT INTO user_roles SELECT tenant_id, $2, id FROM roles WHERE tenant_id = $1 AND type = 'ADMIN'",
    /^The user .* holds the role ADMIN/,
  ],
])("%s", async (_name, record, statement, message) => {
  expect(await problems()).toEqual([]);
  const restore = await copyTenant(owner, tenant.id);
  try {
    const target = id[record]();
    const tenantOnly = statement.replaceAll("WHERE id = $2", "WHERE tenant_id = $1 AND id = $2");
    for (const step of tenantOnly.split(";")) {
      await owner.query(step, target === undefined ? [tenant.id] : [tenant.id, target]);
    }
    const found = await problems();
    expect(found).toMatchObject([{ problem: "live", message: expect.stringMatching(message) }]);
  } finally {
    await restore();
  }
});

test("a tenant that was inserted without a record is found", async () => {
  const inserted = "01980000-0000-7000-8000-00000000abcd";
  await owner.query(
    `INSERT INTO tenants (id, created_at, updated_at, name, slug, owner_email)
     SELECT $2, created_at, updated_at, 'Inserted', 'inserted', owner_email FROM tenants WHERE id = $1`,
    [tenant.id, inserted],
  );
  try {
    const expected = { problem: "empty", message: expect.stringMatching(/^The tenant has no record/) };
    for (const options of [{}, { tenantId: inserted }]) {
      const report = (await reportsOf(options)).find(({ tenantId }) => tenantId === inserted);
      expect(report).toMatchObject({ problems: 1, findings: [expected] });
    }
  } finally {
    await owner.query("DELETE FROM tenants WHERE id = $1", [inserted]);
  }
});
