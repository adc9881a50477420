import { operations } from "@gatehouse/contract/operations/all";
import { type Permission, permissions } from "@gatehouse/contract/permissions";
import { beforeAll, describe, expect, test } from "vitest";
import { generateToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../test-server.ts";
import { pathOf } from "./operation-case.ts";

let server: TestServer;
let tenant: TestTenant;
const keys = new Map<Permission, string>();

/** A key with all permissions except one. */
async function keyWithout(permission: Permission): Promise<string> {
  const key = keys.get(permission) ?? (await tenant.keyWith(...permissions.filter((other) => other !== permission)));
  keys.set(permission, key);
  return key;
}

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
});

/** Invalid in every other way too, because an unauthorized caller must not learn about other errors. */
const wrongParameters = { id: "not-a-uuid" };
const wrongBody = '{"broken": ';

describe.each(operations)("$id", (operation) => {
  const isWrite = operation.method !== "GET";
  const call = (key: string | undefined) =>
    server
      .client(key)
      .send(operation.method, `${pathOf(operation, wrongParameters)}?unknown=1`, isWrite ? wrongBody : undefined, {
        "if-match": '"0"',
      });

  test("answers 401 and how to authenticate to a request without a key", async () => {
    const { status, body, headers } = await call(undefined);
    expect({ status, code: body.code }).toEqual({ status: 401, code: "missing_api_key" });
    expect(headers["www-authenticate"]).toMatch(/^ApiKey /);
  });

  test.each([
    ["that nobody was given", () => generateToken(tokenPrefixes.apiKey)],
    ["with a typing error", () => generateToken(tokenPrefixes.apiKey).replace(/.$/, "-")],
    ["that is not a key at all", () => "x".repeat(32)],
    ["that is far too long", () => "x".repeat(5_000)],
  ])("answers 401 to a key %s", async (_what, key) => {
    const { status, body, headers } = await call(key());
    expect({ status, code: body.code }).toEqual({ status: 401, code: "invalid_api_key" });
    expect(headers["www-authenticate"]).toMatch(/^ApiKey /);
  });

  const { access } = operation;
  if (access === "operator") {
    test("answers 401 to a tenant's key", async () => {
      const { status, body } = await call(tenant.key);
      expect({ status, code: body.code }).toEqual({ status: 401, code: "invalid_api_key" });
    });
  } else {
    test("answers 401 to the operator's key", async () => {
      const { status, body } = await call(server.operatorKey);
      expect({ status, code: body.code }).toEqual({ status: 401, code: "invalid_api_key" });
    });

    if (access === "any-key") return;
    if (access === "person") {
      test("answers 403 to a key with every permission", async () => {
        const { status, body } = await call(tenant.key);
        expect({ status, code: body.code }).toEqual({ status: 403, code: "person_required" });
      });
      return;
    }
    test(`answers 403 to a key with every permission except ${access}`, async () => {
      const { status, body } = await call(await keyWithout(access));
      expect({ status, code: body.code }).toEqual({ status: 403, code: "permission_denied" });
      expect(body.detail).toContain(access);
    });
  }
});
