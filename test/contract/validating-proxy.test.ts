/**
 * Holds live requests and answers against the OpenAPI document, by another program's reading of it than ours.
 *
 * Where such a program cannot read a schema, it may pass the body unchecked, and say nothing. So the document that most
 * tests here use demands the impossible of every body, beside what it demanded before: a body that was checked is
 * reported for exactly that, and one that was not, or that breaks something else, fails its test.
 */
import { randomUUID } from "node:crypto";
import { createWorld, type TestWorld, targetOf } from "@gatehouse/server/testing/operations/operation-case";
import { namedCases } from "@gatehouse/server/testing/operations/operation-cases";
import { makeId } from "@gatehouse/server/testing/operations/test-records";
import { sharedTestServer } from "@gatehouse/server/testing/test-server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startValidatingProxy, type ValidatingProxy, type Violation } from "./validating-proxy.ts";

let world: TestWorld;
/** The document as it is served. */
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
  const { schema } = value as { readonly schema: object }; // what OpenAPI has under the name of a media type
  // Beside $ref, OpenAPI 3.0 ignores everything.
  return { schema: "$ref" in schema ? { allOf: [schema, { not: {} }] } : { ...schema, not: {} } };
}

const impossible = (part: "Request" | "Response"): Violation => ({
  place: `${part.toLowerCase()}.body`,
  message: `${part} body must NOT be valid`,
});

// Lists last: by then they have something to show.
const isList = ({ operation }: (typeof namedCases)[number]) => ["page", "array"].includes(operation.success.kind);
// What has no end cannot go through the proxy, which reads an answer to its end before it passes it on.
const ends = ({ operation: { success } }: (typeof namedCases)[number]) =>
  success.kind !== "stream" || success.live !== true;
const cases = [
  ...namedCases.filter((known) => ends(known) && !isList(known)),
  ...namedCases.filter((known) => isList(known)),
];

test("the proxy knows every operation", () => {
  expect(proxy.operationCount).toBe(namedCases.length);
});

test.each(cases)("$id keeps to the document, in its request and in its answer", async ({ operation, prepare }) => {
  const request = await prepare(world.ours);
  const reply = await demandingProxy.send({
    method: operation.method,
    target: targetOf(operation, request),
    apiKey: operation.access === "operator" ? world.server.operatorKey : world.ours.tenant.key,
    body: request.body,
  });
  expect(reply.status, reply.text).toBe(operation.success.status);
  expect(reply.violations).toEqual([
    ...(operation.body === undefined ? [] : [impossible("Request")]),
    // Schemas of JSON say nothing about lines of it, CSV or no body at all.
    ...(["empty", "stream"].includes(operation.success.kind) ? [] : [impossible("Response")]),
  ]);
});

describe("under the document as it is", () => {
  const asTenant = (method: string, target: string, body?: unknown) =>
    proxy.send({ method, target, apiKey: world.ours.tenant.key, body });

  test("a list is read by pages, filters and an order of one's own", async () => {
    const target = `/tenants/users?page[limit]=2&page[offset]=0&sort=-email&sort=id&filter[status]=pending`;
    expect(await asTenant("GET", target)).toMatchObject({ status: 200, violations: [] });
  });

  test("errors are answered as it says", async () => {
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
    ["a field that is not declared", { name: "Engineering", colour: "red" }, "request.body"],
    ["a field that is missing", {}, "request.body"],
  ])("a request is reported for %s, which Gatehouse refuses too", async (_, body, place) => {
    const reply = await asTenant("POST", "/tenants/groups", body);
    expect(reply.status).toBe(400);
    expect(reply.violations).toMatchObject([{ place }]);
  });

  test("a request without a key is reported", async () => {
    const reply = await proxy.send({ method: "GET", target: "/tenants/users" });
    expect(reply.violations).toMatchObject([{ place: "request" }]);
  });
});

describe("under a document that says something else", () => {
  /** Reads a user under a document that describes users in another way. */
  async function readUser(describe: (user: { properties: object; required: readonly string[]; not?: object }) => void) {
    const document = JSON.parse(served);
    describe(document.components.schemas.User);
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
  ])("an answer is reported for a field %s", async (_, properties, place) => {
    const violations = await readUser((user) => {
      Object.assign(user.properties, properties);
      user.required = user.required.filter((name) => !(name in properties));
    });
    expect(violations).toMatchObject([{ place }]);
  });

  test("a schema that the proxy cannot read passes everything without a word: why the impossible is demanded", async () => {
    const violations = await readUser((user) => {
      Object.assign(user.properties, { status: { enum: ["gone"], nullable: true } });
      user.not = {};
    });
    expect(violations).toEqual([]);
  });
});
