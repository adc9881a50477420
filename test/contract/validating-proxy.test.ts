/**
 * Validates live requests and responses against the OpenAPI document, with an independent implementation.
 *
 * If such a program cannot read a schema, it may accept the body without a check and without a report. Most tests here
 * therefore use a document that adds an impossible requirement to every body. A checked body is reported for exactly
 * that requirement. A test fails if a body was not checked, or violates something else.
 */
import { randomUUID } from "node:crypto";
import { createWorld, type TestWorld, targetOf } from "@gatehouse/server/testing/operations/operation-case";
import { namedCases } from "@gatehouse/server/testing/operations/operation-cases";
import { makeId } from "@gatehouse/server/testing/operations/test-records";
import { sharedTestServer } from "@gatehouse/server/testing/test-server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startValidatingProxy, type ValidatingProxy, type Violation } from "./validating-proxy.ts";

let world: TestWorld;
/** The served document. */
let served: string;
let proxy: ValidatingProxy;
let demandingProxy: ValidatingProxy;
let upstream: string;

beforeAll(async () => {
  world = await createWorld(await sharedTestServer());
  upstream = await world.server.listen();
  served = await (await fetch(`${upstream}/openapi.json`)).text();
  proxy = await startValidatingProxy(JSON.parse(served), upstream);
  demandingProxy = await startValidatingProxy(JSON.parse(served, demandTheImpossible), upstream);
});
afterAll(async () => {
  await Promise.all([proxy.close(), demandingProxy.close()]);
});

function demandTheImpossible(name: string, value: unknown): unknown {
  if (name !== "application/json") return value;
  const { schema } = value as { readonly schema: object }; // the content of an OpenAPI media type
  // Beside $ref, OpenAPI 3.0 ignores everything.
  return { schema: "$ref" in schema ? { allOf: [schema, { not: {} }] } : { ...schema, not: {} } };
}

const impossible = (part: "Request" | "Response"): Violation => ({
  place: `${part.toLowerCase()}.body`,
  message: `${part} body must NOT be valid`,
});

// Lists come last, when they have items.
const isList = ({ operation }: (typeof namedCases)[number]) => ["page", "array"].includes(operation.success.kind);
// Endless responses cannot pass the proxy, which reads a response completely before it forwards it.
const ends = ({ operation: { success } }: (typeof namedCases)[number]) =>
  success.kind !== "stream" || success.live !== true;
const cases = [
  ...namedCases.filter((known) => ends(known) && !isList(known)),
  ...namedCases.filter((known) => isList(known)),
];

function credentialsFor({ access }: (typeof namedCases)[number]["operation"]) {
  if (access === "person") return { headers: world.ours.person.headers };
  return { apiKey: access === "operator" ? world.server.operatorKey : world.ours.tenant.key };
}

test("the proxy knows every operation", () => {
  expect(proxy.operationCount).toBe(namedCases.length);
});

test.each(cases)("the request and the response of $id match the document", async ({ operation, prepare }) => {
  const request = await prepare(world.ours);
  const reply = await demandingProxy.send({
    method: operation.method,
    target: targetOf(operation, request),
    ...credentialsFor(operation),
    body: request.body,
  });
  expect(reply.status, reply.text).toBe(operation.success.status);
  expect(reply.violations).toEqual([
    ...(request.body === undefined ? [] : [impossible("Request")]),
    // JSON schemas do not apply to NDJSON, CSV or empty bodies.
    ...(["empty", "stream"].includes(operation.success.kind) ? [] : [impossible("Response")]),
  ]);
});

describe("under the served document", () => {
  const asTenant = (method: string, target: string, body?: unknown) =>
    proxy.send({ method, target, apiKey: world.ours.tenant.key, body });

  test("a list can be read with pages, filters and a custom order", async () => {
    const target = `/tenants/users?page[limit]=2&page[offset]=0&sort=-email&sort=id&filter[status]=pending`;
    expect(await asTenant("GET", target)).toMatchObject({ status: 200, violations: [] });
  });

  test("errors match the document", async () => {
    const unknown = `/tenants/users/${randomUUID()}`;
    const user = await makeId("user", world.ours.tenant.client);
    expect(await asTenant("GET", unknown)).toMatchObject({ status: 404, violations: [] });
    const wrongKey = { method: "GET", target: unknown, apiKey: "wrong" };
    expect(await proxy.send(wrongKey)).toMatchObject({ status: 401, violations: [] });
    const conflict = await asTenant("POST", `/tenants/users/${user}/reactivate`);
    expect(conflict).toMatchObject({ status: 409, violations: [] });
  });

  test.each([
    ["a field of another type", { name: 7 }, "request.body.name"],
    ["an undeclared field", { name: "Engineering", colour: "red" }, "request.body"],
    ["a missing field", {}, "request.body"],
  ])("a request with %s is reported, and Gatehouse rejects it too", async (_, body, place) => {
    const reply = await asTenant("POST", "/tenants/groups", body);
    expect(reply.status).toBe(400);
    expect(reply.violations).toMatchObject([{ place }]);
  });

  test("a request without a key is reported", async () => {
    const reply = await proxy.send({ method: "GET", target: "/tenants/users" });
    expect(reply.violations).toMatchObject([{ place: "request" }]);
  });
});

describe("under a different document", () => {
  const readsUser = "/tenants/users/{id}";

  /** Reads a user under a document with another schema of users. It has only one path: Prism reads each path slowly. */
  async function readUser(describe: (user: { properties: object; required: readonly string[]; not?: object }) => void) {
    const document = JSON.parse(served);
    describe(document.components.schemas.User);
    document.paths = { [readsUser]: { get: document.paths[readsUser].get } };
    const wrong = await startValidatingProxy(JSON.parse(JSON.stringify(document)), upstream);
    try {
      const target = `/tenants/users/${await makeId("user", world.ours.tenant.client)}`;
      const reply = await wrong.send({ method: "GET", target, apiKey: world.ours.tenant.key });
      expect(reply.status).toBe(200);
      return reply.violations;
    } finally {
      await wrong.close();
    }
  }

  test.each([
    ["of another type", { email: { type: "integer" } }, "response.body.email"],
    ["of another form", { email: { type: "string", format: "uuid" } }, "response.body.email"],
    ["with another value", { status: { type: "string", enum: ["gone"] } }, "response.body.status"],
    ["that is not declared", { email: undefined }, "response.body"],
  ])("a response with a field %s is reported", async (_, properties, place) => {
    const violations = await readUser((user) => {
      Object.assign(user.properties, properties);
      user.required = user.required.filter((name) => !(name in properties));
    });
    expect(violations).toMatchObject([{ place }]);
  });

  test("a schema that the proxy cannot read accepts everything silently, which is why an impossible schema is required", async () => {
    const violations = await readUser((user) => {
      Object.assign(user.properties, { status: { enum: ["gone"], nullable: true } });
      user.not = {};
    });
    expect(violations).toEqual([]);
  });
});
