import { randomUUID } from "node:crypto";
import { errorDefinitions } from "@gatehouse/contract/errors";
import { beforeAll, describe, expect, test } from "vitest";
import { sharedTestServer, type TestReply } from "../test-server.ts";
import { callerOf, createWorld, type OperationRequest, type TestWorld, targetOf } from "./operation-case.ts";
import { actsOnRecord, refusesUnknownFields, writeCases } from "./operation-cases.ts";
import { generationOf } from "./recorded.queries.ts";

let world: TestWorld;

beforeAll(async () => {
  world = await createWorld(await sharedTestServer());
});

const stale = { "if-match": '"0", W/"1"' };

/**
 * The order is 401, 403, 400, 404, 412, 409 or 422. `access.test.ts` tests that 401 and 403 precede all other errors,
 * with requests that are also invalid in all other ways.
 */
const ordered = writeCases.filter(({ operation }) => actsOnRecord(operation) || refusesUnknownFields(operation));

describe.each(ordered)("$id", ({ operation, prepare, references = [], conflict }) => {
  const { method } = operation;
  const send = (request: OperationRequest, headers: Record<string, string> = {}): Promise<TestReply> =>
    callerOf(operation, world.ours).send(method, targetOf(operation, request), request.body, headers);
  /** The body with a reference to a missing record, if the body has references. */
  const dangling = (body: unknown) => references[0]?.body(randomUUID()) ?? body;
  const nowhere = { id: randomUUID() };

  if (actsOnRecord(operation)) {
    test("400 comes before 404 and 412", async () => {
      const { body } = await prepare(world.ours);
      const wrong = { ...(body as object | undefined), surprise: {} };
      for (const id of [randomUUID(), "not-a-uuid"]) {
        const reply = await send({ parameters: { id }, body: wrong }, stale);
        expect(reply.status, reply.text).toBe(400);
      }
    });

    test("404 comes before 412 and 422", async () => {
      const { body } = await prepare(world.ours);
      const reply = await send({ parameters: nowhere, body: dangling(body) }, stale);
      expect(reply.status, reply.text).toBe(404);
    });

    test("412 comes before 409 and 422, and nothing is changed", async () => {
      const request = await prepare(world.ours);
      const prohibited = (await conflict?.(world.ours)) ?? request;
      const generation = await generationOf(world.server.database, world.ours.tenant.id);
      for (const wrong of [{ ...request, body: dangling(request.body) }, prohibited]) {
        const { status, body, text } = await send(wrong, stale);
        expect({ status, code: body?.code }, text).toEqual({ status: 412, code: "precondition_failed" });
      }
      expect(await generationOf(world.server.database, world.ours.tenant.id)).toBe(generation);
    });

    test("accepts If-Match with the current ETag, and with a star", async () => {
      for (const form of ["current", "star"]) {
        const request = await prepare(world.ours);
        // Not every record has its own GET, so the current tag is taken from a rejection.
        const refused = await send(request, stale);
        const current = / (?:ETag|generation) is now (".*")/.exec(refused.body.detail)?.[1] ?? "";
        const reply = await send(request, { "if-match": form === "star" ? "*" : `"0", ${current}` });
        expect(reply.status, reply.text).toBe(operation.success.status);
      }
    });
  }

  if (operation.body !== undefined) {
    test("400 comes before 409 and 422", async () => {
      const request = (await conflict?.(world.ours)) ?? (await prepare(world.ours));
      for (const body of [request.body, dangling(request.body)]) {
        const reply = await send({ ...request, body: { ...(body as object), surprise: {} } });
        expect(reply.status, reply.text).toBe(400);
      }
    });
  }

  if (conflict !== undefined) {
    test("answers a conflict with a declared code, and changes nothing", async () => {
      const request = await conflict(world.ours);
      const generation = await generationOf(world.server.database, world.ours.tenant.id);
      const { status, body, text } = await send(request);
      expect(status, text).toBe(409);
      expect(operation.errors, text).toContain(body.code);
      expect(body.title).toBe(errorDefinitions[body.code as keyof typeof errorDefinitions].title); // a declared code
      expect(await generationOf(world.server.database, world.ours.tenant.id)).toBe(generation);
    });
  }
});
