/**
 * Sends generated requests to every operation of the served OpenAPI document: values that its schemas allow, and
 * mutations of a request that succeeds. No request may get a 5xx or an undocumented status. No body that the document
 * allows may be refused for its form. The client compares every reply with its schema.
 */
import type { ErrorCode } from "@gatehouse/contract/errors";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { budgeted } from "../../../../../test/budget.ts";
import { callerOf, createWorld, type OperationRequest, pathOf, type TestWorld } from "../operations/operation-case.ts";
import { namedCases } from "../operations/operation-cases.ts";
import { sharedTestServer, type TestReply } from "../test-server.ts";
import { allowedBy, anything, type Schema, type Schemas } from "./schema-values.ts";

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: Schema;
}

interface DocumentedOperation {
  readonly operationId: string;
  readonly parameters: readonly Partial<Parameter>[];
  readonly requestBody?: { readonly content: { readonly "application/json": { readonly schema: Schema } } };
  readonly responses: Readonly<Record<string, unknown>>;
}

interface ServedDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas: Schemas };
}

interface FuzzedRequest {
  readonly query: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly ids: "known" | "unknown";
  /** Whether the document allows the request. */
  readonly allowed: boolean;
}

/** Errors about the form of a body. The document states everything that they refuse. */
const formErrors: readonly ErrorCode[] = ["invalid_json", "invalid_body"];

let world: TestWorld;
let documented: ReadonlyMap<string, DocumentedOperation>;
let schemas: Schemas;

beforeAll(async () => {
  const server = await sharedTestServer();
  world = await createWorld(server);
  const served: ServedDocument = JSON.parse((await server.app.inject({ url: "/openapi.json" })).body);
  schemas = served.components.schemas;
  const operations = Object.values(served.paths).flatMap((path) => Object.values(path));
  documented = new Map(operations.map((operation) => [operation.operationId, operation]));
});

// A live stream has no end that a generated request could wait for.
const finite = namedCases.filter(({ operation: { success } }) => success.kind !== "stream" || success.live !== true);

const requestsOfOperation = budgeted(60, 3);

describe("generated requests to", () => {
  test.each(finite)("$id", async ({ operation, prepare }) => {
    const declared = documented.get(operation.id);
    if (declared === undefined) throw new Error("the operation is not in the document");
    const example = await prepare(world.ours);
    await fc.assert(
      fc.asyncProperty(requestsTo(declared, example), async (request) => {
        const { parameters } = request.ids === "known" ? example : {};
        const query = new URLSearchParams(request.query).toString();
        const target = pathOf(operation, parameters) + (query === "" ? "" : `?${query}`);
        const reply = await callerOf(operation, world.ours).send(operation.method, target, request.body);
        checkReply(declared, reply);
        if (request.allowed) expect(formErrors, reply.text).not.toContain(reply.body?.code);
      }),
      { numRuns: requestsOfOperation, endOnFailure: requestsOfOperation < 10 },
    );
  });
});

function checkReply(declared: DocumentedOperation, reply: TestReply): void {
  expect(reply.status, reply.text).toBeLessThan(500);
  expect(Object.keys(declared.responses), reply.text).toContain(String(reply.status));
}

function requestsTo(declared: DocumentedOperation, example: OperationRequest): fc.Arbitrary<FuzzedRequest> {
  const schema = declared.requestBody?.content["application/json"].schema;
  const ids = fc.constantFrom<FuzzedRequest["ids"]>("known", "known", "known", "unknown");
  const query = queryOf(declared, example);
  const mayBeInvalid = fc.constant(false);
  if (schema === undefined) return fc.record({ query, ids, allowed: mayBeInvalid });
  const allowed = fc.record({
    query: fc.constant(example.query ?? {}),
    ids,
    body: allowedBy(schema, schemas),
    allowed: fc.constant(true),
  });
  const mutated = fc.record({ query, ids, body: mutationOf(example.body), allowed: mayBeInvalid });
  return fc.oneof(allowed, mutated);
}

/** The query of a request that succeeds, with parameters of the document that have valid and invalid values. */
function queryOf({ parameters }: DocumentedOperation, example: OperationRequest): fc.Arbitrary<Record<string, string>> {
  const required = example.query ?? {};
  const values = parameters.flatMap(({ in: place, name, schema }) =>
    place === "query" && name !== undefined && schema !== undefined && name !== "wait"
      ? [[name, fc.oneof(allowedBy(schema, schemas), anything).map(textOfValue)] as const]
      : [],
  );
  if (values.length === 0) return fc.constant(required);
  const chosen: fc.Arbitrary<object> = fc.record(Object.fromEntries(values), { requiredKeys: [] });
  return fc.oneof(
    fc.constant(required),
    chosen.map((some) => ({ ...required, ...Object.fromEntries(Object.entries(some).slice(0, 3)) })),
  );
}

/** A value as the text of a query parameter. */
function textOfValue(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** A body with one part removed, replaced or added, at any depth. */
function mutationOf(body: unknown): fc.Arbitrary<unknown> {
  if (Array.isArray(body) && body.length > 0) {
    const at = fc.nat({ max: body.length - 1 });
    return fc.oneof(
      anything,
      at.chain((index) => mutationOf(body[index]).map((part) => body.with(index, part))),
      at.map((index) => body.toSpliced(index, 1)),
      at.map((index) => [...body, body[index]]),
    );
  }
  if (body === null || typeof body !== "object" || Array.isArray(body)) return anything;
  const fields = Object.entries(body);
  if (fields.length === 0) return anything;
  const field = fc.constantFrom(...fields);
  return fc.oneof(
    fc.constant(body),
    field.chain(([name, value]) => mutationOf(value).map((part) => ({ ...body, [name]: part }))),
    field.map(([name]) => Object.fromEntries(fields.filter(([other]) => other !== name))),
    anything.map((value) => ({ ...body, surprise: value })),
  );
}
