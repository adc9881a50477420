import { createHash, randomUUID } from "node:crypto";
import { isWrite } from "@gatehouse/contract/operation";
import { beforeAll, describe, expect, test } from "vitest";
import { createSecretBox } from "../../platform/secrets/master-key.ts";
import { sharedTestServer, type TestReply, testMasterKey } from "../test-server.ts";
import {
  callerOf,
  createWorld,
  nilUuid,
  type OperationRequest,
  pathOf,
  type TestWorld,
  targetOf,
} from "./operation-case.ts";
import { writeCases } from "./operation-cases.ts";
import { generationOf, repliesTo, tenantsCalled } from "./recorded.queries.ts";

let world: TestWorld;

beforeAll(async () => {
  world = await createWorld(await sharedTestServer());
});

const sha256 = (text: string) => createHash("sha256").update(text).digest();

/** The part of an answer that repeats for the same request: everything except the request's own id and time. */
function answerOf({ status, text, headers }: TestReply) {
  return {
    status,
    text,
    etag: headers.etag,
    location: headers.location,
    event: headers["gatehouse-event"],
    type: headers["content-type"],
  };
}

describe.each(writeCases.filter(({ operation }) => operation.method === "POST"))("$id", ({ operation, prepare }) => {
  const isOperators = operation.access === "operator";
  const send = (request: OperationRequest, key: string) =>
    callerOf(operation, world.ours).send("POST", targetOf(operation, request), request.body, {
      "idempotency-key": key,
    });
  /** The number of changes by one request. Reports change nothing. */
  const once = isWrite(operation) ? 1 : 0;
  /** How often the request was performed: the commands in the tenant, or the tenants that it created. */
  const changes = async (request: OperationRequest) =>
    isOperators
      ? tenantsCalled(world.server.database, (request.body as { name: string }).name) // its body names the tenant
      : generationOf(world.server.database, world.ours.tenant.id);

  test("is performed once and gets the same answer when it is repeated", async () => {
    const request = await prepare(world.ours);
    const key = randomUUID();
    const before = await changes(request);
    const first = await send(request, key);
    const second = await send(request, key);
    expect(first.status, first.text).toBe(operation.success.status);
    if (isWrite(operation)) expect(answerOf(second)).toEqual(answerOf(first));
    else expect(second.status).toBe(first.status);
    expect(first.headers["idempotent-replayed"]).toBeUndefined();
    expect(second.headers["idempotent-replayed"]).toBe(isWrite(operation) ? "true" : undefined);
    expect(await changes(request)).toBe(before + once);
  });

  test("is performed once when it is sent twice at the same time", async () => {
    const request = await prepare(world.ours);
    const key = randomUUID();
    const before = await changes(request);
    const replies = await Promise.all([send(request, key), send(request, key)]);
    const [first, second] = replies.map(answerOf);
    expect(first?.status, first?.text).toBe(operation.success.status);
    if (isWrite(operation)) expect(second).toEqual(first);
    else expect(second?.status).toBe(first?.status);
    expect(replies.filter(({ headers }) => headers["idempotent-replayed"] === "true")).toHaveLength(once);
    expect(await changes(request)).toBe(before + once);
  });

  test("answers 422 to another request with the same key", async () => {
    const key = randomUUID();
    const first = await send(await prepare(world.ours), key);
    expect(first.status, first.text).toBe(operation.success.status);
    const other = await prepare(world.ours);
    const before = await changes(other);
    const { status, body, text } = await send(other, key);
    expect({ status, code: body?.code }, text).toEqual({ status: 422, code: "idempotency_key_reused" });
    expect(await changes(other)).toBe(before);
  });

  test("can be sent again with the same key after it was rejected", async () => {
    const key = randomUUID();
    const refused = await callerOf(operation, world.ours).send("POST", pathOf(operation, { id: randomUUID() }), "{", {
      "idempotency-key": key,
    });
    expect(refused.status).toBe(400);
    const reply = await send(await prepare(world.ours), key);
    expect(reply.status, reply.text).toBe(operation.success.status);
  });

  test("stores its reply encrypted, for its own caller and tenant, if it changes anything", async () => {
    const request = await prepare(world.ours);
    const key = randomUUID();
    const reply = await send(request, key);
    const tenantId = isOperators ? undefined : world.ours.tenant.id;
    const stored = await repliesTo(world.server.database, tenantId, sha256(key), nilUuid);
    expect(stored).toHaveLength(1);
    const [{ reply_ciphertext: ciphertext, caller_id: callerId }] = stored as [(typeof stored)[0]]; // counted above
    if (ciphertext === null) return expect(isWrite(operation)).toBe(false);
    expect(isWrite(operation), "the operation changes nothing, but its reply is stored").toBe(true);
    for (const plain of ["kind", "gatehouse", "createdAt", "record"]) {
      expect(ciphertext.includes(plain), `${plain} is legible`).toBe(false);
    }
    const box = createSecretBox(testMasterKey, "idempotent-reply");
    const context = `${tenantId ?? nilUuid}:${callerId}:${sha256(key).toString("hex")}`;
    expect(JSON.parse(box.open(ciphertext, context)).body ?? null).toEqual(reply.body ?? null);
    expect(() => box.open(ciphertext, context.replace(callerId, randomUUID()))).toThrow();
  });
});
