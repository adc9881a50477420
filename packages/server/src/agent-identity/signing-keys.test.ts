import { createPublicKey, verify } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer, type TestTenant } from "../testing/test-server.ts";
import { openSigningKey } from "./signing-keys.ts";

let server: TestServer;
let tenants: readonly [TestTenant, TestTenant];

beforeAll(async () => {
  server = await startTestServer();
  tenants = [await server.newTenant(), await server.newTenant()];
});
afterAll(() => server.close());

const open = (tenantId: string) =>
  openSigningKey(server.database, server.runner.secrets.signingKeys, tenantId, new Date());

test("a tenant has one key, even if several replicas generate it at the same time", async () => {
  const keys = await Promise.all([open(tenants[0].id), open(tenants[0].id), open(tenants[0].id)]);
  expect(new Set(keys.map(({ publicKey }) => publicKey)).size).toBe(1);
  expect((await open(tenants[1].id)).publicKey).not.toBe(keys[0].publicKey);
});

test("a signature is verified with the public key", async () => {
  const key = await open(tenants[0].id);
  const prefix = Buffer.from("302a300506032b6570032100", "hex"); // of an Ed25519 key's DER form (RFC 8410)
  const publicKey = createPublicKey({
    key: Buffer.concat([prefix, Buffer.from(key.publicKey, "base64")]),
    format: "der",
    type: "spki",
  });
  const signature = Buffer.from(key.sign("said"), "base64");
  expect(verify(null, Buffer.from("said"), publicKey, signature)).toBe(true);
  expect(verify(null, Buffer.from("other"), publicKey, signature)).toBe(false);
});
