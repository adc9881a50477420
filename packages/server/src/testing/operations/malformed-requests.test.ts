import { defaultBodyLimitBytes, refusesOtherMediaTypes } from "@gatehouse/contract/operation";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sharedTestServer } from "../test-server.ts";
import {
  callerOf,
  createWorld,
  nilUuid,
  type OperationRequest,
  pathOf,
  type TestWorld,
  targetOf,
} from "./operation-case.ts";
import { namedCases, refusesUnknownFields } from "./operation-cases.ts";
import { generationOf } from "./recorded.queries.ts";

let world: TestWorld;

beforeAll(async () => {
  world = await createWorld(await sharedTestServer());
});

describe.each(namedCases)("$id", ({ operation, prepare }) => {
  const { method, body: schema, parameters: declared = {} } = operation;
  let request: OperationRequest;
  let generation: number;
  const send = (body: unknown, options: { query?: string; headers?: Record<string, string>; path?: string } = {}) => {
    const { query, path = targetOf(operation, request) } = options;
    const target = query === undefined ? path : (path.split("?", 1)[0] ?? "") + query;
    return callerOf(operation, world.ours).send(method, target, body, options.headers);
  };

  beforeAll(async () => {
    request = await prepare(world.ours);
    generation = await generationOf(world.server.database, world.ours.tenant.id);
  });
  afterAll(async () => {
    expect(await generationOf(world.server.database, world.ours.tenant.id), "something was changed").toBe(generation);
  });

  for (const [name, kind] of Object.entries(declared)) {
    const status = kind === "uuid" ? 400 : 404;
    test.each(["not-a-uuid", `${nilUuid}0`, "a b/ü"])(
      `answers ${status} if the path's parameter ${name} is %j`,
      async (id) => {
        const path = pathOf(operation, { ...request.parameters, [name]: id });
        const reply = await send(request.body, { path });
        expect(reply.status, reply.text).toBe(status);
        if (kind === "uuid") expect(reply.body.errors).toMatchObject([{ pointer: name }]);
      },
    );
  }

  test("answers 400 to an unknown query parameter, and names it", async () => {
    const { status, body } = await send(request.body, { query: "?surprise=1" });
    expect({ status, code: body.code }).toEqual({ status: 400, code: "invalid_parameter" });
    expect(body.errors).toMatchObject([{ pointer: "surprise" }]);
  });

  if (method === "GET") return;

  // If a body allows any field name, like a posture, an object is not a valid value.
  if (refusesUnknownFields(operation)) {
    test("answers 400 to an unknown field of the body, and points to it", async () => {
      const { status, body } = await send({ ...(request.body as object | undefined), "sur/prise~": {} });
      expect({ status, code: body.code }).toEqual({ status: 400, code: "invalid_body" });
      expect(body.errors).toMatchObject([{ pointer: "/sur~1prise~0" }]);
    });
  } else {
    test("ignores an unknown field of the body", async () => {
      const reply = await send({ ...(request.body as object | undefined), "sur/prise~": {} });
      expect(reply.status, reply.text).toBe(operation.success.status);
    });
  }

  test("answers 400 to broken JSON", async () => {
    const { status, body } = await send('{"name": "half');
    expect({ status, code: body.code }).toEqual({ status: 400, code: "invalid_json" });
  });

  test("answers 415 to a body that is not JSON, and 400 where AuthZEN requires it", async () => {
    const { status, body } = await send("name=half", {
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    expect({ status, code: body.code }).toEqual(
      refusesOtherMediaTypes(operation)
        ? { status: 415, code: "unsupported_media_type" }
        : { status: 400, code: "invalid_json" },
    );
  });

  const { bodyLimitBytes = defaultBodyLimitBytes } = operation;

  test(`answers 413 to a body over ${bodyLimitBytes / defaultBodyLimitBytes} MiB`, async () => {
    const { status, body } = await send(`"${"x".repeat(bodyLimitBytes)}"`);
    expect({ status, code: body.code }).toEqual({ status: 413, code: "payload_too_large" });
  });

  test("answers 400 to an Idempotency-Key of invalid length", async () => {
    if (method !== "POST") return;
    const { status, body } = await send(request.body, { headers: { "idempotency-key": "k".repeat(256) } });
    expect({ status, code: body.code }).toEqual({ status: 400, code: "invalid_parameter" });
  });

  if (schema === undefined) return;

  test("answers 400 if the body is missing or has another type", async () => {
    for (const body of [...(operation.bodyOptional === true ? [] : [undefined]), "null", '"text"', "7"]) {
      const reply = await send(body);
      expect(reply.status, `${body}: ${reply.text}`).toBe(400);
    }
  });
});
