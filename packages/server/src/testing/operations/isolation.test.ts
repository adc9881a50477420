import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sharedTestServer, type TestReply } from "../test-server.ts";
import { callerOf, createWorld, type OperationRequest, pathOf, type TestWorld, targetOf } from "./operation-case.ts";
import { actsOnRecord, namedCases } from "./operation-cases.ts";
import { eventsOf, generationOf } from "./recorded.queries.ts";
import { makeId } from "./test-records.ts";

let world: TestWorld;

beforeAll(async () => {
  world = await createWorld(await sharedTestServer());
});

/** An answer without the parts that differ between requests, and without the requested id. */
function withoutRequest(reply: TestReply, id: string) {
  const { requestId: _requestId, instance: _instance, ...body } = reply.body;
  const { "x-request-id": _header, date: _date, "content-length": _length, ...headers } = reply.headers;
  return JSON.parse(JSON.stringify({ status: reply.status, body, headers }).replaceAll(id, "<id>"));
}

describe.each(namedCases.filter(({ operation }) => actsOnRecord(operation)))("$id", ({ operation, prepare }) => {
  const send = (request: OperationRequest, body: unknown) =>
    callerOf(operation, world.ours).send(operation.method, targetOf(operation, request), body);

  for (const name of Object.keys(operation.parameters ?? {})) {
    test(`treats the id of another tenant's record in {${name}} like a missing one`, async () => {
      const ours = await prepare(world.ours);
      const nowhere = randomUUID();
      const missing = await send({ parameters: { ...ours.parameters, [name]: nowhere } }, ours.body);
      expect(missing.status, missing.text).toBe(404);
      // The operator has access to every tenant, so no record belongs to another tenant.
      if (operation.access === "operator") return;

      const theirs = await prepare(world.theirs);
      const foreign = theirs.parameters?.[name] ?? "";
      const generation = await generationOf(world.server.database, world.theirs.tenant.id);
      const reply = await send({ parameters: { ...ours.parameters, [name]: foreign } }, ours.body);

      expect(withoutRequest(reply, foreign)).toEqual(withoutRequest(missing, nowhere));
      expect(await generationOf(world.server.database, world.theirs.tenant.id)).toBe(generation);
    });
  }
});

const references = namedCases.flatMap(({ operation, prepare, references: declared = [] }) =>
  declared.map((reference) => ({ id: operation.id, field: reference.field, operation, prepare, reference })),
);

describe.each(references)("$id, $field", ({ operation, prepare, field, reference }) => {
  test("answers 422 to the id of another tenant's record, like to a missing one", async () => {
    const { database } = world.server;
    const { parameters } = await prepare(world.ours);
    const generation = await generationOf(database, world.ours.tenant.id);
    const send = (id: string) =>
      callerOf(operation, world.ours).send(operation.method, pathOf(operation, parameters), reference.body(id));
    const foreign = await makeId(reference.noun, world.theirs.tenant.client);
    const nowhere = randomUUID();

    const reply = await send(foreign);

    const { status, body } = reply;
    expect({ status, code: body.code }).toEqual({ status: 422, code: reference.code ?? "unknown_reference" });
    const form = new RegExp(`^${field.replaceAll("*", "\\d+")}$`);
    expect(body.errors.map(({ pointer }: { pointer: string }) => pointer)).toContainEqual(expect.stringMatching(form));
    expect(withoutRequest(reply, foreign)).toEqual(withoutRequest(await send(nowhere), nowhere));
    expect(await generationOf(database, world.ours.tenant.id), "something was changed").toBe(generation);
    expect(await eventsOf(database, world.ours.tenant.id, body.requestId)).toEqual([]);
  });

  test("accepts the id of a record of the tenant", async () => {
    const { parameters } = await prepare(world.ours);
    const own = await makeId(reference.noun, world.ours.tenant.client);
    const path = pathOf(operation, parameters);
    const reply = await callerOf(operation, world.ours).send(operation.method, path, reference.body(own));
    // A list that must be complete is rejected because of its other missing entries.
    if (reference.code === undefined) expect(reply.status, reply.text).toBe(operation.success.status);
  });
});
